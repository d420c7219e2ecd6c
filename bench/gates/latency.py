"""Times of single calls of malloc and free under every malloc: p50, p99, p99.9 and the worst (docs/bench.md).

A program stamps each call (bench/gates/latency.c). The mallocs run in interleaved rounds.
"""

from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec
import typer

from heapsmith.bench.common.command import exit_with
from heapsmith.bench.common.rounds import Figure, Stop, interleaved, quiet
from heapsmith.bench.common.tables import Words, draw
from heapsmith.bench.peers.peers import Library, placed_anew, preload
from heapsmith.bench.programs.micro_programs import PROGRAM_FLAGS
from heapsmith.bench.suite.columns import columns
from heapsmith.bench.suite.rows import environment
from heapsmith.codegen.generate import RUNTIME
from heapsmith.codegen.toolchain import build_tool, run_tool
from heapsmith.model.constants import BENCHFAST
from heapsmith.model.files import scratch

HERE = Path(__file__).resolve().parent
REPLAY = RUNTIME / "replay"
OPERATIONS, COLD_OPERATIONS, LIVE = 1_000_000, 20_000, 4_000


class Quantiles(msgspec.Struct, frozen=True):
    """Nanoseconds of single calls of one function in one run."""

    p50: float
    p99: float
    p999: float
    worst: float


class Stamps(msgspec.Struct, frozen=True):
    """One run of the program."""

    malloc: Quantiles
    free: Quantiles


class LatencyRow(msgspec.Struct, frozen=True):
    """A function under one malloc: by quantile the least and the median of the rounds, in ns."""

    library: str
    work: str
    function: str
    figures: dict[str, Figure]


def program() -> Path:
    """Return the program, built. Raises what build_tool raises."""
    sources = [HERE / "latency.c", REPLAY / "latency.c"]
    return build_tool("heapsmith-latency", sources, [*PROGRAM_FLAGS, f"-I{REPLAY}"])


class Work(NamedTuple):
    """What the program does: `cold` from a thread's first request on."""

    threads: int
    cold: bool = False
    operations: int = OPERATIONS

    def __str__(self) -> str:
        return f"{self.threads} {'thread' if self.threads == 1 else 'threads'}{', cold' if self.cold else ''}"


def stamp_once(library: Library, work: Work, folder: Path) -> Stamps:
    """Run the program once under a malloc; its threads share the operations. Raises CheckFailed if it fails."""
    with placed_anew(library, folder) as placed:
        settings = [f"{name}={value}" for name, value in (environment() | BENCHFAST | library.settings).items()]
        load = preload(placed, {})
        numbers = (work.operations // work.threads, LIVE, work.threads, int(work.cold))
        words = [*([f"LD_PRELOAD={load}"] if load else []), str(program()), *map(str, numbers)]
        return msgspec.json.decode(run_tool(["env", "-i", *settings, *words], library.name), type=Stamps)


def measure(libraries: list[Library], work: Work, stop: Stop) -> list[LatencyRow]:
    """Return a row for each malloc and function."""
    names = [library.name for library in libraries]
    with scratch() as folder:
        taken = interleaved(str(work), names, stop, lambda index: stamp_once(libraries[index], work, folder), quiet)
    return [
        LatencyRow(name, str(work), function, _figures([getattr(run, function) for run in runs]))
        for name, runs in zip(names, taken.runs, strict=True)
        for function in Stamps.__struct_fields__
    ]


def _figures(runs: list[Quantiles]) -> dict[str, Figure]:
    return {name: Figure.of([getattr(run, name) for run in runs]) for name in Quantiles.__struct_fields__}


def _cells(row: LatencyRow) -> list[str]:
    figures = [f"{row.figures[name].median:,.0f}" for name in Quantiles.__struct_fields__]
    return [row.library, row.function, *figures, f"{row.figures['worst'].minimum:,.0f}"]


def main(
    lib: Annotated[list[str] | None, typer.Option(help="As for bench.")] = None,
    seconds: Annotated[float, typer.Option(help="For each of the three tables.")] = 60.0,
    json: bool = False,
) -> int:
    """Print the tables, or print them as JSON."""
    usable = [one for one in columns(lib or [], []) if one.kind != "ceiling" and not one.unusable]
    if not lib:
        usable += [one for one in columns(["steady"], []) if one.name == "steady"]
    libraries = [one.library for one in usable]
    works = [Work(1), Work(4), Work(1, True, COLD_OPERATIONS)]
    tables = {str(work): measure(libraries, work, Stop(limit_s=seconds)) for work in works}
    if json:
        print(msgspec.json.encode([row for rows in tables.values() for row in rows]).decode())
        return 0
    names = ("malloc", "call", "p50", "p99", "p99.9", "worst", "least worst")
    for work, rows in tables.items():
        title = f"{work}: ns of single calls, medians of the rounds; and the least of their worst"
        draw(Words(title, names, list(map(_cells, rows))))
    return 0


if __name__ == "__main__":
    exit_with(main)
