"""Segregation of the call sites that pin the most bytes: tried on the choice, kept if traces held out confirm it."""

from collections.abc import Mapping
from typing import NamedTuple

import msgspec
import numpy as np

from heapsmith.model.design.design import Design
from heapsmith.model.design.toml import Reason
from heapsmith.model.search.choice import scores
from heapsmith.model.search.choice_worth import Worth, margin
from heapsmith.model.search.evaluate import Evaluator
from heapsmith.model.search.explore import Explorer, Known
from heapsmith.model.search.outcome import OBJECTIVES
from heapsmith.model.search.pareto import Floats
from heapsmith.model.search.pinning_sites import groups_to_try, pins_of

STAGE = "call sites"
MEMORY = slice(1, 3)
"""The objectives peak and average, one of which must gain."""


class Segregated(msgspec.Struct, frozen=True):
    """What came of it: tried segregations, and the best of them by the score.

    sites, sizes: how many call sites are apart for blocks of these sizes. ratios: of OBJECTIVES to
    the design without, on the traces of the search; held_out: on those held out, empty where the
    traces of the search refuse it already. why_not: None where the design has it.
    """

    tried: int
    sites: int
    sizes: list[int]
    ratios: dict[str, float]
    held_out: dict[str, float]
    why_not: str | None


class Tried(NamedTuple):
    """What is to be said of it: None where nothing was tried, empty where nothing is kept."""

    segregated: Segregated | None
    worth: list[Worth]
    reasons: list[Reason]


NOT_TRIED = Tried(None, [], [])


def segregated(found: Known, explorer: Explorer, held: Evaluator) -> tuple[Known, Tried]:
    """Return the choice with the best segregation, or as it is, and what to say of it.

    It must gain more than the margin in the score and in peak or average bytes on the traces of the
    search, and the same in peak or average on the traces held out, where the score must not be worse.
    None is tried without call stacks, without a trace held out, and where the choice has its own.
    """
    traces = [*explorer.sources, *held.bench.sources]
    asked = held.bench.sources and all(one.footer.stacks for one in traces) and found.design.segregation is None
    tried = [
        design
        for params in (groups_to_try(pins_of(found.design, explorer.sources)) if asked else ())
        if (design := msgspec.structs.replace(found.design, segregation=params)).why_not_valid() is None
    ]
    if not tried:
        return found, NOT_TRIED
    kept: Known | None = None
    try:
        priced = explorer.price(tried, STAGE)
        best = min(priced, key=lambda one: (not explorer.allowed(one), explorer.score(one)))
        here, there = best.ratios / found.ratios, np.empty(0)
        why_not = _why_not(best, found, explorer)
        if why_not is None:
            there = _held_out(held, found.design, best.design)
            operations = sum(source.operations for source in held.bench.sources)
            confirmed = _gains(there, operations) and scores(there[None], explorer.weights)[0] <= 1
            kept, why_not = (best, None) if confirmed else (None, "the traces held out do not confirm it")
    finally:  # what no held-out trace has confirmed is no result of the search
        for design in tried:
            if kept is None or design is not kept.design:
                explorer.known.pop(design.hash(), None)
    said = _said(best.design, len(tried), here, there, why_not)
    return (kept, Tried(said, [_worth(kept, here)], [reason_of(said)])) if kept else (found, Tried(said, [], []))


def _why_not(best: Known, found: Known, explorer: Explorer) -> str | None:
    """Return why the traces of the search refuse it, or None."""
    if not _gains(best.ratios / found.ratios, explorer.operations):
        return "no gain beyond the margin"
    if not explorer.allowed(best):
        return "beyond the limits of time or memory, which --max-time and --max-rss widen"
    gains = explorer.score(best) < explorer.score(found) * (1 - margin(explorer.operations))
    return None if gains else "not worth its time"


def _gains(ratios: Floats, operations: int) -> bool:
    return bool(ratios[MEMORY].min() < 1 - margin(operations))


def _held_out(held: Evaluator, without: Design, design: Design) -> Floats:
    """Return the ratios of a design to the same without segregation on the traces held out."""
    with held.workers:
        before, after = held.priced([without, design], f"{STAGE}, held out")
    held.write()
    return held.ratios(after, before)


def _named(ratios: Floats) -> dict[str, float]:
    return dict(zip(OBJECTIVES, ratios.tolist(), strict=True)) if len(ratios) else {}


def _said(design: Design, tried: int, here: Floats, there: Floats, why_not: str | None) -> Segregated:
    (group,) = design.segregation.groups  # type: ignore[union-attr]
    return Segregated(tried, len(group.sites), group.sizes, _named(here), _named(there), why_not)


def _worth(best: Known, here: Floats) -> Worth:
    (group,) = best.design.segregation.groups  # type: ignore[union-attr]
    return Worth(["segregation"], f"{len(group.sites)} sites, {len(group.sizes)} sizes", "off", _named(1 / here))


def why_segregated(said: Segregated) -> str:
    """Return in words what the segregation is worth, or why there is none."""
    sizes = ", ".join(map(str, said.sizes))
    what = f"{said.sites} call sites apart for blocks of {sizes} bytes"
    here = _gains_in_words(said.ratios)
    if said.why_not is None:
        there = _gains_in_words(said.held_out)
        return f"{what}: {here}; on what was held out {there}. The sites are those of these builds of the files."
    return f"of {said.tried} tried, the best has {what}: {here}; {said.why_not}"


def _gains_in_words(ratios: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {ratios[name] - 1:+.1%}" for name in ("time", "peak", "average"))


def reason_of(said: Segregated) -> Reason:
    """Return the comment beside the field of a design that keeps its segregation."""
    figures: dict[str, int | float] = {f"held_out_{name}": ratio for name, ratio in said.held_out.items()}
    return Reason("segregation", f"{said.sites} call sites", why_segregated(said), figures)
