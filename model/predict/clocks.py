"""Clocks: when each charged event begins and ends on a number of cores; waits for locks, blocks and cores.

Every thread has a clock, and of the threads the one whose next event begins first goes on
(model/predict/event_order.py). What begins first may come to a lock later. So a lock is a calendar of the
times at which it is held. An event that finds its lock free goes on although the calendar has later
holds; if its own hold reaches into the next, it waits as long as that holder would have waited for
it. Every hold takes its time in the calendar, so that no lock is held for more time than there is.
Cores are calendars too, whose times threads share in slices.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

import msgspec
import numpy as np

from heapsmith.model.compile.kernel import Records, compiled, kernel
from heapsmith.model.parts.charge import PATHS
from heapsmith.model.predict.calendars import book, end_of, free_at, overlap
from heapsmith.model.predict.clock_state import (
    ENDED,
    FIRST_SHARD,
    JOINED,
    LARGE,
    LOCKS,
    NO_COSTS,
    NONE,
    PARTS,
    PARTS_SHIFT,
    POOL,
    RUNS,
    SHARE_SHIFT,
    SLOTS,
    ClockState,
    WaitCosts,
    new_state,
)
from heapsmith.model.predict.core_sharing import meet_others, note_locks
from heapsmith.model.predict.event_order import becomes_ready, begins, enter, goes_on, has_to_join, leaves, soonest
from heapsmith.model.predict.histogram import BUCKETS, TICKS, Latency, bucket_of, latency_of
from heapsmith.model.trace.events import CHUNK_EVENTS, Chunk, Op

PARTS_IN_TICK = PARTS // TICKS
WAIT_PATHS = (*PATHS, "lock wait")
LOCK_WAIT = len(PATHS)
REALLOC, ALIGNED, FREE_SIZED, EXIT = int(Op.REALLOC), int(Op.ALIGNED), int(Op.FREE_SIZED), int(Op.THREAD_EXIT)


class LockWaits(msgspec.Struct, frozen=True):
    """What threads do at a lock: events that waited, nanoseconds of holds and waits, share of all waits."""

    waits: int
    held_ns: float
    wait_ns: float
    share: float


class Timing(msgspec.Struct, frozen=True):
    """A trace on a number of cores, in nanoseconds.

    wall_ns: from the first event to the last of the last thread. cpu_ns: of all threads, with what
    they spend on waiting for locks. handover_wait_ns: waits for another thread's event on the same block.
    core_wait_ns: waits for a core. latency: of operations with their waits for locks.
    """

    cores: int
    wall_ns: float
    cpu_ns: float
    ns_per_op: float
    lock_wait_ns_per_op: float
    locks: dict[str, LockWaits]
    handover_wait_ns: float
    core_wait_ns: float
    latency: Latency


@kernel
def create(state: ClockState, thread: int) -> int:
    """Begin a thread where the first thread is, once this has joined all that ended; return whether it has.

    Half of what its creation and end take is the first thread's time, half its own.
    With recorded times: as long after the first thread's last event as in the trace.
    """
    if state.paced == 1:
        since = max(0, int(state.runners[thread]["stamp"]) - int(state.runners[0]["stamp"]))
        state.runners[thread]["clock"] = int(state.runners[0]["clock"]) + since * PARTS
    elif has_to_join(state, thread) == 1:
        state.joins = 1
        leaves(state, 0)
        return 0
    else:
        for other in range(1, state.threads):
            if state.runners[other]["life"] == ENDED:
                state.runners[other]["life"] = JOINED
                state.runners[0]["clock"] = max(int(state.runners[0]["clock"]), int(state.runners[other]["clock"]))
        state.busy += state.spawn
        state.runners[0]["clock"] += state.spawn // 2
        state.runners[thread]["clock"] = int(state.runners[0]["clock"]) + state.spawn // 2
    state.alive += 1
    state.runners[thread]["life"] = RUNS
    becomes_ready(state, thread)
    state.until = 0
    return 1


@kernel
def arrive(state: ClockState, thread: int, event: int, own: int) -> int:
    """Return the thread's clock at an event of `own`, with the program's own time before the event."""
    if state.paced == 0:
        return begins(state, thread, event)
    now, stamp = int(state.runners[thread]["clock"]), int(state.time_ns[event])
    since = (stamp - int(state.runners[thread]["stamp"])) * PARTS
    now = of_the_program(state, thread, now, max(0, since - int(state.runners[thread]["before"])))
    state.runners[thread]["stamp"] = stamp
    state.runners[thread]["before"] = own
    return now


@kernel
def of_the_program(state: ClockState, thread: int, now: int, since: int) -> int:
    """Return the clock after the program's own time, of which a share takes a core."""
    ran = since * int(state.runners[thread]["share"]) >> SHARE_SHIFT
    now += since - ran
    return (on_core(state, now, ran) if state.alive > state.cores and ran > 0 else now) + ran


