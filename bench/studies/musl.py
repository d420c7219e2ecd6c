"""Built-in designs against musl's own malloc, in programs linked with musl: time and peak memory.

python -m heapsmith.bench.studies.musl [--rounds N] [--lua FOLDER] [-o FILE] [--json]

docs/lab/platforms.md has the table, of musl.json beside this file. FOLDER has the sources of Lua 5.4 (Debian: `apt-get
source lua5.4`, and there src); without it the row of Lua is left out.
"""

import os
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from heapsmith.bench.common.command import exit_with
from heapsmith.bench.common.commit import commit, today
from heapsmith.bench.common.study import Json, Only, Out, tell
from heapsmith.bench.programs.micro_programs import MICRO_FOLDER, PROGRAM_FLAGS, SEED, SHARED, STAMPS, took
from heapsmith.bench.programs.micro_rows import MICRO, THREADS, MicroRow
from heapsmith.bench.suite.rows import environment
from heapsmith.codegen.build import build
from heapsmith.codegen.layers import ABOUT_PROCESSORS
from heapsmith.codegen.target import Toolchain, toolchain
from heapsmith.codegen.toolchain import build_tool, compile_c, run_tool
from heapsmith.model.design.design import load
from heapsmith.model.errors import BadInput, CheckFailed
from heapsmith.model.files import scratch
from heapsmith.tools.common.program_start import Start
from heapsmith.tools.common.ratios import Ratio, ratio
from heapsmith.tools.common.rounds import Figure, Stop, interleaved, quiet
from heapsmith.tools.common.tables import Words
from heapsmith.tools.common.units import amount, duration
from heapsmith.tools.compare.measure import Run, run_once
from heapsmith.tools.peers.peers import Library

TARGET = "x86_64-linux-musl"
DESIGNS = ("default", "lean")
FILE = Path(__file__).with_suffix(".json")
ROWS = (
    *("pair-32", "mixed", "mixed-100k", "skewed", "skewed-100k", "phases", "realloc-small"),
    *("mixed-2t", "mixed-4t", "larson-small-2t", "larson-small-4t", "producer", "xmalloc-4t"),
)
LUA = "lua"
LUA_COUNT = 100_000
"""The first argument of lua_job.lua."""
LIMIT_S = 300.0


class Sample(msgspec.Struct, frozen=True):
    """One run: time of the row's work per operation (wall time where threads work at once), and peak RSS."""

    time_ns: float
    peak_bytes: int
    output: str


class Cell(msgspec.Struct, frozen=True):
    """A row under one malloc; the ratios are to musl's, round by round."""

    malloc: str
    time_ns: Figure
    peak_bytes: Figure
    time: Ratio
    peak: Ratio

    @property
    def speed(self) -> float:
        """How many times as fast as musl's malloc."""
        return 1 / self.time.median


class Row(msgspec.Struct, frozen=True):
    """A row under all mallocs, musl's first."""

    name: str
    threads: int
    cells: list[Cell]


class Report(msgspec.Struct, frozen=True):
    """All rows, and what they were measured with."""

    date: str
    commit: str
    compiler: str
    processors: int
    rounds: int
    rows: list[Row]


def program(row: MicroRow, compiler: str) -> Path:
    """The program of a row, linked with musl."""
    flags = [*PROGRAM_FLAGS, "-DDRY=0", "-DSTAMP=0", f"-DSEED={SEED}"]
    sources = [MICRO_FOLDER / f"{row.program}.c", *SHARED]
    return build_tool(row.program, sources, flags, include=[STAMPS, *ABOUT_PROCESSORS], compiler=compiler)


def lua(sources: Path, tools: Toolchain, out: Path) -> Path:
    """Lua's interpreter, linked with musl. Raises BadInput where the folder has none, CheckFailed as compile_c."""
    own = [source for source in sorted(sources.glob("*.c")) if source.name != "luac.c"]
    if sources / "lua.c" not in own:
        raise BadInput(f"--lua {sources}: expected the C files of Lua, lua.c among them")
    return compile_c(own, out, flags=["-O2", "-std=gnu99", "-lm"], include=[sources], compiler=tools.compiler)


