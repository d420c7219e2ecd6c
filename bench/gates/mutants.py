"""Would a test notice a wrong line? A sample of mutants of the heap's C, the tools' C, the templates and the model.

python -m heapsmith.bench.gates.mutants [--log FILE] [--size N] [--table] [FILE]..., or make mutants

Each mutant changes one line in a copy of the tree. Focused tests run there: lives of library and model under designs
that have the file, of a row the lines that both touch, then the tests that bench/gates/mutants.toml names for its
folder. What is known is written to the log at once, so that an interrupted run goes on where it was.
"""

import hashlib
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import cache
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from heapsmith.bench.common.command import exit_with
from heapsmith.bench.common.commit import commit
from heapsmith.bench.gates import mutating, mutating_python
from heapsmith.bench.gates.mutating import Mutant
from heapsmith.bench.gates.trying import (
    EQUIVALENT,
    LIVES,
    ROOT,
    SEED,
    SURVIVED,
    UNBUILT,
    Judge,
    Listed,
    designs,
    table,
)
from heapsmith.model.errors import BadInput
from heapsmith.model.files import write_json
from heapsmith.tools.common.tables import Words, section

LOG = Path("out/mutants.json")
KNOWN = Path(__file__).with_name("mutants.json")
"""Outcomes of earlier runs, with which a log begins: by line and change, wherever the line stands now."""
AREAS = {
    "runtime/heap": 150,
    "runtime/recorder": 25,
    "runtime/replay": 30,
    "runtime/verify": 20,
    "templates": 40,
    "model/policy": 100,
    "model/heap": 35,
}
"""The mutants drawn of each area."""

LEAST_PERCENT = 97
LISTED = "listed"


class Outcome(msgspec.Struct, frozen=True):
    """What became of a mutant: the test that noticed it, UNBUILT, EQUIVALENT, LISTED or SURVIVED."""

    file: str
    line: int
    before: str
    after: str
    by: str
    said: str
    seconds: int
    cpu_s: int
    commit: str


@cache
def population() -> list[Mutant]:
    """Every mutant of the areas, by files in order."""
    found: list[Mutant] = []
    for area in AREAS:
        for path in sorted((ROOT / area).rglob("*")):
            makes = {".py": mutating_python.mutants}.get(path.suffix, mutating.mutants)
            if path.suffix in (".c", ".h", ".j2", ".py"):
                found += makes(str(path.relative_to(ROOT)), path.read_text())
    return found


def key(mutant: Mutant | Outcome | Listed) -> str:
    """What a mutant is, wherever its line stands."""
    return "\0".join((mutant.file, mutant.before.strip(), mutant.after.strip()))