@kernel
def take_over(state: ClockState, thread: int, block: int, now: int) -> int:
    """Wait for another thread's event on the block; return when the wait ends."""
    ready = int(state.done[block]["at"])
    if state.done[block]["by"] == thread or ready <= now:
        return now
    state.handover += ready - now
    return ready


@kernel
def on_core(state: ClockState, now: int, own: int) -> int:
    """Take time of the core on which it ends first; return when an event would begin to end then."""
    chosen = int(state.first_core)
    for row in range(state.first_core + 1, state.first_core + state.cores):
        if end_of(state, row, now, own) < end_of(state, chosen, now, own):
            chosen = row
    begin = end_of(state, chosen, now, own) - own
    book(state, chosen, now, own)
    state.core_wait += begin - now
    return begin


@kernel
def hold(state: ClockState, lock: int, now: int, length: int) -> int:
    """Hold a lock for `length` once it is free; return the wait."""
    start = free_at(state, lock, now)
    if start - now > state.spin:
        start = free_at(state, lock, start + state.wake)
        state.busy += state.wake
    wait = start - now + overlap(state, lock, start, length)
    book(state, lock, start, length)
    state.busy += min(wait, state.spin)
    state.locks[lock]["held"] += length
    state.locks[lock]["wait"] += wait
    state.locks[lock]["waits"] += wait > 0
    return wait


@kernel
def hold_shards(state: ClockState, first: int, shards: int, now: int, length: int) -> int:
    """Hold the locks of some shards, a bit each, one after the other for equal parts of `length`; return the waits."""
    count = 0
    for shard in range(state.shards):
        count += shards >> shard & 1
    waits, part, at = 0, length // max(1, count), now
    for shard in range(state.shards):
        if shards >> shard & 1 == 1:
            wait = hold(state, first + shard, at, part)
            waits += wait
            at += wait + part
    return waits


@kernel
def of_shards(state: ClockState, event: int, now: int, pool: int) -> int:
    """Hold the locks of an event's shards, a store's also for the time under the pool lock; return the waits."""
    store = int(state.charges[event]["store"]) >> PARTS_SHIFT
    cache = int(state.charges[event]["cache"]) >> PARTS_SHIFT
    waits = 0
    if cache > 0:
        waits += hold_shards(state, FIRST_SHARD, int(state.charges[event]["caches"]), now, cache)
    if store > 0:
        first = FIRST_SHARD + int(state.shards)
        waits += hold_shards(state, first, int(state.charges[event]["stores"]), now + waits + cache, store + pool)
    return waits


