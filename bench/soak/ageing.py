"""The ageing gate: a server's trace again and again, with blocks that outlive passes; RSS must not grow.

python -m heapsmith.bench.soak.ageing [--events N] [--design D] [--trace FILE], or make ageing

A pass performs all events of the trace. One in SHARE of its blocks outlives its pass: it is freed
where its trace frees it, but 1, 2, 4 or 8 passes later, so that blocks of different ages lie side by
side. A block that the trace never frees is freed 1, 2, 4 or 8 passes later too, before that pass
allocates its successor. After 8 passes each pass has the same live blocks at its end. Library and model perform
the events side by side, with every address and counter compared after each chunk. At the end of each
pass the RSS of the library's process is taken: the median of the last third of the passes must
exceed that of the second third by at most GROWTH.
"""

import json
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import msgspec
import numpy as np
import numpy.typing as npt
import typer

from heapsmith.bench.common.command import exit_with
from heapsmith.bench.programs.programs import programs, trace_of
from heapsmith.codegen.built import library_of
from heapsmith.codegen.difference import Difference, counted
from heapsmith.codegen.verify import Library, Side, side_by_side
from heapsmith.model.design.design import Design, load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.errors import BadInput, Missing
from heapsmith.model.files import scratch, write_json
from heapsmith.model.heap.simulator import Simulator
from heapsmith.model.trace.events import BIRTHS, CHUNK_EVENTS, DEATHS, WITH_BLOCK, Chunk, Op, join, op_mask
from heapsmith.model.trace.reader import TraceReader
from heapsmith.tools.common.tables import Words, draw
from heapsmith.tools.common.units import amount

I64 = npt.NDArray[np.int64]

SHARE = 16
AGES = (1, 2, 4, 8)
"""Passes that a block outlives its own."""
GROWTH = 0.01
LEAST_PASSES = 3 * (max(AGES) + 1)
"""The first third of the passes is as long as the oldest block lives."""
SEGMENT = 100_000_000


class Segment(msgspec.Struct, frozen=True):
    """Passes on one heap. rss: medians of the thirds of the passes; drift: the last to the second, less 1."""

    design: str
    hash: str
    trace: str
    seed: int
    passes: int
    events: int
    seconds: float
    live_blocks: int  # at the end of a pass
    live_bytes: int
    rss: list[int]
    drift: float
    difference: Difference | None

    @property
    def passed(self) -> bool:
        """Return whether library and model agree and RSS does not grow."""
        return self.difference is None and self.drift <= GROWTH


class Ageing:
    """The events of any pass over a trace; thread ends are left out, and after pass 0 thread starts.

    seed: which blocks outlive a pass, and how many passes.
    """

    def __init__(self, trace: Chunk, seed: int) -> None:
        trace = _chosen(trace, trace.op != Op.THREAD_EXIT)
        has_block = op_mask(WITH_BLOCK)[trace.op]
        life = _lives(trace, has_block)
        lives = int(life.max(initial=-1)) + 1
        is_freed = np.zeros(lives, np.bool_)
        is_freed[life[op_mask(DEATHS)[trace.op]]] = True
        random = np.random.default_rng(seed)
        stays = ~is_freed | (random.integers(0, SHARE, lives) == 0)
        age = np.where(stays, random.choice(AGES, lives), 0)
        room = np.where(stays, age + 1, 0)
        base = int(trace.block.max(initial=0)) + 1 + np.cumsum(room) - room
        born = np.flatnonzero(op_mask(BIRTHS)[trace.op] & ~is_freed[life])
        self._events, self._life = _with_deaths(trace, born), np.insert(life, born, life[born])
        self._has_block = op_mask(WITH_BLOCK)[self._events.op]
        self._dies = op_mask(DEATHS)[self._events.op]
        self._age, self._base, self._stays = age, base, stays
        self.span_ns = int(trace.time_ns.max(initial=0)) + 1

    def events(self, number: int) -> Chunk:
        """Return the events of pass `number`, from 0."""
        age = np.where(self._has_block, self._age[self._life], 0)
        turn = (number - np.where(self._dies, age, 0)) % (age + 1)
        stays = self._has_block & self._stays[self._life]
        block = np.where(stays, self._base[self._life] + turn, self._events.block).astype(np.uint32)
        here = ~(self._dies & (age > number))
        if number > 0:
            here &= self._events.op != Op.THREAD_START
        moved = self._events._replace(block=block, time_ns=self._events.time_ns + number * self.span_ns)
        return _chosen(moved, here)


def _chosen(chunk: Chunk, here: npt.NDArray[np.bool_]) -> Chunk:
    columns: list[Any] = [column[here] for column in chunk]
    return Chunk(*columns)


def _lives(trace: Chunk, has_block: npt.NDArray[np.bool_]) -> I64:
    """Return the life that each event is of, numbered from 0; 0 for an event of a thread."""
    where = np.flatnonzero(has_block)
    by_block = where[np.argsort(trace.block[where], kind="stable")]
    life = np.zeros(len(trace.op), np.int64)
    life[by_block] = np.cumsum(op_mask(BIRTHS)[trace.op[by_block]]) - 1
    return life


def _with_deaths(trace: Chunk, born: I64) -> Chunk:
    """Return the events with a free before each of these births, by its thread and of its block."""
    free = {"op": Op.FREE, "size": 0, "align_log2": 0}
    columns: list[Any] = [
        np.insert(column, born, free.get(name, column[born])) for name, column in trace._asdict().items()
    ]
    return Chunk(*columns)


