"""Histories: bytes of heaps over a trace, and what every part of their addresses held at evenly spaced stops."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from heapsmith.model.design.design import Design, ask_sites
from heapsmith.model.design.plan import Plan, make_plan
from heapsmith.model.heap.events import DEAD
from heapsmith.model.heap.ledger import Ledger, ledger
from heapsmith.model.heap.simulator import Simulator, has_rare_choices
from heapsmith.model.memory import layout
from heapsmith.model.memory.application import PROGRAM
from heapsmith.model.memory.hardware import Hardware
from heapsmith.model.memory.layout import RUN_CODE
from heapsmith.model.memory.listener import Listener
from heapsmith.model.predict.address_map import AddressMap, Used, used_by
from heapsmith.model.predict.simulate import Progress, Simulation, feed_all, feed_chunks, simulation, warmed_up
from heapsmith.model.trace.lives import Lives
from heapsmith.model.trace.reader import Chunk, TraceReader

I64 = npt.NDArray[np.int64]

PIXELS = 960
"""Points of a time line: each stands for an equal number of events."""
STOPS = 96
"""Stops at which ledgers and maps are taken, each at the end of a pixel."""
COLUMNS = 640
"""The most columns of a map."""


class Band(msgspec.Struct, frozen=True):
    """Bytes over a trace: for each pixel the least, the most, and those after its last event."""

    low: list[int]
    high: list[int]
    last: list[int]


class Maps(msgspec.Struct, frozen=True):
    """Address maps at the stops: arrays of (stops, columns).

    live, idle, committed: bytes of a column. blocks: those that begin in it. born, size, block: the
    event of birth, the bytes asked for and the number of the oldest block, -1 without blocks.
    """

    column_bytes: int
    slab_bytes: int  # from there on the map shows the run span
    live: I64
    idle: I64
    committed: I64
    blocks: I64
    born: I64
    size: I64
    block: I64


class ClassBytes(msgspec.Struct, frozen=True):
    """Of each class at each stop, (stops, classes): live blocks, bytes asked for, blocks idle in fronts."""

    live: I64
    asked: I64
    idle: I64


class History(msgspec.Struct, frozen=True):
    """A design on a trace. resident: after the last event of each pixel; None without hardware."""

    simulated: Simulation
    committed: Band
    resident: list[int] | None
    ledgers: list[Ledger]
    maps: Maps
    classes: ClassBytes


class Histories(msgspec.Struct, frozen=True):
    """Designs on a trace. events, time_ns: the last event of each pixel, from 0; stops: pixels.

    never_freed: blocks that are live at the end, by the bucket of their size.
    """

    events: list[int]
    time_ns: list[int]
    asked: Band
    stops: list[int]
    lives: Lives
    never_freed: list[int]
    rows: list[History]


class _Row:
    """A design's second pass: what is noted at each pixel and stop."""

    def __init__(self, simulator: Simulator, plan: Plan, used: Used) -> None:
        self.simulator, self.plan = simulator, plan
        self.map = AddressMap(plan, used, COLUMNS)
        self.committed: list[tuple[int, int, int]] = []
        self.resident: list[int] = []
        self.ledgers: list[Ledger] = []
        self.cells: list[I64] = []
        self.classes: list[I64] = []

    def end_pixel(self) -> None:
        scalars = self.simulator.state.scalars[0]
        self.committed.append(
            (int(scalars["committed_low"]), int(scalars["committed_high"]), int(scalars["committed"]))
        )
        scalars["committed_low"] = scalars["committed_high"] = scalars["committed"]
        if self.simulator.listener:
            self.resident.append(self.simulator.listener.counts().resident_bytes)

    def stop(self, lives: Lives) -> None:
        self.ledgers.append(ledger(self.simulator))
        cell = self.map.of(self.simulator, lives.born)
        is_block = cell.oldest >= 0
        born, size = (np.where(is_block, of[cell.oldest], -1) for of in (lives.born, lives.size))
        self.cells.append(np.stack([cell.live, cell.idle, cell.committed, cell.blocks, born, size, cell.oldest]))
        self.classes.append(_class_bytes(self.simulator, self.plan))

    def history(self, operations: int, hardware: Hardware | None) -> History:
        cells = np.stack(self.cells, axis=1)
        return History(
            simulation(self.simulator, operations, hardware),
            _band(self.committed),
            self.resident or None,
            self.ledgers,
            Maps(self.map.column_bytes, self.map.slab_bytes, *cells),
            ClassBytes(*np.stack(self.classes, axis=1)),
        )


