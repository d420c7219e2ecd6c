"""The command `run`: every malloc on the benchmark's rows."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import heapsmith
from heapsmith.api import show
from heapsmith.bench.common.command import example
from heapsmith.commands import arguments as take
from heapsmith.commands.options import Commands, Given, options_of
from heapsmith.model.errors import BadInput

if TYPE_CHECKING:  # needs numba, which a command imports only when it runs
    from heapsmith.bench.suite.results import BenchReport

app = Commands()

Suites = Annotated[
    list[str] | None,
    typer.Option("--suite", metavar="SUITE", help="micro, threads, servers, programs or replay; repeat it."),
]
Rows = Annotated[
    list[str] | None, typer.Option("--only", metavar="ROW", help="Only rows of this name or pattern (*); repeat it.")
]
Beside = Annotated[
    list[str] | None,
    typer.Option(
        "--lib",
        metavar="LIB|DESIGN",
        help="A peer (docs/compare.md), `peers`, a .so or a design beside glibc; repeat it. Default: peers, default.",
    ),
]
Tuned = Annotated[
    list[str] | None,
    typer.Option(metavar="LIB|DESIGN[=TUNED_ON]", help="A tuned library and the input it was tuned on; repeat it."),
]
Tune = Annotated[
    bool, typer.Option("--tune", help="Add a column `tuned`: a design tuned on another input of each row.")
]
Rounds = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, help="Counted rounds; each runs every library once. Default: 7, with --quick 3."),
]
RowTime = Annotated[
    str | None,
    typer.Option("--time", metavar="TIME", help="Rounds until CPU time's intervals are under 2 %, a row TIME at most."),
]


@app.command(epilog=example("run --quick --tune", "run --only 'mixed*' --tuned libpy.so='a recording of x.py'"))
@options_of(heapsmith.tune, "suite only lib tuned tune favour max_time max_rss")
def run(
    given: Given,
    suite: Suites = None,
    only: Rows = None,
    lib: Beside = None,
    tuned: Tuned = None,
    tune: Tune = False,
    rounds: Rounds = None,
    time: RowTime = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer and shorter rows: under two minutes.")] = False,
    instructions: Annotated[bool, typer.Option("--instructions", help="Count instructions too (valgrind).")] = False,
    latency: Annotated[
        bool, typer.Option("--latency", help="Stamp single calls too: p99 and p99.9 of malloc and of free.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="FILE", help="Write JSON, or a page (.md).")
    ] = None,
    json: take.Json = False,
) -> int:
    """Compare every malloc on benchmarks, replays and real programs.

    The tables show time, peak RSS, and their ratios to glibc and to the best peer. See docs/lab/bench.md. The exit
    status is 1 if a library that is no peer fails a row or changes its output.
    """
    from heapsmith.bench.suite import benchmark
    from heapsmith.bench.suite.suite import Request, bench
    from heapsmith.model.search.asked import Asked
    from heapsmith.model.search.choice import parse_limits
    from heapsmith.tools.replay.finalists import replays

    search = Asked(favour=given["favour"], limits=parse_limits(given.get("max_time"), given.get("max_rss")))
    if search != Asked() and not tune:
        raise BadInput("--favour, --max-time, --max-rss: expected with --tune")
    if rounds is not None and time is not None:
        raise BadInput("--rounds and --time: expected one of them, not both")
    path = take.writable_file(out) if out is not None else None
    with show.progress() as progress:
        if tune and not quick:
            search = search._replace(replays=replays(True, progress=progress))
        asked = Request(
            suites=suite or [],
            only=only or [],
            libs=lib or [],
            tuned=tuned or [],
            rounds=rounds,
            time_s=None if time is None else take.seconds("--time", time),
            quick=quick,
            instructions=instructions,
            latency=latency,
            tune=tune,
            search=search,
        )
        found = bench(asked, progress, partial(benchmark.write, path) if path else lambda _: None)
    show.emit_json(found) if json else _show(found)
    return 1 if benchmark.broken(found) else 0


def _show(report: "BenchReport") -> None:
    """Time, memory and instructions of every row under every malloc, then the notes."""
    from heapsmith.bench.suite import benchmark
    from heapsmith.tools.common.tables import draw

    for table in benchmark.tables(report):
        draw(table)
    show.line()
    for note in benchmark.notes(report):
        show.prose(note)
