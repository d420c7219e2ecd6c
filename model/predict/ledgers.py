"""Ledgers of a trace: what each design's bytes are for, at its peak, on average, at the end, after any event."""

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

import msgspec

from heapsmith.model.design.design import ask_sites
from heapsmith.model.design.plan import Plan
from heapsmith.model.errors import BadInput
from heapsmith.model.heap.ledger import Ledger, ledger, mean
from heapsmith.model.heap.simulator import Simulator
from heapsmith.model.memory.application import Application
from heapsmith.model.memory.hardware import Hardware
from heapsmith.model.memory.listener import Listener
from heapsmith.model.predict.simulate import Progress, SimulationTable, feed_chunks
from heapsmith.model.trace.reader import Chunk, TraceReader, require_events

STOPS = 200
"""Ledgers of which the average is taken."""

PIECE = 512
"""Events between two looks at the resident peak."""


class Stop(msgspec.Struct, frozen=True):
    """The ledger after an event, numbered from 0."""

    event: int
    bytes: Ledger


class Ledgers(msgspec.Struct, frozen=True):
    """The ledgers of a design on a trace.

    peak: after the event in which committed bytes (with hardware: resident bytes) peaked. stops:
    evenly spaced events, after which the ledgers were taken that `average` is the mean of.
    """

    peak: Stop
    average: Ledger
    stops: int
    end: Stop
    at: list[Stop]


class LedgerTable(msgspec.Struct, frozen=True):
    """The ledgers of designs on a trace, in the order of their simulations."""

    simulated: SimulationTable
    ledgers: list[Ledgers]


class _Stopping:
    """A simulator that stops after given events; `found` has the ledger of each.

    In `watched` it stops after each event: `peak_event` becomes the first after which the peak of
    the resident bytes is `peak`.
    """

    def __init__(self, simulator: Simulator, events: Collection[int], watched: range, peak: int) -> None:
        self.simulator, self.watched, self.peak = simulator, watched, peak
        self.wanted = frozenset(events)
        self.stops = sorted(self.wanted.union(watched), reverse=True)
        self.found: dict[int, Ledger] = {}
        self.peak_event = -1
        self.done = 0

    def feed(self, chunk: Chunk) -> None:
        """Do the events of a chunk."""
        first, end = 0, len(chunk.op)
        while self.stops and self.stops[-1] < self.done + end:
            event = self.stops.pop()
            self.simulator.feed(chunk.part(first, event + 1 - self.done))
            first = event + 1 - self.done
            is_peak = event in self.watched and self.peak_event < 0 and _resident_peak(self.simulator) == self.peak
            if is_peak:
                self.peak_event = event
            if is_peak or event in self.wanted:
                self.found[event] = ledger(self.simulator)
        if first < end:
            self.simulator.feed(chunk.part(first, end))
        self.done += end


class _Peaking:
    """A simulator with hardware; `piece` is that of the events in which its resident bytes peaked."""

    def __init__(self, simulator: Simulator) -> None:
        self.simulator = simulator
        self.piece = range(1)
        self.peak = self.done = 0

    def feed(self, chunk: Chunk) -> None:
        """Do the events of a chunk."""
        for first in range(0, len(chunk.op), PIECE):
            part = chunk.part(first, first + PIECE)
            self.simulator.feed(part)
            if _resident_peak(self.simulator) > self.peak:
                self.peak = _resident_peak(self.simulator)
                self.piece = range(self.done, self.done + len(part.op))
            self.done += len(part.op)


def _resident_peak(simulator: Simulator) -> int:
    return simulator.listener.counts().resident_peak if simulator.listener else 0


def with_ledgers(
    table: SimulationTable,
    plans: Sequence[Plan],
    hardware: Hardware | None,
    application: Application,
    *,
    at: Sequence[int] = (),
    progress: Progress | None = None,
) -> LedgerTable:
    """Return the ledgers of a simulation: a second pass over its trace, with hardware a third.

    The table must come from `simulate` with this hardware and application, and `plans` be those of
    its rows. at: events after which a ledger is wanted too. Raises BadInput for an event beyond the
    trace, and if the trace is empty or damaged.
    """
    last = table.events - 1
    if last < 0:
        raise BadInput(f"{table.trace}: no events, so no bytes to tell of")
    require_events(table.trace, table.events, at)

    def simulator(plan: Plan) -> Simulator:
        return Simulator(plan, listener=Listener(hardware) if hardware else None, application=application)

    peaking = [_Peaking(simulator(plan)) for plan in plans]
    if hardware:
        _feed(table, peaking, "looking for the peak", progress)
    even = _even(table.events)
    followers = []
    for plan, row, one in zip(plans, table.rows, peaking, strict=True):
        wanted = {*even, *at}
        if not hardware:
            wanted.add(row.statistics.peak_committed.event)
        watched = one.piece if hardware else range(0)
        followers.append(_Stopping(simulator(plan), wanted, watched, one.peak))
    _feed(table, followers, "counting bytes", progress)
    peaks = [one.peak_event for one in followers]
    if not hardware:
        peaks = [row.statistics.peak_committed.event for row in table.rows]
    return LedgerTable(table, [_ledgers(one, peak, even, at) for one, peak in zip(followers, peaks, strict=True)])


def ledgers_of(simulator: Simulator, chunks: Iterable[Chunk], events: int, peak_event: int) -> Ledgers:
    """Return the ledgers of a new simulator on a trace of that many events, whose committed peak is known."""
    even = _even(events)
    stopping = _Stopping(simulator, {*even, peak_event}, range(0), 0)
    for chunk in chunks:
        stopping.feed(chunk)
    return _ledgers(stopping, peak_event, even, [])


def _even(events: int) -> list[int]:
    """Return the evenly spaced events of which the average is taken; the last ends the trace."""
    return sorted({number * events // STOPS - 1 for number in range(1, STOPS + 1)} - {-1})


def _feed(
    table: SimulationTable, followers: Sequence[_Peaking] | Sequence[_Stopping], what: str, progress: Progress | None
) -> None:
    asked = ask_sites(one.simulator.plan.design for one in followers)
    with TraceReader(Path(table.trace), sited=asked) as reader:
        feed_chunks(reader, followers, what, progress, table.events)


def _ledgers(one: _Stopping, peak: int, even: Sequence[int], at: Sequence[int]) -> Ledgers:
    return Ledgers(
        Stop(peak, one.found[peak]),
        mean([one.found[stop] for stop in even]),
        len(even),
        Stop(even[-1], one.found[even[-1]]),
        [Stop(stop, one.found[stop]) for stop in at],
    )
