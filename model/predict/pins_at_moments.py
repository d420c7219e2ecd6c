"""Moments of heaps on a trace with sites: what keeps their pages at the peak, after it, at the end, after any event."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from heapsmith.model.design.design import Design
from heapsmith.model.design.plan import Plan, make_plan
from heapsmith.model.heap.simulator import Simulator, has_rare_choices
from heapsmith.model.memory.application import PROGRAM
from heapsmith.model.memory.hardware import Hardware
from heapsmith.model.predict.page_pins import I64, Pins, pins, waste
from heapsmith.model.predict.simulate import Progress, warmed_up
from heapsmith.model.trace.codec import U32
from heapsmith.model.trace.events import Chunk
from heapsmith.model.trace.reader import TraceReader, require_events
from heapsmith.model.trace.site_lives import GROUP_OF, SiteLives, call_tree

STOPS = 200
"""Moments after the peak at which waste is looked at, the peak and the end among them."""


class Grouped(msgspec.Struct, frozen=True):
    """The sites of a trace in groups. group_of_site: of each site, 0 among them."""

    trace: Path
    group_of_site: I64
    groups: int


class Moments(msgspec.Struct, frozen=True):
    """A design's heap at the peak of the live bytes, at the worst moment after it, at the end, and when asked for.

    The worst moment is that of STOPS at which live blocks keep most bytes that they did not ask for.
    """

    design: str
    hash: str
    peak: Pins
    after: Pins
    end: Pins
    at: list[Pins]


def site_lives(grouped: Grouped, progress: Progress | None = None, last: int | None = None) -> SiteLives:
    """Return the lives of a trace's blocks by group: one pass, up to event `last` or the end.

    Raises BadInput if the trace is empty, damaged or without stacks, or ends before `last`.
    """
    with TraceReader(grouped.trace) as reader:
        call_tree(reader)
        events = reader.footer.events
        require_events(grouped.trace, events, [] if last is None else [last])
        lives = SiteLives(reader.footer.max_blocks, grouped.group_of_site, grouped.groups)
        for part, site in pieces(reader, set() if last is None else {last}):
            lives.feed(part, site)
            if progress:
                progress("following blocks", lives.events, events)
            if lives.events - 1 == last:
                break
    return lives


def moments(
    grouped: Grouped,
    designs: Sequence[Design],
    peak_event: int,
    *,
    hardware: Hardware | None = None,
    at: Sequence[int] = (),
    progress: Progress | None = None,
) -> list[Moments]:
    """Return the moments of each design: one pass. `peak_event` is that of `site_lives(grouped).peak()`.

    hardware: count resident bytes. at: further events. Raises BadInput for an event beyond the trace.
    """
    plans = [make_plan(design) for design in designs]
    with TraceReader(grouped.trace) as reader:
        last = reader.footer.events - 1
        require_events(grouped.trace, last + 1, at)
        even = {peak_event + (last - peak_event) * number // (STOPS - 1) for number in range(STOPS)}
        simulators = fresh(plans, hardware)
        lives = SiteLives(reader.footer.max_blocks, grouped.group_of_site, grouped.groups)
        found: list[dict[int, Pins]] = [{} for _ in plans]
        after: dict[int, tuple[int, Pins]] = {}
        for part, site in pieces(reader, even.union(at)):
            lives.feed(part, site)
            event = lives.events - 1
            for row, simulator in enumerate(simulators):
                simulator.feed(part)
                if event in at or event in (peak_event, last):
                    found[row][event] = pins(simulator, lives.of_block[GROUP_OF], grouped.groups)
                if event in even and (row not in after or waste(simulator) > after[row][0]):
                    now = pins(simulator, lives.of_block[GROUP_OF], grouped.groups)
                    after[row] = waste(simulator), now
            if progress:
                progress("simulating", lives.events, reader.footer.events)
    return [
        Moments(plan.design.name, plan.hash, own[peak_event], after[row][1], own[last], [own[event] for event in at])
        for row, (plan, own) in enumerate(zip(plans, found, strict=True))
    ]


def fresh(plans: Sequence[Plan], hardware: Hardware | None) -> list[Simulator]:
    """Return new simulators of one pass."""
    rare = any(map(has_rare_choices, plans))
    return [warmed_up(plan, hardware, PROGRAM, rare) for plan in plans]


def pieces(reader: TraceReader, stops: set[int]) -> Iterator[tuple[Chunk, U32]]:
    """Yield all events with their sites, in pieces that end at the latest with a chunk or one of these events."""
    ahead, done = sorted(stops, reverse=True), 0
    for chunk, site in reader.sited():
        first, count = 0, len(site)
        while first < count:
            stop = count
            if ahead and ahead[-1] < done + count:
                stop = ahead.pop() + 1 - done
            yield chunk.part(first, stop), site[first:stop]
            first = stop
        done += count
