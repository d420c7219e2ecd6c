"""The state of the clocks (model/predict/clocks.py): records of threads, events to come, blocks and locks."""

from typing import NamedTuple

import numpy as np

from heapsmith.model.compile.kernel import Arrays, Bytes, Ints, Numbers, Records, one_record, record_type
from heapsmith.model.parts.charge import CHARGE
from heapsmith.model.trace.events import CHUNK_EVENTS, Op

SLOTS = 2 * CHUNK_EVENTS
"""The slots of events; behind them one for each thread, for its creation, which is the first thread's work."""
PARTS = 1 << 10
"""Times are integers of 1 / PARTS nanoseconds: a word holds three months."""
NOT_YET, COMES, RUNS, ENDED, JOINED = range(5)
NEVER = 1 << 62
NONE = -1

CREATE = len(Op)
"""The operation of the slots of creations."""
PARTS_SHIFT = 14
"""From charges (1 / UNIT nanoseconds) to PARTS."""

LOCKS = ("pool", "large")
POOL, LARGE, FIRST_SHARD = range(3)
"""The calendars: of the locks, of those of shards (transfer caches, then stores), then of the cores."""
SHARE_SHIFT = 10
"""Shares of a core are integers of 1 / 2**SHARE_SHIFT."""

CALENDAR = 4096
"""The entries that a calendar keeps; of older ones it knows nothing any more."""

THREAD = record_type(
    *("clock", "stamp", "before", "life", "share"),
    *("first", "last"),  # slots of its next event and of its last one so far
    *("due", "place"),  # when the next one begins, and the place in `turns`
    *("begins", "exits"),  # the numbers of its first event and of its exit in the trace, or 0
)
LINK = record_type(
    "next",  # the next event of the thread
    "waits",  # 1 while an event before it on its block is not done
    "waiter",  # the next event on the block
    "moved",  # locks that another thread had last in the order of the trace, a bit each
)
WINDOW = record_type("left", "opens", "ends")
"""A chunk in the slots: its events that are not done; since when and until when they are done."""
DONE = record_type("at", "by", "last")
"""A block: when the last event on it ended, whose it was, and the slot of the last one to come."""
LOCK = record_type(
    *("held", "wait", "waits"),
    *("last", "traced"),  # the thread that had it last, by the clocks and in the order of the trace
)
SUMS = (
    *("alive", "ready"),  # threads that run, and those that could go on
    *("entered", "until", "joins", "over"),  # see model/predict/event_order.py and clocks.py
    *("handover", "core_wait", "busy", "sum", "worst", "worst_path"),
)
"""The scalars that are 0 before the first event."""


class WaitCosts(NamedTuple):
    """What waiting costs besides the wait, in nanoseconds.

    spin: how long a thread looks at a lock before it sleeps (runtime/heap/2_system/lock.c: 111 pauses). wake: from
    the end of a hold until a thread that sleeps runs again. spawn: what a replay's creation, end
    and join of a thread take. shootdown: what a call that releases pages takes longer where other
    threads run, since the kernel interrupts their cores. target: what each of these loses. moved:
    what a lock takes that a thread on another core had last.
    """

    spin: float = 0.0
    wake: float = 0.0
    spawn: float = 0.0
    shootdown: float = 0.0
    target: float = 0.0
    moved: float = 0.0


NO_COSTS = WaitCosts()


class ClockState(Arrays):
    """The clocks, and the events that they have yet to follow.

    op to charges: columns of events by slot (model/predict/event_order.py); links: LINK by slot. windows:
    WINDOW of each of the two chunks in the slots. turns: the threads that could go on, of which
    there are `ready`. runners: THREAD by thread. done: DONE by block.
    begins and ends: CALENDAR entries for each calendar, of which the first `used` are in use.
    """

    op: Bytes
    thread: Numbers
    block: Numbers
    time_ns: Ints
    charges: Records
    links: Records
    windows: Records
    turns: Ints
    runners: Records
    done: Records
    begins: Ints
    ends: Ints
    used: Ints
    locks: Records
    counts: Ints
    scalars: Records


def new_state(
    threads: int, blocks: int, cores: int, *, paced: bool, costs: WaitCosts, shards: int, counts: int
) -> ClockState:
    """Return the state before the first event of a trace.

    threads, blocks: how many the trace has at most. counts: the number of the histogram's counters.
    """
    state = ClockState()
    locks, slots = FIRST_SHARD + 2 * shards, SLOTS + threads
    calendars = locks + min(cores, threads)
    prices = {name: round(cost * PARTS) for name, cost in costs._asdict().items()}
    state.scalars = one_record(
        **{"cores": cores, "threads": threads, "paced": int(paced), "shards": shards, "first_core": locks},
        **prices,
        **{name: 0 for name in SUMS},
    )
    state.runners, state.turns = np.zeros(threads, THREAD), np.zeros(threads, np.int64)
    for field in ("first", "last", "place"):
        state.runners[field] = NONE
    state.done = np.zeros(blocks, DONE)
    state.done["by"] = state.done["last"] = NONE
    state.op, state.time_ns = np.full(slots, CREATE, np.uint8), np.zeros(slots, np.int64)
    state.thread, state.block = (np.zeros(slots, np.uint32) for _ in range(2))
    state.charges, state.links, state.windows = np.zeros(slots, CHARGE), np.zeros(slots, LINK), np.zeros(2, WINDOW)
    state.begins, state.ends = (np.zeros(calendars * CALENDAR, np.int64) for _ in range(2))
    state.used, state.locks = np.zeros(calendars, np.int64), np.zeros(locks, LOCK)
    state.counts = np.zeros(counts, np.int64)
    return state
