"""Regions of their own: a group's blocks on a heap of one design, all other blocks on a second one."""

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from heapsmith.model.design.design import Design
from heapsmith.model.design.plan import make_plan
from heapsmith.model.memory.hardware import Hardware
from heapsmith.model.predict.page_pins import Pins, pins
from heapsmith.model.predict.pins_at_moments import Grouped, fresh, pieces
from heapsmith.model.predict.simulate import Progress
from heapsmith.model.trace.events import Chunk, Op
from heapsmith.model.trace.reader import TraceReader
from heapsmith.model.trace.site_lives import GROUP_OF, NO_GROUP, SiteLives

Flags = npt.NDArray[np.bool_]


class Held(msgspec.Struct, frozen=True):
    """Bytes of two heaps' pages together after an event (as in Pins), and of them those kept by live blocks."""

    event: int
    bytes: int
    kept: int


class Region(msgspec.Struct, frozen=True):
    """A set of groups with a region of its own: what is held after the events that were asked for.

    looks: requests of the size classes of its blocks, its own and all others, whose caller a design must look up.
    """

    held: list[Held]
    looks: int


def apart(
    grouped: Grouped,
    design: Design,
    chosen: Sequence[frozenset[int]],
    events: Sequence[int],
    *,
    hardware: Hardware | None = None,
    progress: Progress | None = None,
) -> list[Region]:
    """Return, for each set of groups, what two heaps hold after these events: one pass.

    One heap of the design has the blocks of the set's groups, the other heap all other blocks. A
    realloc that moves a block from one to the other is a malloc there and a free here.
    """
    plans = [make_plan(design)] * (2 * len(chosen))
    simulators = fresh(plans, hardware)
    found: list[list[Held]] = [[] for _ in chosen]
    plan = plans[0]
    of_size = np.array([*plan.size_class, -1])
    asked = np.zeros((len(chosen), 2, plans[0].class_count + 1), np.int64)
    with TraceReader(grouped.trace) as reader:
        lives = SiteLives(reader.footer.max_blocks, grouped.group_of_site, grouped.groups)
        for part, site in pieces(reader, set(events)):
            step = lives.feed(part, site)
            now = lives.of_block[GROUP_OF]
            entry = (part.size + (plan.bias + plan.grain - 1)) // plan.grain
            row = of_size[np.minimum(entry, len(of_size) - 1)]  # the last: it has no class
            for number, own in enumerate(chosen):
                pair = simulators[2 * number : 2 * number + 2]
                is_own = np.isin(np.arange(grouped.groups), list(own))
                for whose, births in enumerate((part.op < Op.FREE, (part.op < Op.FREE) & is_own[step.group])):
                    asked[number, whose] += np.bincount(1 + row[births], minlength=asked.shape[2])
                for simulator, is_here in zip(pair, (is_own, ~is_own), strict=True):
                    enters = (part.op < Op.FREE) & is_here[step.group]
                    leaves = (step.before != NO_GROUP) & is_here[step.before]
                    simulator.feed(share(part, enters, leaves))
                if lives.events - 1 in events:
                    found[number].append(_held([pins(one, now, grouped.groups) for one in pair], lives.events - 1))
            if progress:
                progress("simulating regions", lives.events, reader.footer.events)
    looks = [int(every[1:][own[1:] > 0].sum()) for every, own in asked]
    return [Region(held, count) for held, count in zip(found, looks, strict=True)]


def share(chunk: Chunk, enters: Flags, leaves: Flags) -> Chunk:
    """Return the events of a chunk on one of several heaps: their blocks enter it, leave it, or are resized in it."""
    op = chunk.op.copy()
    op[(chunk.op == Op.REALLOC) & ~leaves] = Op.MALLOC
    op[(chunk.op == Op.REALLOC) & ~enters] = Op.FREE
    here = enters | leaves | (chunk.op >= Op.THREAD_START)
    shared = chunk._replace(op=op, size=np.where(op == Op.FREE, 0, chunk.size))
    columns: list[Any] = [column[here] for column in shared]
    return Chunk(*columns)


def _held(pair: Sequence[Pins], event: int) -> Held:
    return Held(event, sum(one.bytes for one in pair), sum(one.bytes - one.idle for one in pair))
