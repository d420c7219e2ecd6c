"""Everyday programs: each must do under the recorder, under designs and beside other mallocs what it does without.

python -m heapsmith.bench.gates.everyday [PROGRAM]... [--limit 120] [--json FILE], or make everyday

Each program of everyday.toml that is here runs for its version and for a real job, by sh(1): twice
as it is and then in every way of WAYS. A sample also runs in the ways of SAMPLED. The end and both
outputs must be those of the plain run; an output in which two plain runs differ does not count.
Programs whose rows the JSON file holds do not run again unless they are named. docs/lab/everyday.md is
made of everyday.json (everyday_page.py).
"""

import re
import sys
import threading
from functools import cache
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from heapsmith.bench.common.command import exit_with
from heapsmith.bench.common.commit import commit
from heapsmith.bench.gates.everyday_runs import PROGRAMS, Run, contents, package, prepare, programs, run, run_all
from heapsmith.codegen.built import library_of
from heapsmith.model.design.design import load
from heapsmith.model.errors import BadInput
from heapsmith.model.files import scratch, write_json
from heapsmith.tools.common.parallel import in_parallel
from heapsmith.tools.common.preload import preloadable
from heapsmith.tools.common.tables import Words, draw

RELEASE = Path("/etc/debian_version")
HEAPSMITH = [sys.executable, "-m", "heapsmith"]
BY_HAND = "LD_PRELOAD"
DIRECTLY, COMPARE = "run default, started directly", "compare"
WAYS = {
    "record": [*HEAPSMITH, "record", "--only", "-o", "out.hst", "--"],
    "record --stacks": [*HEAPSMITH, "record", "--only", "--stacks", "-o", "out.hst", "--"],
    "run default": [*HEAPSMITH, "run", "default", "--"],
    "run hardened": [*HEAPSMITH, "run", "hardened", "--"],
    BY_HAND: ["env"],
}
"""What goes before a command. The library of BY_HAND is built first."""
SAMPLED = {
    DIRECTLY: WAYS["run default"],
    COMPARE: [*HEAPSMITH, "compare", "--rounds", "1", "--lib", "glibc", "--lib", "default", "--"],
}
"""Of the version, which heapsmith starts without a shell; of the job, whose outputs the command compares itself."""
BATCH = 6
"""Programs whose jobs are one start of heapsmith."""
SAME = "same"
REFUSED = "refused: "
"""Of a program that cannot be served: heapsmith starts nothing and says why."""
_OURS = re.compile(r"heapsmith: .*\n?")


class Row(msgspec.Struct, frozen=True):
    """One program: how each way compares with the plain run, of its version and of its job.

    package: Debian's, with its version; empty for a program of another origin. commit: of heapsmith. steady: what of
    the job's outputs was the same in two plain runs.
    """

    program: str
    package: str
    commit: str
    steady: str
    version: dict[str, str]
    job: dict[str, str]
    sample: dict[str, str]

    def cells(self) -> list[tuple[str, str, str]]:
        """What ran, the way, and how it compares."""
        runs = (("version", self.version), ("job", self.job), ("sample", self.sample))
        return [(what, way, word) for what, ways in runs for way, word in ways.items()]

    def faults(self) -> list[str]:
        """A line for each way that was not the same and that heapsmith did not refuse."""
        return [
            f"{self.program}, {what}, {way}: {word}"
            for what, way, word in self.cells()
            if word != SAME and not word.startswith(REFUSED)
        ]


class Results(msgspec.Struct, frozen=True):
    """What the JSON file holds. debian: its release; empty on another system."""

    debian: str
    limit_s: float
    rows: list[Row]


def compared(plain: Run, again: Run, other: Run) -> str:
    """How a run compares with two plain ones, in words; SAME if it does not differ from them."""
    if plain.status is None or again.status is None:
        return "left out: a plain run had not ended at the limit"
    said = "".join(_OURS.findall(other.errors)).strip()
    errors = _OURS.sub("", other.errors)
    if other.status is None:
        return "hangs"
    if other.status != plain.status:
        if other.status in (2, 3) and said and not errors and not other.out:
            return REFUSED + said
        return f"status {other.status} for {plain.status}: {_last(other.errors)}"
    if plain.out == again.out != other.out:
        return "other output"
    if plain.errors == again.errors != errors:
        known = plain.errors.splitlines()
        return f"other errors: {_last(chr(10).join(line for line in errors.splitlines() if line not in known))}"
    return SAME


def _last(text: str) -> str:
    """The last line, or its begin."""
    return (text.strip().splitlines() or [""])[-1][:200]


