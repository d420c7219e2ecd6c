"""Charge: the price of each event, from the counters that it moved; compiled into the loop of rare choices alone.

A meter has a row for each counter that has a price: where the counter lies, its price, and how much
of the price falls due under a lock (model/predict/counter_prices.py makes them). After an event, each
counter that has moved since it was last looked at is charged to the event. So the charges of all
events add up to the price of the counters. Prices are integers of 1 / UNIT nanoseconds.
"""

from heapsmith.model.compile.kernel import hit_path, kernel, record_type
from heapsmith.model.memory import layout
from heapsmith.model.memory import listener_words as words
from heapsmith.model.memory.layout import RUN_CODE
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import CACHES, SINK
from heapsmith.model.parts.counters import COUNTS
from heapsmith.model.parts.moments import event_charged

UNIT = 1 << 24

METER = record_type(
    "word",  # the counter's place in its array
    "weight",  # price of one count
    "alone",  # the same in an operation by itself
    "pool",  # of this, under the pool lock
    "large",  # under the large lock
    "store",  # where there are shards, under the lock of one's store
    "cache",  # and under the lock of one's transfer cache
    "shared",  # under whichever of the two the event holds
    "release",  # calls that give back or unmap pages
    "held",  # of these, under a lock
    "path",  # place in PATHS
    "seen",  # the counter when it was last charged
)
"""The rows of a meter: scalars of the state, then words of the listener, that of growth, COUNTS of each class."""

CHARGE = record_type("own", "pool", "large", "path", "alone", "releases", "held", "store", "cache", "stores", "caches")
"""The charge of an event: its price among others and how much of it under each lock; the path that makes up most of
its price by itself, and this price, without what falls due before the operation begins; its calls that give back or
unmap pages, and how many of these under a lock. Where there are shards: its price under locks of their stores and
transfer caches, and which these are, a bit each.
"""

PATHS = (
    "hit",
    "level 1",
    "refill or flush",
    "remote free",
    "slab carve",
    "slab",
    "superslab map",
    "run",
    "huge mapping",
    "release",
    "page fault",
    "cache miss",
    "branch miss",
    "cold code",
    "bytes moved",
    "thread",
    "background",
)
"""What an event may spend its time on; a wait for a lock comes besides (model/predict/clocks.py)."""
CLASS_ROWS = len(COUNTS)
PAGE_SHIFT = 12


@hit_path
def any_class(state: State) -> None:
    """Note that the event may move counters of other classes than those of its blocks."""
    if SINK == CACHES and state.charging > 0:
        state.charge_all = 1


@kernel
def charge_row(state: State, row: int, now: int) -> None:
    """Charge what a counter has moved."""
    change = now - int(state.meter[row]["seen"])
    if change != 0:
        state.meter[row]["seen"] = now
        alone = change * int(state.meter[row]["alone"])
        state.charged += change * int(state.meter[row]["weight"])
        state.charged_alone += alone
        state.charged_pool += change * int(state.meter[row]["pool"])
        state.charged_large += change * int(state.meter[row]["large"])
        state.charged_shared += change * int(state.meter[row]["shared"])
        state.charged_releases += change * int(state.meter[row]["release"])
        state.charged_held += change * int(state.meter[row]["held"])
        state.charged_store += change * int(state.meter[row]["store"])
        state.charged_cache += change * int(state.meter[row]["cache"])
        state.paths[int(state.meter[row]["path"])] += alone


@kernel
def charge_touches(state: State) -> int:
    """Charge misses and faults since the last look; return their price."""
    before = state.charged
    for row in range(state.meter_touches, state.meter_growth):
        charge_row(state, row, int(state.listener[int(state.meter[row]["word"])]))
    peak = int(state.listener[words.RESIDENT_PEAK]) >> PAGE_SHIFT
    charge_row(state, state.meter_growth, min(int(state.listener[words.FAULTS_4K]), peak))
    return int(state.charged - before)


@hit_path
def were_the_librarys(state: State) -> None:
    """Charge the touches so far to the library; those that follow in this event are the program's."""
    if SINK == CACHES and state.charging > 0:
        state.charged_missed += charge_touches(state)
        state.charge_rest = 1


@hit_path
def were_the_programs(state: State) -> None:
    """Charge the touches so far to the program; those that follow in this event are the library's."""
    if SINK == CACHES and state.charging > 0:
        charge_touches(state)


@kernel
def largest(state: State) -> int:
    """Return the path with the largest charge, and forget all."""
    found = 0
    for path in range(1, len(PATHS)):
        if state.paths[path] > state.paths[found]:
            found = path
    for path in range(len(PATHS)):
        state.paths[path] = 0
    return found


@hit_path
def were_the_replays(state: State) -> None:
    """Charge the touches so far to the replay, which reads its script and its table before the operation begins."""
    if SINK == CACHES and state.charging > 0:
        before = state.charged_alone
        charge_touches(state)
        state.charged_before = state.charged_alone - before
        largest(state)


@kernel
def charge_class(state: State, cls: int) -> None:
    """Charge the counters of a class."""
    first = state.meter_classes + cls * CLASS_ROWS
    for row in range(first, first + CLASS_ROWS):
        charge_row(state, row, int(state.class_words[int(state.meter[row]["word"])]))


@kernel
def charge_classes(state: State, old: int, new: int) -> None:
    """Charge the counters of the classes of two blocks, or of all classes."""
    if state.charge_all == 1:
        state.charge_all = 0
        for cls in range(state.class_count):
            charge_class(state, cls)
        return
    if 0 <= old < RUN_CODE:
        charge_class(state, old & layout.CLASS_MASK)
    if 0 <= new < RUN_CODE:
        charge_class(state, new & layout.CLASS_MASK)


@kernel
def charge(state: State, event: int, is_operation: int, old: int, new: int) -> None:
    """Write the charge of an event, which freed block `old` and made block `new` (below 0: none)."""
    rest = charge_touches(state)
    if state.charge_rest == 0:
        state.charged_missed += rest
    state.charge_rest = 0
    for row in range(state.meter_touches):
        charge_row(state, row, int(state.scalar_words[int(state.meter[row]["word"])]))
    charge_classes(state, old, new)
    if is_operation == 1:
        state.charged += state.meter_operation
        state.charged_alone += state.meter_operation_alone
        state.paths[0] += state.meter_operation_alone
    event_charged(state, event)
    pool, large = state.charged_pool, state.charged_large
    if pool > 0:
        pool += state.charged_shared + (1 - state.owned) * state.charged_missed
    elif large > 0:
        large += state.charged_shared + state.charged_missed
    state.charges[event]["own"] = max(0, state.charged)
    state.charges[event]["pool"] = max(0, min(pool, state.charged))
    state.charges[event]["large"] = max(0, min(large, state.charged))
    state.charges[event]["path"] = largest(state)
    state.charges[event]["alone"] = max(0, state.charged_alone - state.charged_before)
    state.charges[event]["releases"] = state.charged_releases
    state.charges[event]["held"] = state.charged_held
    state.charged = state.charged_pool = state.charged_large = state.charged_shared = state.charged_missed = 0
    state.charged_alone = state.charged_before = state.charged_releases = state.charged_held = 0