class _Pixels:
    """Feeds chunks to all in pieces that end with a pixel."""

    def __init__(self, lives: Lives, rows: Sequence[_Row], ends: Sequence[int], stops: Sequence[int]) -> None:
        self.lives, self.rows, self.ends, self.stops = lives, rows, ends, frozenset(stops)
        self.pixel = self.done = 0
        self.asked: list[tuple[int, int, int]] = []
        self.time_ns: list[int] = []

    def feed(self, chunk: Chunk) -> None:
        """Do the events of a chunk."""
        first = 0
        while first < len(chunk.op):
            stop = min(len(chunk.op), self.ends[self.pixel] + 1 - self.done)
            part = chunk.part(first, stop)
            self.lives.feed(part)
            for row in self.rows:
                row.simulator.feed(part)
            if self.done + stop == self.ends[self.pixel] + 1:
                self._end_pixel(int(part.time_ns[-1]))
            first = stop
        self.done += len(chunk.op)

    def _end_pixel(self, time_ns: int) -> None:
        self.asked.append(self.lives.asked())
        self.time_ns.append(time_ns)
        for row in self.rows:
            row.end_pixel()
            if self.pixel in self.stops:
                row.stop(self.lives)
        self.pixel += 1


def histories(
    trace: Path, designs: Sequence[Design], *, hardware: Hardware | None = None, progress: Progress | None = None
) -> Histories:
    """Return what the heaps of the designs were at each pixel and stop: two passes over the trace.

    hardware: also follow resident bytes. Memory grows with the live blocks, and with pixels and
    columns. Raises BadInput if the trace is empty or damaged.
    """
    plans = [make_plan(design) for design in designs]
    rare = any(map(has_rare_choices, plans))
    with TraceReader(trace, sited=ask_sites(designs)) as reader:
        reader.require_blocks()
        events, blocks, threads = reader.footer.events, reader.footer.max_blocks, reader.footer.threads
        first = [warmed_up(plan, None, PROGRAM, rare) for plan in plans]
        operations = feed_all(reader, first, "simulating", progress).operations
        used = [used_by(simulator) for simulator in first]
        del first
        lives = Lives(blocks, threads)
        listeners = [Listener(hardware) if hardware else None for _ in plans]
        rows = [
            _Row(Simulator(plan, listener=listener, rare=rare), plan, space)
            for plan, listener, space in zip(plans, listeners, used, strict=True)
        ]
        ends = _even(events, PIXELS)
        stops = _even(len(ends), STOPS)
        pixels = _Pixels(lives, rows, ends, stops)
        feed_chunks(reader, [pixels], "drawing maps", progress, events)
    live = (rows[0].simulator.state.blocks["handle"] != DEAD)[:blocks]
    return Histories(
        ends,
        pixels.time_ns,
        _band(pixels.asked),
        stops,
        lives,
        lives.alive_by_size(live).tolist(),
        [row.history(operations, hardware) for row in rows],
    )


def _even(count: int, most: int) -> list[int]:
    """Return up to `most` evenly spaced numbers below `count`; the last is the greatest."""
    return sorted({number * count // most - 1 for number in range(1, most + 1)} - {-1})


def _band(points: Sequence[tuple[int, int, int]]) -> Band:
    low, high, last = (list(column) for column in zip(*points, strict=True))
    return Band(low, high, last)


def _class_bytes(simulator: Simulator, plan: Plan) -> I64:
    """Return (3, classes): live blocks, bytes asked for, blocks idle in fronts."""
    state, classes = simulator.state, plan.class_count
    small = state.blocks[(state.blocks["handle"] >= 0) & (state.blocks["handle"] < RUN_CODE)]
    cls = small["handle"] & layout.CLASS_MASK
    fronts = state.fronts[: state.heaps_made * classes]
    idle = (fronts["held"] + fronts["listed"]).reshape(-1, classes).sum(axis=0)
    asked = np.bincount(cls, weights=small["asked"], minlength=classes).astype(np.int64)
    return np.stack([np.bincount(cls, minlength=classes), asked, idle])