def tried(commands: list[str], inputs_folder: Path, limit_s: float) -> list[tuple[dict[str, str], str]]:
    """How each way compares with the plain runs of each command, and what of these was steady."""
    plain, again = (run_all(commands, [], inputs_folder, limit_s) for _ in range(2))
    others = {way: run_all(commands, _words(way), inputs_folder, limit_s) for way in WAYS}
    return [
        ({way: compared(plain[at], again[at], runs[at]) for way, runs in others.items()}, steady(plain[at], again[at]))
        for at in range(len(commands))
    ]


def steady(plain: Run, again: Run) -> str:
    """What two plain runs have in common."""
    parts = {"status": plain.status == again.status, "output": plain.out == again.out}
    return ", ".join(what for what, same in (parts | {"errors": plain.errors == again.errors}).items() if same)


def sampled(name: str, inputs_folder: Path, limit_s: float) -> dict[str, str]:
    """How the ways of SAMPLED compare for a program, if it is of their samples."""
    (version, job), found = programs()[name], {}
    if name in contents()["sample"]["directly"]:
        plain, again, other = (run(version, way, inputs_folder, limit_s) for way in ([], [], SAMPLED[DIRECTLY]))
        found[DIRECTLY] = compared(plain, again, other)
    if name in contents()["sample"]["compare"]:
        other = run(job, SAMPLED[COMPARE], inputs_folder, limit_s)
        found[COMPARE] = SAME if other.status == 0 else f"status {other.status}: {_last(other.errors)}"
    return found


def _words(way: str) -> list[str]:
    return [*WAYS[way], *([_by_hand()] if way == BY_HAND else [])]


@cache
def _by_hand() -> str:
    """The assignment that preloads the library of a design."""
    return f"LD_PRELOAD={preloadable(library_of(load('default')))}"


def everyday(names: list[str], limit_s: float, json: Path | None = None) -> list[Row]:
    """A row for each program; all that are here if `names` is empty. Raises BadInput for a name that is not here.

    With a file, each row is written at once, and rows that it has are not made again but for those of `names`.
    """
    here = programs()
    if missing := set(names) - set(here):
        raise BadInput(f"{', '.join(sorted(missing))}: not in {PROGRAMS.name}, or not on PATH")
    rows = {} if json is None or not json.exists() else {row.program: row for row in results(json).rows}
    at, debian, lock = commit(), RELEASE.read_text().strip() if RELEASE.exists() else "", threading.Lock()
    wanted = names or [name for name in here if name not in rows]
    with scratch() as folder:
        prepare(folder)

        def in_order() -> list[Row]:
            return [rows[name] for name in contents()["jobs"] if name in rows]

        def work(batch: list[str]) -> None:
            found = tried([command for name in batch for command in here[name]], folder, limit_s)
            samples = [sampled(name, folder, limit_s) for name in batch]
            with lock:
                for index, (name, sample) in enumerate(zip(batch, samples, strict=True)):
                    (version, _), (job, kept) = found[2 * index : 2 * index + 2]
                    rows[name] = Row(name, package(name), at, kept, version, job, sample)
                if json is not None:
                    write_json(json, Results(debian, limit_s, in_order()))

        def progress(what: str, done: int, total: int) -> None:
            print(f"{what}: {done} of {total}", file=sys.stderr, flush=True)

        in_parallel("batches", work, [wanted[at : at + BATCH] for at in range(0, len(wanted), BATCH)], progress)
    return in_order()


def results(path: Path) -> Results:
    """What a file of an earlier run holds. Raises BadInput for another file."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Results)
    except (OSError, msgspec.MsgspecError) as error:
        raise BadInput(f"{path}: expected rows of everyday programs: {error}") from None


def counts(rows: list[Row]) -> Words:
    """A row for each way: how many versions and jobs were the same, refused, other."""
    table = []
    for way in [*WAYS, *SAMPLED]:
        words = [word for row in rows for _, at, word in row.cells() if at == way]
        same, refused = words.count(SAME), sum(word.startswith(REFUSED) for word in words)
        table.append([way, *map(str, (len(words), same, refused, len(words) - same - refused))])
    return Words(f"{len(rows)} programs", ("<way", "runs", "same", "refused", "other"), table)


def main(
    names: Annotated[list[str] | None, typer.Argument(metavar="PROGRAM")] = None,
    limit: Annotated[float, typer.Option(min=1, help="Seconds after which a run counts as hanging.")] = 120,
    json: Annotated[Path | None, typer.Option(help="Holds the rows; a run goes on where it was interrupted.")] = None,
) -> int:
    """Print a row for each way, and a line for each fault; 1 if there is one."""
    rows = everyday(names or [], limit, json)
    draw(counts(rows))
    faults = [fault for row in rows for fault in row.faults()]
    print(*faults, sep="\n")
    return int(bool(faults))


if __name__ == "__main__":
    exit_with(main)
