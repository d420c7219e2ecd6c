"""The public suite mimalloc-bench under its own names: peaks and CPU time of mallocs, to glibc's.

python -m heapsmith.bench.studies.public_suite CHECKOUT [--lib NAME ...] [--procs N] [--rounds N] runs what is built in
CHECKOUT/out/bench by the suite's own bench.sh, one malloc after the other, and writes public_suite.json beside this
file; figures of other mallocs in it stay. Without CHECKOUT it writes the table of docs/lab/results.md.
"""

import random
import subprocess
from pathlib import Path
from statistics import geometric_mean, median
from typing import Annotated

import msgspec
import typer

from heapsmith.bench.common.command import exit_with
from heapsmith.bench.common.commit import commit, today
from heapsmith.bench.common.pages import untitled
from heapsmith.bench.common.study import LAB, Check, Part
from heapsmith.bench.suite.rows import environment
from heapsmith.model.errors import BadInput, CheckFailed
from heapsmith.model.files import scratch, write_json, write_text
from heapsmith.tools.common.tables import Words
from heapsmith.tools.peers.peers import GLIBC, Library, find_library

PART = Part(Path(__file__), LAB / "results.md")
TESTS = (
    *("cfrac", "espresso", "barnes", "larson-sized", "mstress", "rptest", "lua", "alloc-test", "xmalloc-test"),
    *("cscratch", "glibc-simple", "glibc-thread"),
)
"""Those of `allt` that need no download of further programs."""
BY_TIME = ("larson", "rptest", "xmalloc", "glibc-thread")
"""Beginnings of the names of benchmarks that do more work if they are faster; the others do a fixed amount."""
SET = {
    "mimalloc3, no huge pages": ("mimalloc3", {"MIMALLOC_ALLOW_THP": "0"}),
    "mimalloc3, no delay": ("mimalloc3", {"MIMALLOC_PURGE_DELAY": "0"}),
    "mimalloc3, neither": ("mimalloc3", {"MIMALLOC_ALLOW_THP": "0", "MIMALLOC_PURGE_DELAY": "0"}),
}
LARGE_KIB = 16 << 10


class Used(msgspec.Struct, frozen=True):
    """What a benchmark took, in medians of the rounds: peak RSS, and user and system time."""

    peak_kib: float
    cpu_s: float


class Row(msgspec.Struct, frozen=True):
    """A benchmark on a number of processors, as the suite was told, by malloc."""

    benchmark: str
    procs: int
    under: dict[str, Used]

    def part(self, malloc: str, field: str) -> float:
        """The malloc's figure as a part of glibc's."""
        return float(getattr(self.under[malloc], field) / getattr(self.under[GLIBC], field))


class Data(msgspec.Struct, frozen=True):
    """When the last figures were measured, of which commits of heapsmith and of the suite, in how many rounds."""

    date: str
    commit: str
    suite: str
    rounds: int
    rows: list[Row]


def library(name: str) -> Library:
    """A malloc, or one with settings."""
    of, settings = SET.get(name, (name, {}))
    return msgspec.structs.replace(find_library(of), name=name, settings=settings)