def measured(row: MicroRow, command: list[str], mallocs: list[Library], rounds: int, folder: Path) -> Row:
    """A row in interleaved rounds. Raises CheckFailed where a run fails or its output differs."""
    start = Start(command, command[0], environment())

    def run(entry: int) -> Sample:
        done = run_once(start, mallocs[entry], folder, limit_s=LIMIT_S)
        if done.used.signal or done.used.exit_status:
            raise CheckFailed(f"{row.name} under {mallocs[entry].name}: {done.errors.strip() or done.used}")
        return Sample(_time(row, done), done.used.peak_rss_bytes, done.output)

    runs = interleaved(row.name, [one.name for one in mallocs], Stop(rounds), run, quiet).runs
    if len({one.output for its in runs for one in its}) > 1:
        raise CheckFailed(f"{row.name}: its output differs")
    times, peaks = ([[getattr(one, name) for one in its] for its in runs] for name in ("time_ns", "peak_bytes"))
    cells = [
        Cell(one.name, Figure.of(time), Figure.of(peak), ratio(time, times[0]), ratio(peak, peaks[0]))
        for one, time, peak in zip(mallocs, times, peaks, strict=True)
    ]
    return Row(row.name, row.threads, cells)


def _time(row: MicroRow, done: Run) -> float:
    if row.name == LUA:
        return float(done.used.cpu_ns)
    own = took(done)
    return (own.wall_ns if row.threads > 1 else own.cpu_ns) / own.operations


def report(rounds: int, sources: Path | None, only: list[str]) -> Report:
    """Measure all rows, or those named. Raises Missing without a compiler for musl."""
    tools = toolchain(target=TARGET)
    compiler = tools.compiler[0]
    with scratch() as folder:
        mallocs = [Library("musl", None)]
        mallocs += [Library(name, build(load(name), folder / f"lib{name}.so", tools=tools)) for name in DESIGNS]
        work = [
            (row, [str(program(row, compiler)), *row.words(quick=row.threads == 1)])
            for row in (*MICRO, *THREADS)
            if row.name in (only or ROWS)
        ]
        if sources is not None:
            with as_file(files("heapsmith.bench.programs") / "jobs" / "lua_job.lua") as job:
                command = [str(lua(sources, tools, folder / LUA)), str(job), str(LUA_COUNT)]
            work.append((MicroRow(LUA, LUA, LUA_COUNT, 0, "", "Lua 5.4"), command))
        found = [measured(row, command, mallocs, rounds, folder) for row, command in work]
    version = run_tool([compiler, "--version"], compiler).splitlines()[0]
    return Report(today(), commit(), version, os.cpu_count() or 1, rounds, found)


def table(of: Report) -> Words:
    """The rows as a table: absolute figures of musl, speed and peak of each design to musl's."""
    columns = ["row", "threads", "musl", "spread", "its peak"]
    for name in DESIGNS:
        columns += [f"{name}: speed", "spread", "peak"]
    cells = []
    for row in of.rows:
        musl, *others = row.cells
        words = [row.name, str(row.threads), duration(musl.time_ns.median), f"{musl.time_ns.spread:.0%}"]
        words.append(amount(musl.peak_bytes.median))
        for cell in others:
            words += [f"{cell.speed:.2f}x", f"{cell.time_ns.spread:.0%}", cell.peak.words()]
        cells.append(words)
    return Words("", columns, cells)


def main(
    rounds: Annotated[int, typer.Option(min=1, help="Rounds.")] = 11,
    lua_sources: Annotated[Path | None, typer.Option("--lua", metavar="FOLDER", help="The sources of Lua 5.4.")] = None,
    only: Only = None,
    out: Out = None,
    json: Json = False,
) -> int:
    """Measure programs of musl with musl's malloc and with the designs preloaded."""
    found = report(rounds, lua_sources, only or [])
    return tell(found, [table(found)], json, out)


if __name__ == "__main__":
    exit_with(main)
