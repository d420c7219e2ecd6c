"""The kept figures: results.json, of which the page is made. Figures of other arms are never kept."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from heapsmith.bench.common.commit import commit, today
from heapsmith.bench.experiments.book import Book
from heapsmith.bench.experiments.profile import Figure, Profile
from heapsmith.bench.experiments.results import Change, Conditions, Result, Results
from heapsmith.model.errors import BadInput
from heapsmith.model.files import JSON_FAULTS, json_text, write_text
from heapsmith.model.toml_text import read_text

Told = TypeVar("Told", Result, Profile)

FILE = Path(__file__).with_name("results.json")
PROSE = ("about", "claim", "why", "together", "figures", "varies", "follows")
"""Fields of an experiment and its workloads that change no figure, but for the quantity of the claim."""


class Kept(msgspec.Struct, frozen=True):
    """The figures of one experiment. arms: the digest of what they are figures of.

    conditions: of the measurement; with 0 rounds nothing was measured since the arms changed.
    date, commit: of the measurement; empty if there was none.
    """

    arms: str
    conditions: Conditions
    results: list[Result]
    profiles: list[Profile]
    skipped: str = ""
    date: str = ""
    commit: str = ""


def digest(book: Book, name: str) -> str:
    """Return a digest of what decides an experiment's figures: arms, base, workloads and quantity."""
    one = book.experiments[name]
    parts = [msgspec.to_builtins(part) for part in (one, *(book.workloads[of] for of in one.workloads))]
    stated = [{key: _pruned(value) for key, value in part.items() if value and key not in PROSE} for part in parts]
    return hashlib.sha256(json_text([one.claim.quantity, stated]).encode()).hexdigest()[:12]


def _pruned(value: object) -> object:
    """Return a value without what is empty in it: a field that is added later changes no digest."""
    if isinstance(value, dict):
        return {key: _pruned(inner) for key, inner in value.items() if inner or inner == 0}
    return [_pruned(inner) for inner in value] if isinstance(value, list) else value


def kept(path: Path = FILE) -> dict[str, Kept]:
    """Return the kept figures by experiment; BadInput for a damaged file."""
    try:
        return msgspec.json.decode(read_text(path, str(path)), type=dict[str, Kept])
    except JSON_FAULTS as error:
        raise BadInput(f"{path}: {error}; expected figures that `experiments run --keep` wrote") from None


def of_run(book: Book, results: Results, before: dict[str, Kept]) -> dict[str, Kept]:
    """Return the figures of a run by experiment. A prediction alone leaves what was measured of the same arms."""
    found: dict[str, Kept] = {}
    told = {one.experiment for one in results.results} | {one.experiment for one in results.profiles}
    told |= {*results.skipped}
    when = (today(), commit()) if results.conditions.rounds else ("", "")
    for name in (name for name in book.experiments if name in told):
        new = Kept(
            digest(book, name),
            results.conditions,
            [one for one in results.results if one.experiment == name],
            [one for one in results.profiles if one.experiment == name],
            results.skipped.get(name, ""),
            *when,
        )
        old = before.get(name)
        found[name] = _with_measured(new, old) if old and old.arms == new.arms else new
    return found


def keep(book: Book, results: Results, path: Path = FILE) -> dict[str, Kept]:
    """Put the figures of a run beside those of the other experiments; return all."""
    before = kept(path) if path.exists() else {}
    all_of_them = before | of_run(book, results, before)
    ordered = {name: all_of_them[name] for name in book.experiments if name in all_of_them}
    write_text(path, json_text(ordered) + "\n")
    return ordered


def stale(book: Book, figures: dict[str, Kept]) -> list[str]:
    """Return the experiments without figures of their arms."""
    return [name for name in book.experiments if name not in figures or figures[name].arms != digest(book, name)]


def _with_measured(new: Kept, old: Kept) -> Kept:
    """Return a prediction with the measured figures of the same arms."""
    if new.conditions.rounds or not old.conditions.rounds:
        return new
    results = {(one.workload, one.arm): one.changes for one in old.results}
    profiles = {(one.workload, one.arm): one.figures for one in old.profiles}
    return Kept(
        new.arms,
        old.conditions,
        [_joined(one, "changes", results.get((one.workload, one.arm), [])) for one in new.results],
        [_joined(one, "figures", profiles.get((one.workload, one.arm), [])) for one in new.profiles],
        date=old.date,
        commit=old.commit,
    )


def _joined(told: Told, field: str, before: Sequence[Change] | Sequence[Figure]) -> Told:
    """Return a row with the measured figures of `before`, by quantity."""
    measured = {one.quantity: one for one in before if one.measured is not None}
    rows = [
        msgspec.structs.replace(measured.get(one.quantity, one), predicted=one.predicted)
        for one in getattr(told, field)
    ]
    named = {one.quantity for one in rows}
    rows += [msgspec.structs.replace(one, predicted=None) for name, one in measured.items() if name not in named]
    return msgspec.structs.replace(told, **{field: rows})