def once(checkout: Path, malloc: Library, tests: tuple[str, ...], procs: int) -> dict[str, Used]:
    """A run of benchmarks under a malloc, by the suite's script. CheckFailed where one has no figures."""
    folder = checkout / "out" / "bench"
    if not (checkout / "bench.sh").is_file() or not folder.is_dir():
        raise BadInput(f"{checkout}: expected a checkout of mimalloc-bench, built in out/bench")
    with scratch() as place:
        write_text(place / "libraries", f"tested {malloc.path}\n")
        which = [f"--external={place / 'libraries'}"] if malloc.path else ["sys"]
        words = ["bash", str(checkout.resolve() / "bench.sh"), f"-j={procs}", *which, *tests]
        given = environment() | malloc.settings
        subprocess.run(words, cwd=folder, env=given, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return told((folder / "benchres.csv").read_text())


def told(results: str) -> dict[str, Used]:
    """What the suite's file of results says: name, malloc, time, peak in KiB, user and system time, faults."""
    found = {}
    for line in results.splitlines():
        if line.startswith("#") or not line.strip():
            continue
        try:
            name, _, _, peak, user, system, _, _ = line.split()
            found[name] = Used(float(peak), float(user) + float(system))
        except ValueError:
            raise CheckFailed(f"benchres.csv: {line!r}; expected eight columns, the fourth to sixth numbers") from None
    return found


def measured(checkout: Path, names: list[str], tests: tuple[str, ...], procs: int, rounds: int) -> dict[str, list[Row]]:
    """The runs of each malloc, in shuffled rounds: rows with one malloc each, by benchmark."""
    runs: dict[tuple[str, str], list[Used]] = {}
    draw = random.Random(1)
    for _ in range(rounds):
        for name in draw.sample(names, len(names)):
            for benchmark, used in once(checkout, library(name), tests, procs).items():
                runs.setdefault((benchmark, name), []).append(used)
    rows: dict[str, list[Row]] = {}
    for (benchmark, name), each in runs.items():
        middle = Used(median(one.peak_kib for one in each), median(one.cpu_s for one in each))
        rows.setdefault(benchmark, []).append(Row(benchmark, procs, {name: middle}))
    return rows


def joined(known: list[Row], found: dict[str, list[Row]]) -> list[Row]:
    """The known rows with new figures, and new rows behind them."""
    table = {(row.benchmark, row.procs): dict(row.under) for row in known}
    for rows in found.values():
        for row in rows:
            table.setdefault((row.benchmark, row.procs), {}).update(row.under)
    return [Row(benchmark, procs, under) for (benchmark, procs), under in table.items()]


def made(of: Data) -> list[str]:
    """The part of the page: a table for each number of processors, peak and CPU time as parts of glibc's."""
    version = f"Of {of.date}, commit {of.commit}, mimalloc-bench {of.suite}, "
    said = version + (f"medians of {of.rounds} rounds." if of.rounds > 1 else "one round.")
    paragraphs = [said]
    for procs in sorted({row.procs for row in of.rows}):
        rows = [row for row in of.rows if row.procs == procs]
        names = [name for name in rows[0].under if name != GLIBC and all(name in row.under for row in rows)]
        lines = [
            [row.benchmark, f"{row.under[GLIBC].peak_kib / 1024:.1f} MiB", *(_cell(row, name) for name in names)]
            for row in rows
        ]
        fixed = [row for row in rows if not row.benchmark.startswith(BY_TIME)]
        large = [row for row in rows if row.under[GLIBC].peak_kib >= LARGE_KIB]
        for what, some, field in (
            ("peak, all", rows, "peak_kib"),
            ("peak, 16 MiB and more", large, "peak_kib"),
            ("CPU time", fixed, "cpu_s"),
        ):
            if some:
                means = (geometric_mean(row.part(name, field) for row in some) for name in names)
                lines.append([f"geometric mean: {what}", "", *(f"{mean:.2f}" for mean in means)])
        paragraphs.append(f"With `-j={procs}`: peak RSS, CPU time, to glibc's.")
        paragraphs.append(untitled(Words("", ("<benchmark", f"{GLIBC}'s peak", *names), lines)))
    return paragraphs


def _cell(row: Row, name: str) -> str:
    cpu = "" if row.benchmark.startswith(BY_TIME) else f", {row.part(name, 'cpu_s'):.2f}"
    return f"{row.part(name, 'peak_kib'):.2f}{cpu}"


def main(
    checkout: Annotated[Path | None, typer.Argument(metavar="CHECKOUT", help="Measure: mimalloc-bench, built.")] = None,
    lib: Annotated[list[str] | None, typer.Option("--lib", help="A malloc, design, or name of SET; repeat it.")] = None,
    test: Annotated[list[str] | None, typer.Option("--test", help="A test of the suite; default: TESTS.")] = None,
    procs: Annotated[int, typer.Option(min=1, help="The suite's -j.")] = 2,
    rounds: Annotated[int, typer.Option(min=1)] = 1,
    check: Check = False,
) -> int:
    """Measure, and write the figures; without a checkout, write the table, or check it."""
    if checkout:
        found = measured(checkout, lib or [GLIBC, "default"], tuple(test or TESTS), procs, rounds)
        known = PART.read(Data).rows if PART.data.exists() else []
        head = ["git", "-C", str(checkout), "rev-parse", "--short=12", "HEAD"]
        suite = subprocess.run(head, capture_output=True, text=True, check=False).stdout.strip() or "of no clone"
        write_json(PART.data, Data(today(), commit(), suite, rounds, joined(known, found)))
    else:
        PART.put(made(PART.read(Data)), check)
    return 0


if __name__ == "__main__":
    exit_with(main)