def age(
    design: Design, trace: Path, events: int, seed: int = 1, tell: Callable[[int, int], None] | None = None
) -> Segment:
    """Perform passes until `events` events are done, LEAST_PASSES passes at least.

    tell: called as tell(events, of about). Raises BadInput for a damaged trace or one without
    blocks, Missing without gcc.
    """
    with TraceReader(trace) as reader:
        chunks = list(reader)
    if not chunks:
        raise BadInput(f"{trace}: no events, so nothing ages")
    ageing = Ageing(join(chunks), seed)
    plan = make_plan(design)
    library = Library("release", library_of(design), 0, counted(plan, checked=False))
    passes = max(LEAST_PASSES, -(-events // len(ageing.events(max(AGES)).op)))
    rss: list[int] = []
    live: list[tuple[int, int]] = []
    ends = _Ends(ageing, passes)

    def watch(sides: list[Side], simulator: Simulator) -> None:
        if ends.at_end and sides[0].difference is None:
            rss.append(sides[0].driver.rss_bytes())
            live.append((simulator.state.live_blocks, simulator.state.live_bytes))

    begin = time.perf_counter()
    about = passes * len(ageing.events(max(AGES)).op)
    (side,) = side_by_side(plan, [library], iter(ends), lambda done: tell(done, about) if tell else None, watch=watch)
    seconds = time.perf_counter() - begin
    thirds = [round(median(part)) for part in _thirds(rss)] if len(rss) >= LEAST_PASSES else []
    drift = thirds[2] / thirds[1] - 1 if thirds else 0.0
    blocks, live_bytes = live[-1] if live else (0, 0)
    done = (len(rss), side.events, round(seconds, 1), blocks, live_bytes)
    return Segment(design.name, design.hash(), str(trace), seed, *done, thirds, round(drift, 6), side.difference)


class _Ends:
    """The chunks of all passes; `at_end` says whether the one that was given last ends a pass."""

    def __init__(self, ageing: Ageing, passes: int) -> None:
        self.ageing, self.passes, self.at_end = ageing, passes, False

    def __iter__(self) -> Iterator[Chunk]:
        for number in range(self.passes):
            events = self.ageing.events(number)
            for first in range(0, len(events.op), CHUNK_EVENTS):
                self.at_end = first + CHUNK_EVENTS >= len(events.op)
                yield events.part(first, first + CHUNK_EVENTS)


def _thirds(values: list[int]) -> list[list[int]]:
    cuts = [len(values) * third // 3 for third in range(4)]
    return [values[a:b] for a, b in pairwise(cuts)]


def read(log: Path) -> list[Segment]:
    """Return the segments of a log, none if there is no log. Raises BadInput if the file holds something else."""
    try:
        return msgspec.convert(json.loads(log.read_text()) if log.exists() else [], list[Segment])
    except (OSError, ValueError) as error:
        raise BadInput(f"{log}: no log of segments: {error}") from None


def show(found: list[Segment]) -> None:
    """Print a row per segment."""
    heads = ("<design", "seed", "passes", "events", "events/s", "live blocks", "live bytes", "RSS", "drift", "<verdict")
    rows = []
    for one in found:
        verdict = "passed" if one.passed else "differs" if one.difference else "grows"
        counts = (str(one.seed), f"{one.passes:,}", f"{one.events:,}", f"{one.events / max(one.seconds, 0.1):,.0f}")
        sizes = (f"{one.live_blocks:,}", amount(one.live_bytes), amount(one.rss[-1]) if one.rss else "-")
        rows.append((one.design, *counts, *sizes, f"{one.drift:+.3%}", verdict))
    draw(Words("", heads, rows))


def redis(folder: Path) -> Path:
    """Record the benchmark's redis-server under its load. Raises Missing without redis."""
    program = next(one for one in programs(folder / "inputs") if one.name == "redis")
    if lacks := program.lacks():
        raise Missing(f"the ageing gate records redis: {', '.join(lacks)} is not on PATH; give it a --trace")
    return trace_of(program, folder / program.name)


def main(
    events: Annotated[float, typer.Option(metavar="N", min=1, help="Events in all, about.")] = 1e9,
    segment: Annotated[int, typer.Option(metavar="N", min=1, help="Events on one heap.")] = SEGMENT,
    design: Annotated[str, typer.Option(metavar="D")] = "default",
    trace: Annotated[Path | None, typer.Option(metavar="FILE", help="Default: redis, recorded now.")] = None,
    log: Annotated[Path, typer.Option(metavar="FILE", help="Segments that are done; they are not repeated.")] = Path(
        "out/ageing.json"
    ),
) -> int:
    """Age a heap; exits with 1 if a segment's RSS grows, or if library and model differ."""
    with scratch() as folder:
        chosen = load(design)
        kept = log.with_suffix(".hst")  # a trace that was recorded serves the runs that go on
        if trace is None and not kept.exists():
            kept.parent.mkdir(parents=True, exist_ok=True)
            redis(folder).replace(kept)
        source = trace or kept
        wanted = max(1, round(events / segment))
        found = read(log)
        for seed in range(1, wanted + 1):
            done = {(one.hash, one.trace, one.seed) for one in found}
            if (chosen.hash(), str(source), seed) not in done:
                found.append(age(chosen, source, min(segment, round(events)), seed))
                write_json(log, found)
    show(found)
    for one in found:
        if one.difference is not None:
            print(f"{one.design}, seed {one.seed}: {one.difference}")
    return int(not all(one.passed for one in found))


if __name__ == "__main__":
    exit_with(main)
