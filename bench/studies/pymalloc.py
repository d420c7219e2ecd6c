"""What pymalloc hides: Python jobs as they are and with PYTHONMALLOC=malloc, under glibc and a design.

python -m heapsmith.bench.studies.pymalloc [--rounds N] [--json]

docs/lab/costs.md has the table. The first job makes small objects, which pymalloc serves; the second
keeps bodies of 600 to 20,000 bytes, which go to malloc in any case (pymalloc serves up to 512).
"""

import os
import sys
from collections.abc import Mapping
from importlib.resources import as_file, files
from typing import Annotated, NamedTuple

import msgspec
import typer

from heapsmith.bench.common.command import exit_with
from heapsmith.bench.common.study import Json, tell
from heapsmith.model.errors import CheckFailed
from heapsmith.model.files import scratch
from heapsmith.tools.common.obstacles import find_program
from heapsmith.tools.common.program_start import Start
from heapsmith.tools.common.ratios import ratio
from heapsmith.tools.common.rounds import Stop, interleaved, quiet
from heapsmith.tools.common.tables import Words
from heapsmith.tools.compare.launched import Launched
from heapsmith.tools.compare.measure import run_once
from heapsmith.tools.peers.peers import GLIBC, Library, find_library

BODIES = """
import random
rng, kept = random.Random(1), {}
for n in range(150_000):
    kept[rng.randrange(3000)] = bytes(rng.choice((600, 900, 2000, 5000, 20_000))) + b"%d" % n
print(sum(map(len, kept.values())))
"""

MALLOC = {"PYTHONMALLOC": "malloc"}


class Way(NamedTuple):
    """How a job is run: the malloc of its objects, and the library below."""

    name: str
    environment: Mapping[str, str]
    library: Library


class Row(msgspec.Struct, frozen=True):
    """A job one way; ratios of medians to the job as it is, under glibc, with their intervals."""

    job: str
    way: str
    cpu_ms: float
    cpu: str
    peak_mib: float
    peak: str


def jobs() -> dict[str, list[str]]:
    """The jobs by their names."""
    with as_file(files("heapsmith.bench.programs") / "user_job.py") as path:
        return {
            "small objects": [sys.executable, "-S", str(path), "--rounds", "1"],
            "bodies": [sys.executable, "-S", "-c", BODIES],
        }


def rows(job: str, words: list[str], design: str, rounds: int) -> list[Row]:
    """Run the job each way in interleaved rounds. Raises CheckFailed if its output varies."""
    glibc, other = find_library(GLIBC), find_library(design)
    ways = [
        Way("pymalloc, glibc", {}, glibc),
        Way(f"pymalloc, {design}", {}, other),
        Way("malloc, glibc", MALLOC, glibc),
        Way(f"malloc, {design}", MALLOC, other),
    ]
    program = find_program(words)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONMALLOC"}
    outputs = set[str]()

    def run(entry: int) -> Launched:
        start = Start(words, program, environment, added=ways[entry].environment)
        done = run_once(start, ways[entry].library, folder)
        outputs.add(done.output)
        return done.used

    with scratch() as folder:
        taken = interleaved(job, [way.name for way in ways], Stop(rounds), run, quiet).runs
    if len(outputs) > 1:
        raise CheckFailed(f"{job}: its output varies")
    return [_row(job, way.name, its, taken[0]) for way, its in zip(ways, taken, strict=True)]


def _row(job: str, way: str, its: list[Launched], first: list[Launched]) -> Row:
    cpu = ratio([one.cpu_ns for one in its], [one.cpu_ns for one in first])
    peak = ratio([one.peak_rss_bytes for one in its], [one.peak_rss_bytes for one in first])
    best = sorted(its, key=lambda one: one.cpu_ns)[len(its) // 2]
    return Row(job, way, round(best.cpu_ns / 1e6, 1), cpu.words(), round(best.peak_rss_bytes / 2**20, 1), peak.words())


def main(
    rounds: Annotated[int, typer.Option(min=1, help="Rounds.")] = 15,
    design: Annotated[str, typer.Option(help="A design or library.")] = "default",
    json: Json = False,
) -> int:
    """Measure the Python jobs with and without pymalloc."""
    found = [row for job, words in jobs().items() for row in rows(job, words, design, rounds)]
    cells = [[row.job, row.way, f"{row.cpu_ms} ms", row.cpu, f"{row.peak_mib} MiB", row.peak] for row in found]
    columns = ["job", "<objects, malloc below", "CPU", "to the first", "peak RSS", "to the first"]
    return tell(found, [Words("", columns, cells)], json)


if __name__ == "__main__":
    exit_with(main)
