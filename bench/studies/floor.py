"""The floor: what a malloc of no time and no waste would take in the programs of the benchmark.

A goal below it is none that a malloc can reach. Of CPU time: that of a run under the default design
without the samples inside the library. Of memory: that of the run without the bytes of the simulated
heap that the program did not ask for. Blocks stay where they are, so what is asked for counts whole;
what the program has not touched of it does not count. A second floor of memory has each block at a
multiple of 16 bytes, as the ABI asks of malloc: the blocks' requests are rounded up to 16.
"""

from collections.abc import Iterable
from pathlib import Path
from statistics import geometric_mean

import msgspec

from heapsmith.bench.common.command import exit_with
from heapsmith.bench.common.study import Json, tell
from heapsmith.bench.programs.programs import Program, programs, trace_of
from heapsmith.codegen.built import library_of
from heapsmith.model.design.design import load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.files import scratch
from heapsmith.model.heap.ledger import Ledger
from heapsmith.model.memory.application import PROGRAM, program_of
from heapsmith.model.memory.hardware import load_hardware
from heapsmith.model.predict.ledgers import with_ledgers
from heapsmith.model.predict.simulate import simulate
from heapsmith.model.trace.reader import Op, TraceReader
from heapsmith.tools.common.rounds import Stop, quiet
from heapsmith.tools.common.tables import Words
from heapsmith.tools.compare.measure import measure
from heapsmith.tools.forge.share import malloc_share
from heapsmith.tools.peers.peers import GLIBC

DESIGN = "default"
ROUNDS = 7
GRAIN = 16


Triple = tuple[float, float, float]
"""CPU time, peak and average RSS."""


class Floor(msgspec.Struct, frozen=True):
    """A program under the design and at the floor, to glibc; aligned: the floor with blocks at multiples of 16."""

    program: str
    design: Triple
    floor: Triple
    aligned: Triple


def wasted(resident: int, of: Ledger) -> int:
    """Return the most resident bytes that were not asked for: all that is untouched may be of live blocks."""
    assert of.untouched is not None
    return max(0, resident - max(0, of.asked - of.untouched))


def roundings(trace: Path, at: int) -> tuple[int, float]:
    """Return the bytes by which requests of live blocks are short of multiples of 16: after event `at`, on average."""
    short, live, total, peak, events = dict[int, int](), 0, 0, 0, 0
    with TraceReader(trace) as reader:
        for chunk in reader:
            for op, block, size in zip(chunk.op.tolist(), chunk.block.tolist(), chunk.size.tolist(), strict=True):
                if op <= Op.FREE_SIZED:
                    live -= short.pop(block, 0)
                if op <= Op.ALIGNED:
                    short[block] = max(GRAIN, -(-size // GRAIN) * GRAIN) - size
                    live += short[block]
                total += live
                peak = live if events == at else peak
                events += 1
    return peak, total / max(1, events)


def floor_of(program: Program, folder: Path) -> Floor:
    """Measure and simulate one program; its trace is written to `folder`."""
    design, hardware = load(DESIGN), load_hardware()
    library = library_of(design)
    row = measure([*map(str, program.command)], [GLIBC, str(library)], stop=Stop(ROUNDS)).rows[1]
    share = malloc_share([*map(str, program.command)], library, row.ratios.cpu, Stop(ROUNDS), quiet)
    trace = trace_of(program, folder)
    application = program_of(trace, PROGRAM.births, PROGRAM.deaths)
    table = simulate(trace, [design], hardware=hardware, application=application)
    found, peak = table.rows[0], table.rows[0].statistics.peak_live.event
    held = with_ledgers(table, [make_plan(design)], hardware, application, at=[peak]).ledgers[0]
    assert found.touches is not None
    assert held.average.resident is not None
    waste = wasted(found.touches.resident_peak, held.at[0].bytes), wasted(held.average.resident, held.average)
    to_glibc = row.ratios.cpu.median, row.ratios.peak_rss.median, row.ratios.average_rss.median
    used = row.peak_rss_bytes.median, row.average_rss_bytes.median
    kept = roundings(trace, peak)
    least, aligned = (
        tuple(ratio * (1 - bytes / of) for ratio, bytes, of in zip(to_glibc[1:], spared, used, strict=True))
        for spared in (waste, [max(0.0, bytes - some) for bytes, some in zip(waste, kept, strict=True)])
    )
    cpu = to_glibc[0] * (1 - share.part)
    return Floor(program.name, to_glibc, (cpu, least[0], least[1]), (cpu, aligned[0], aligned[1]))


def main(json: Json = False) -> int:
    """Print the table, or print it as JSON."""
    with scratch() as folder:
        rows = [floor_of(one, folder / one.name) for one in programs(folder / "inputs") if not one.lacks()]
    sides = [_means(getattr(row, side) for row in rows) for side in ("design", "floor", "aligned")]
    columns = ["program", *(f"CPU, {side}" for side in (DESIGN, "floor"))]
    columns += [f"{name}, {side}" for name in ("peak RSS", "average RSS") for side in (DESIGN, "floor", "of 16")]
    cells = [
        [row.program, *(f"{value:.3f}" for value in (*cpu[:2], *peak, *average))]
        for row in (*rows, Floor("geometric mean", *sides))
        for cpu, peak, average in [zip(row.design, row.floor, row.aligned, strict=True)]
    ]
    return tell(rows, [Words("to glibc; the floor: a malloc of no time and no waste", columns, cells)], json)


def _means(rows: Iterable[Triple]) -> Triple:
    cpu, peak, average = (geometric_mean(column) for column in zip(*rows, strict=True))
    return cpu, peak, average


if __name__ == "__main__":
    exit_with(main)
