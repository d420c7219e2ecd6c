"""The public suite mimalloc-bench under its own names: peaks of mallocs, to glibc's.

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
NAMED = {
    **{"larson-sized": ("larsonN-sized",), "larson": ("larsonN",), "mstress": ("mstressN",), "rptest": ("rptestN",)},
    **{"xmalloc-test": ("xmalloc-testN",), "lean": ("leanN",), "sh6bench": ("sh6benchN",), "sh8bench": ("sh8benchN",)},
    **{"alloc-test": ("alloc-test1", "alloc-testN"), "cscratch": ("cache-scratch1", "cache-scratchN")},
}
"""The benchmarks of a test that has not one of its own name; with one thread the first alone."""
SET = {
    "mimalloc3, no huge pages": ("mimalloc3", {"MIMALLOC_ALLOW_THP": "0"}),
    "mimalloc3, no delay": ("mimalloc3", {"MIMALLOC_PURGE_DELAY": "0"}),
    "mimalloc3, neither": ("mimalloc3", {"MIMALLOC_ALLOW_THP": "0", "MIMALLOC_PURGE_DELAY": "0"}),
}
LARGE_KIB = 16 << 10


class Used(msgspec.Struct, frozen=True):
    """The peak RSS of a benchmark, in the median of the rounds; when it was measured, of which commit of heapsmith."""

    peak_kib: float
    date: str
    commit: str
    rounds: int

    def when(self) -> str:
        return f"{self.date}, {self.commit}" + (f", {self.rounds} rounds" if self.rounds > 1 else "")


class Row(msgspec.Struct, frozen=True):
    """A benchmark on a number of processors, as the suite was told, by malloc."""

    benchmark: str
    procs: int
    under: dict[str, Used]

    def part(self, malloc: str) -> float:
        """The malloc's peak as a part of glibc's."""
        return self.under[malloc].peak_kib / self.under[GLIBC].peak_kib


class Data(msgspec.Struct, frozen=True):
    """The rows, and the commit of the suite of the last figures."""

    suite: str
    rows: list[Row]


def library(name: str) -> Library:
    """A malloc, or one with settings."""
    of, settings = SET.get(name, (name, {}))
    return msgspec.structs.replace(find_library(of), name=name, settings=settings)


def once(checkout: Path, malloc: Library, tests: tuple[str, ...], procs: int) -> dict[str, float]:
    """The peaks in a run of benchmarks under a malloc, by the suite's script. CheckFailed where one has none."""
    folder = checkout / "out" / "bench"
    if not (checkout / "bench.sh").is_file() or not folder.is_dir():
        raise BadInput(f"{checkout}: expected a checkout of mimalloc-bench, built in out/bench")
    results = folder / "benchres.csv"
    results.unlink(missing_ok=True)  # another malloc's
    with scratch() as place:
        write_text(place / "libraries", f"tested {malloc.path}\n")
        which = [f"--external={place / 'libraries'}"] if malloc.path else ["sys"]
        words = ["bash", str(checkout.resolve() / "bench.sh"), f"-j={procs}", *which, *tests]
        given = environment() | malloc.settings
        null = subprocess.DEVNULL
        status = subprocess.run(words, cwd=folder, env=given, stdout=null, stderr=null, check=False).returncode
    if status != 0 or not results.is_file():
        raise CheckFailed(f"bench.sh under {malloc.name}: status {status}; expected 0, and the file {results}")
    found = told(results.read_text())
    if absent := sorted({benchmark for test in tests for benchmark in benchmarks(test, procs)} - found.keys()):
        raise CheckFailed(f"{results}: expected a line of each benchmark, found none of {', '.join(absent)}")
    return found


def benchmarks(test: str, procs: int) -> tuple[str, ...]:
    """The names in the file of results that a test of the suite has."""
    names = NAMED.get(test, (test,))
    return names if procs > 1 else names[:1]


def told(results: str) -> dict[str, float]:
    """The peaks in the suite's file of results: name, malloc, time, peak in KiB, user and system time, faults."""
    found = {}
    for line in results.splitlines():
        if line.startswith("#") or not line.strip():
            continue
        try:
            name, _, _, peak, _, _, _, _ = line.split()
            found[name] = float(peak)
        except ValueError:
            raise CheckFailed(f"benchres.csv: {line!r}; expected eight columns, the fourth a number") from None
    return found


def measured(checkout: Path, names: list[str], tests: tuple[str, ...], procs: int, rounds: int) -> dict[str, list[Row]]:
    """The runs of each malloc, in shuffled rounds: rows with one malloc each, by benchmark."""
    runs: dict[tuple[str, str], list[float]] = {}
    draw = random.Random(1)
    for _ in range(rounds):
        for name in draw.sample(names, len(names)):
            for benchmark, peak in once(checkout, library(name), tests, procs).items():
                runs.setdefault((benchmark, name), []).append(peak)
    rows: dict[str, list[Row]] = {}
    for (benchmark, name), peaks in runs.items():
        used = Used(median(peaks), today(), commit(), rounds)
        rows.setdefault(benchmark, []).append(Row(benchmark, procs, {name: used}))
    return rows


def joined(known: list[Row], found: dict[str, list[Row]]) -> list[Row]:
    """The known rows with new figures, and new rows behind them."""
    table = {(row.benchmark, row.procs): dict(row.under) for row in known}
    for rows in found.values():
        for row in rows:
            table.setdefault((row.benchmark, row.procs), {}).update(row.under)
    return [Row(benchmark, procs, under) for (benchmark, procs), under in table.items()]


def made(of: Data) -> list[str]:
    """The part of the page: a table for each number of processors, of peaks as parts of glibc's."""
    paragraphs = [f"Of mimalloc-bench {of.suite}. The last line says when a column was measured, and of which commit."]
    for procs in sorted({row.procs for row in of.rows}):
        rows = [row for row in of.rows if row.procs == procs]
        names = [name for name in rows[0].under if name != GLIBC and all(name in row.under for row in rows)]
        lines = [
            [row.benchmark, f"{row.under[GLIBC].peak_kib / 1024:.1f} MiB", *(f"{row.part(name):.2f}" for name in names)]
            for row in rows
        ]
        large = [row for row in rows if row.under[GLIBC].peak_kib >= LARGE_KIB]
        for what, some in (("all", rows), ("16 MiB and more", large)):
            if some:
                means = (geometric_mean(row.part(name) for row in some) for name in names)
                lines.append([f"geometric mean: {what}", "", *(f"{mean:.2f}" for mean in means)])
        lines.append(["measured", *(_measured(rows, name) for name in (GLIBC, *names))])
        paragraphs.append(f"With `-j={procs}`: peak RSS, to glibc's.")
        paragraphs.append(untitled(Words("", ("<benchmark", f"{GLIBC}'s peak", *names), lines)))
    return paragraphs


def _measured(rows: list[Row], name: str) -> str:
    """When the figures of a column were measured; which ones, where they differ."""
    by: dict[str, list[str]] = {}
    for row in rows:
        by.setdefault(row.under[name].when(), []).append(row.benchmark)
    most, *others = sorted(by, key=lambda when: -len(by[when]))
    return "; ".join([most, *(f"{', '.join(by[when])}: {when}" for when in others)])


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
        write_json(PART.data, Data(suite, joined(known, found)))
    else:
        PART.put(made(PART.read(Data)), check)
    return 0


if __name__ == "__main__":
    exit_with(main)