@kernel
def finish(state: ClockState, event: int, now: int, waited: int) -> None:
    """Note that an operation ended now."""
    own = int(state.charges[event]["alone"]) >> PARTS_SHIFT
    block = int(np.int64(state.block[event]))
    state.done[block]["at"] = now
    state.done[block]["by"] = int(np.int64(state.thread[event]))
    path = LOCK_WAIT if waited > own else int(state.charges[event]["path"])
    state.counts[path * BUCKETS + bucket_of((own + waited) // PARTS_IN_TICK)] += 1
    state.sum += own + waited
    if own + waited > state.worst:
        state.worst = own + waited
        state.worst_path = path


@kernel
def end(state: ClockState, thread: int) -> None:
    """End a thread; the first thread may wait for that."""
    state.runners[thread]["life"] = ENDED
    state.alive -= 1
    if state.joins == 1:
        state.joins = 0
        becomes_ready(state, 0)
        state.until = 0


@kernel
def do(state: ClockState, thread: int, event: int) -> None:
    """Do a thread's next event."""
    kind = int(np.int64(state.op[event]))
    meet_others(state, thread, event)
    own = int(state.charges[event]["own"]) >> PARTS_SHIFT
    pool = int(state.charges[event]["pool"]) >> PARTS_SHIFT
    large = int(state.charges[event]["large"]) >> PARTS_SHIFT
    now = arrive(state, thread, event, own)
    if kind == REALLOC or ALIGNED < kind <= FREE_SIZED:
        now = take_over(state, thread, int(np.int64(state.block[event])), now)
    if state.alive > state.cores and own > 0:
        now = on_core(state, now, own)
    begun = now
    if state.shards > 0:
        now += of_shards(state, event, now, pool)
    now += own - pool - large
    if pool > 0:
        now += hold(state, POOL, now, pool) + pool
    if large > 0:
        now += hold(state, LARGE, now, large) + large
    state.busy += own
    state.runners[thread]["clock"] = now
    if kind <= FREE_SIZED:
        finish(state, event, now, now - begun - own)
    elif kind == EXIT and state.runners[thread]["life"] == RUNS:
        end(state, thread)


@kernel
def step(state: ClockState, thread: int) -> int:
    """Do a thread's next event, or the next creation of a thread; return whether its next one is the soonest too."""
    event = int(state.runners[thread]["first"])
    if event < SLOTS:
        do(state, thread, event)
    elif create(state, event - SLOTS) == 0:
        return 0
    goes_on(state, thread, event)
    return int(state.runners[thread]["place"] != NONE and state.runners[thread]["due"] < state.until)


@kernel
def advance(state: ClockState, window: int) -> None:
    """Do events until all of a chunk are done."""
    while state.windows[window]["left"] > 0:
        thread, goes = soonest(state), 1
        while goes == 1:
            goes = step(state, thread)


@kernel
def follow(state: ClockState, window: int, events: int) -> None:
    """Take the events of a chunk from their slots on, and do those of the other chunk."""
    state.over = max(state.over, int(state.windows[window]["ends"]))
    state.windows[window]["opens"] = state.over
    state.windows[window]["left"] = events
    first = window * CHUNK_EVENTS
    for event in range(first, first + events):
        note_locks(state, event)
        enter(state, event)
    advance(state, 1 - window)


@kernel
def finish_all(state: ClockState) -> None:
    """Do all events."""
    advance(state, 0)
    advance(state, 1)


_compiled = cache(compiled)


class Clocks:
    """The clocks of a trace's threads on `cores` cores; `shards`: those of the design's store, or 0.

    paced: the program spends its own time between its events, by the trace's stamps; otherwise it
    replays, and spends none. `let_run` says how much of that time takes a core.
    """

    def __init__(
        self,
        threads: int,
        blocks: int,
        cores: int,
        *,
        paced: bool = False,
        costs: WaitCosts = NO_COSTS,
        shards: int = 0,
    ) -> None:
        counts = len(WAIT_PATHS) * BUCKETS
        self.state = new_state(threads, blocks, cores, paced=paced, costs=costs, shards=shards, counts=counts)
        self.window = 0

    def let_run(self, shares: Sequence[float]) -> None:
        """Set the share of the recorded time in which each of the first threads ran; the others always slept."""
        known = min(len(shares), len(self.state.runners))
        self.state.runners["share"][:known] = np.rint(np.clip(shares[:known], 0, 1) * np.float64(1 << SHARE_SHIFT))

    def follow(self, chunk: Chunk, charges: Records) -> None:
        """Follow the events of a chunk, with their charges (model/parts/charge.py), and do those before."""
        run: Any = _compiled(follow)
        for first in range(0, len(chunk.op), CHUNK_EVENTS):
            part = chunk.part(first, first + CHUNK_EVENTS)
            slots = slice(self.window * CHUNK_EVENTS, self.window * CHUNK_EVENTS + len(part.op))
            for column in ("op", "thread", "block", "time_ns"):
                getattr(self.state, column)[slots] = getattr(part, column)
            self.state.charges[slots] = charges[first : first + CHUNK_EVENTS]
            run(self.state, self.window, len(part.op))
            self.window = 1 - self.window

    def _waits(self, rows: slice, all_waits: int) -> LockWaits:
        """Return what threads did at some of the locks."""
        waits, held, wait = (int(self.state.locks[field][rows].sum()) for field in ("waits", "held", "wait"))
        return LockWaits(waits, held / PARTS, wait / PARTS, wait / all_waits if all_waits else 0.0)

    def timing(self, operations: int) -> Timing:
        """Do all events, and return what the clocks show after `operations` operations."""
        run: Any = _compiled(finish_all)
        run(self.state)
        state, per = self.state, 1 / max(1, operations)
        all_waits = int(state.locks["wait"].sum())
        first = FIRST_SHARD + state.shards
        rows = {name: slice(row, row + 1) for row, name in enumerate(LOCKS)}
        rows |= {"transfer caches": slice(FIRST_SHARD, first), "stores": slice(first, None)} if state.shards else {}
        locks = {name: self._waits(row, all_waits) for name, row in rows.items()}
        wall = int(state.runners["clock"].max(initial=0)) / PARTS
        cpu = state.busy / PARTS
        counts = state.counts.reshape(len(WAIT_PATHS), BUCKETS)
        latency = latency_of(counts, WAIT_PATHS, state.sum / PARTS, state.worst / PARTS, state.worst_path)
        waits = (state.handover / PARTS, state.core_wait / PARTS)
        return Timing(state.cores, wall, cpu, wall * per, all_waits / PARTS * per, locks, *waits, latency)
