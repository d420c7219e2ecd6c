"""The steps of a phase in an urn: drawn by their context, without being put back."""

from typing import NamedTuple

import numpy as np

from heapsmith.model.compile.cache import cached_njit
from heapsmith.model.trace.synth.contexts import COLUMNS
from heapsmith.model.trace.synth.fit import Phase
from heapsmith.model.trace.synth.ranks import I64, Pools
from heapsmith.model.trace.synth.steps import Steps

ORDERS = 3
"""What of a context counts: nothing; the last step and its run; the step before these and its run too."""
TRIES = 64
"""Steps of a context that are looked at before a shorter context serves."""
NOTHING = -1


class Urn(NamedTuple):
    """The steps left in a phase, in buckets of equal contexts for each order.

    order[k] has the items sorted by bucket. A bucket's items that are left come first.
    """

    step: I64  # of each item
    key: I64  # (ORDERS, buckets) the bucket's context, ascending
    begin: I64  # (ORDERS, buckets)
    left: I64  # (ORDERS, buckets)
    buckets: I64  # (ORDERS,)
    order: I64  # (ORDERS, items)
    at: I64  # (ORDERS, items) where in `order` an item is
    bucket: I64  # (ORDERS, items) the bucket of an item


class Levels(NamedTuple):
    """The blocks of each class since the beginning of the phase, and their bounds in it."""

    now: I64
    least: I64
    most: I64


class Past(NamedTuple):
    """The context of the next step, as one array: last step, its run, the step before, its run; and a random state."""

    context: I64
    random: I64


@cached_njit
def draw(random: I64, below: int) -> int:
    """Return a number from 0 to below - 1 (splitmix64 by Steele, Lea and Flood 2014)."""
    state = np.uint64(random[0]) + np.uint64(0x9E3779B97F4A7C15)
    random[0] = np.int64(state)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return int(np.int64((state ^ (state >> np.uint64(31))) >> np.uint64(1)) % below)


@cached_njit
def mixed(key: int, value: int) -> int:
    """Return a key for a key and one more number of a context."""
    state = (np.uint64(key) ^ np.uint64(value + 2)) * np.uint64(0x9E3779B97F4A7C15)
    return int(np.int64(state ^ (state >> np.uint64(29))))


@cached_njit
def keys_of(context: I64, out: I64) -> None:
    """Set `out` to the key of a context for each order."""
    out[0] = 0
    out[1] = mixed(mixed(1, context[0]), context[1])
    out[2] = mixed(mixed(out[1], context[2]), context[3])


@cached_njit
def _filled(step: I64, context: I64) -> Urn:
    """Return the urn of items with these steps and contexts."""
    items = step.size
    keys = np.empty((items, ORDERS), np.int64)
    for i in range(items):
        keys_of(context[i], keys[i])
    key, begin = np.empty((ORDERS, items), np.int64), np.zeros((ORDERS, items), np.int64)
    left, buckets = np.zeros((ORDERS, items), np.int64), np.zeros(ORDERS, np.int64)
    order, at = np.empty((ORDERS, items), np.int64), np.empty((ORDERS, items), np.int64)
    bucket = np.empty((ORDERS, items), np.int64)
    for k in range(ORDERS):
        order[k] = np.argsort(keys[:, k], kind="mergesort")
        b = -1
        for x in range(items):
            i = order[k, x]
            if b < 0 or keys[i, k] != key[k, b]:
                b += 1
                key[k, b], begin[k, b] = keys[i, k], x
            at[k, i], bucket[k, i] = x, b
            left[k, b] += 1
        buckets[k] = b + 1
    return Urn(step, key, begin, left, buckets, order, at, bucket)


def filled(phase: Phase) -> Urn:
    """Return the urn of a phase's rows."""
    fields = [(row.times, row.step, row.last, row.run, row.before, row.run_before) for row in phase.rows]
    table = np.array(fields, np.int64).reshape(-1, 2 + COLUMNS)
    rows = np.repeat(table[:, 1:], table[:, 0], axis=0)
    urn: Urn = _filled(np.ascontiguousarray(rows[:, 0]), np.ascontiguousarray(rows[:, 1:]))
    return urn


@cached_njit
def possible(step: int, steps: Steps, pools: Pools) -> bool:
    """Return whether there is a block for the step."""
    pool = steps.source[step]
    return bool(pool < 0 or pools.live[pool] > 0)


@cached_njit
def within(step: int, steps: Steps, levels: Levels) -> bool:
    """Return whether the step keeps the classes within their bounds."""
    gone, come = steps.minus[step], steps.plus[step]
    if gone >= 0 and levels.now[gone] <= levels.least[gone]:
        return False
    return bool(come < 0 or levels.now[come] < levels.most[come])


@cached_njit
def drawn(urn: Urn, past: Past, steps: Steps, pools: Pools, levels: Levels) -> int:
    """Take an item out of the urn and return its step; NOTHING if none is possible.

    The longest context that has a possible item within the bounds serves; where none has, the longest that has a
    possible one.
    """
    keys = np.empty(ORDERS, np.int64)
    keys_of(past.context, keys)
    for bounded in (True, False):
        for k in range(ORDERS - 1, -1, -1):
            b = np.searchsorted(urn.key[k, : urn.buckets[k]], keys[k])
            if b == urn.buckets[k] or urn.key[k, b] != keys[k] or urn.left[k, b] == 0:
                continue
            count = urn.left[k, b]
            first = draw(past.random, count)
            for tries in range(min(count, TRIES) if k else count):
                item = urn.order[k, urn.begin[k, b] + (first + tries) % count]
                step = urn.step[item]
                if possible(step, steps, pools) and (not bounded or within(step, steps, levels)):
                    _take(urn, item)
                    return int(step)
    return NOTHING


@cached_njit
def _take(urn: Urn, item: int) -> None:
    """Take the item out of its buckets."""
    for k in range(ORDERS):
        b = urn.bucket[k, item]
        urn.left[k, b] -= 1
        last, place = urn.begin[k, b] + urn.left[k, b], urn.at[k, item]
        other = urn.order[k, last]
        urn.order[k, place], urn.order[k, last] = other, item
        urn.at[k, other], urn.at[k, item] = place, last