def drawn(size: int) -> list[Mutant]:
    """The sample: `size` of 400 of each area, by a lot of the mutant itself, which no other line changes."""
    by_area: dict[str, dict[str, Mutant]] = {area: {} for area in AREAS}
    for mutant in population():
        area = next(area for area in AREAS if mutant.file.startswith(f"{area}/"))
        by_area[area].setdefault(key(mutant), mutant)
    whole = sum(AREAS.values())
    sample = []
    for area, mutants in by_area.items():
        count = -(-AREAS[area] * size // whole)
        sample += sorted(mutants.values(), key=_lot)[:count]
    return sorted(sample, key=_lot)


def _lot(mutant: Mutant) -> str:
    return hashlib.sha256(f"{SEED}\0{key(mutant)}".encode()).hexdigest()


def read(log: Path) -> dict[str, Outcome]:
    """The outcomes by key. Raises BadInput if the file holds something else."""
    try:
        found = msgspec.json.decode(log.read_bytes(), type=list[Outcome]) if log.exists() else []
    except msgspec.MsgspecError as error:
        raise BadInput(f"{log}: no log of mutants: {error}") from None
    return {key(outcome): outcome for outcome in found}


def summary(sample: Sequence[Mutant], outcomes: dict[str, Outcome], listed: dict[str, Listed]) -> Words:
    """The table by area: drawn, tried, of no use, noticed by lives and by other tests, listed, not noticed."""
    rows = []
    for area in (*AREAS, ""):
        of_area = [mutant for mutant in sample if mutant.file.startswith(area)]
        kinds = Counter(_kind(mutant, outcomes, listed) for mutant in of_area)
        tried = sum(count for kind, count in kinds.items() if kind not in ("", UNBUILT, EQUIVALENT, LISTED))
        noticed = tried - kinds[SURVIVED]
        share = f"{100 * noticed / tried:.1f} %" if tried else "-"
        counts = [len(of_area), len(of_area) - kinds[""], kinds[UNBUILT], kinds[EQUIVALENT]]
        counts += [kinds["lives"], kinds["tests"], kinds[LISTED], kinds[SURVIVED]]
        rows.append([f"`{area}`" if area else "all", *map(str, counts), share])
    head = (
        "<area",
        "drawn",
        "tried",
        "do not compile",
        "same object code",
        "noticed by lives",
        "by other tests",
        "listed",
        "not noticed",
        "share noticed",
    )
    return Words("", head, rows)


def _kind(one: Mutant | Outcome, outcomes: dict[str, Outcome], listed: dict[str, Listed]) -> str:
    """LISTED: the table has it, and no test is known to notice it."""
    outcome = outcomes.get(key(one))
    if key(one) in listed and (outcome is None or outcome.by in (UNBUILT, EQUIVALENT, SURVIVED)):
        return LISTED
    if outcome is None:
        return ""
    if outcome.by in (UNBUILT, EQUIVALENT, SURVIVED):
        return outcome.by
    return "lives" if outcome.by.startswith(LIVES) else "tests"


def to_try(
    sample: Sequence[Mutant], outcomes: dict[str, Outcome], listed: dict[str, Listed], *, again: bool
) -> list[Mutant]:
    """The mutants without an outcome that are not listed; with `again` those, too, that no test is known to notice."""
    found = [(one, _kind(one, outcomes, listed)) for one in sample]
    return [one for one, kind in found if kind == "" or (again and kind in (LISTED, SURVIVED))]


def main(
    files: Annotated[list[str] | None, typer.Argument(help="Only mutants of files that begin so.")] = None,
    log: Annotated[Path, typer.Option(metavar="FILE", dir_okay=False, help="Where outcomes are kept.")] = LOG,
    size: Annotated[int, typer.Option(min=1, help="Mutants in all.")] = sum(AREAS.values()),
    workers: Annotated[int, typer.Option(min=1, help="Mutants at a time.")] = 2,
    again: Annotated[bool, typer.Option("--again", help="Try those not noticed, or listed, once more.")] = False,
    show: Annotated[bool, typer.Option("--table", help="Only print what the log holds, as Markdown.")] = False,
) -> int:
    """Try the sample; 1 if fewer than 97 of 100 that compile are noticed, without those that are listed and are not."""
    sample = [one for one in drawn(size) if not files or one.file.startswith(tuple(files))]
    listed = {key(one): one for one in table().listed}
    outcomes = read(KNOWN) | read(log)
    if not show:
        _try(to_try(sample, outcomes, listed, again=again), outcomes, log, workers)
    print("\n".join(section(summary(sample, outcomes, listed))))
    known = [found for one in sample if (found := outcomes.get(key(one)))]
    survivors = [one for one in known if _kind(one, outcomes, listed) == SURVIVED]
    for one in survivors:
        print(f"{one.file}:{one.line}: {one.before}  =>  {one.after or '(deleted)'}")
    tried = [one for one in known if _kind(one, outcomes, listed) not in (UNBUILT, EQUIVALENT, LISTED)]
    return int(100 * (len(tried) - len(survivors)) < LEAST_PERCENT * len(tried))


def _try(due: Sequence[Mutant], outcomes: dict[str, Outcome], log: Path, workers: int) -> None:
    """Try mutants, several at a time, and write each outcome to the log."""
    at = commit()
    files = {"tests/test_conformance.py", *(test for tests in table().focus.values() for test in tests)}
    designs()
    with ThreadPoolExecutor(workers) as pool:
        judge = Judge(log.absolute().with_suffix(""), workers, sorted(files))
        tried = {pool.submit(judge.try_out, mutant): mutant for mutant in due}
        try:
            for one in as_completed(tried):
                mutant = tried[one]
                what = mutant.file, mutant.line, mutant.before.strip(), mutant.after.strip()
                outcome = Outcome(*what, *one.result(), at)
                outcomes[key(outcome)] = outcome
                log.parent.mkdir(parents=True, exist_ok=True)
                write_json(log, list(outcomes.values()))
                took = f"{outcome.seconds:4} s, {outcome.cpu_s} of processors"
                print(f"{took}  {outcome.file}:{outcome.line}  {outcome.by}", file=sys.stderr, flush=True)
        finally:
            pool.shutdown(cancel_futures=True)
            judge.close()


if __name__ == "__main__":
    exit_with(main)
