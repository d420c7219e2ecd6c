"""Live blocks by pool, in the order of their births: a block's rank, and the block of a rank, in logarithmic time."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from heapsmith.model.compile.cache import cached_njit

I64 = npt.NDArray[np.int64]

SPARE = 16
"""Places that a pool has beyond what it needs."""


class Pools(NamedTuple):
    """Pools of live blocks. Pool p has the places first[p] .. first[p] + room[p] - 1 of `tree` and `block`.

    A birth takes the pool's next place, a death leaves its place empty. `tree` is a binary indexed tree per pool
    (Fenwick 1994) over its places: how many of them have a live block.
    """

    first: I64
    room: I64
    live: I64  # blocks
    next: I64  # the place of the next birth
    cursor: I64  # the place of the last death, or -1
    tree: I64
    block: I64  # of each place
    place: I64  # of each block
    end: I64  # one number: the places that pools have


def fresh(pools: int, blocks: int) -> Pools:
    """Return this many empty pools, and room for block numbers below `blocks`."""
    none = np.zeros(pools, np.int64)
    return Pools(
        none,
        none.copy(),
        none.copy(),
        none.copy(),
        none - 1,
        np.zeros(1024, np.int64),
        np.zeros(1024, np.int64),
        np.zeros(blocks, np.int64),
        np.zeros(1, np.int64),
    )


def grown(pools: Pools, blocks: int) -> Pools:
    """Return the pools with twice as many places, and room for block numbers below `blocks`."""
    place = np.zeros(max(blocks, pools.place.size), np.int64)
    place[: pools.place.size] = pools.place
    none = np.zeros_like(pools.tree)
    return pools._replace(
        tree=np.concatenate((pools.tree, none)), block=np.concatenate((pools.block, none)), place=place
    )


@cached_njit
def add(pools: Pools, pool: int, place: int, change: int) -> None:
    """Add `change` to the live blocks at a place of a pool."""
    first, at = pools.first[pool] - 1, place + 1
    while at <= pools.room[pool]:
        pools.tree[first + at] += change
        at += at & -at


@cached_njit
def rank_behind(pools: Pools, pool: int, place: int) -> int:
    """Return how many live blocks of the pool are younger than the one at `place`, which may be -1 or empty."""
    first, at, before = pools.first[pool] - 1, place + 1, 0
    while at > 0:
        before += pools.tree[first + at]
        at -= at & -at
    return int(pools.live[pool] - before)


@cached_njit
def place_of(pools: Pools, pool: int, rank: int) -> int:
    """Return the place of the live block that has `rank` younger ones in its pool."""
    first, left, at, step = pools.first[pool] - 1, pools.live[pool] - 1 - rank, 0, 1
    while step * 2 <= pools.room[pool]:
        step *= 2
    while step:
        if at + step <= pools.room[pool] and pools.tree[first + at + step] <= left:
            at += step
            left -= pools.tree[first + at]
        step >>= 1
    return at


@cached_njit
def has_room(pools: Pools, pool: int) -> bool:
    """Make room for a birth in the pool, whose blocks get new places; False where `grown` is needed first."""
    return bool(pools.next[pool] < pools.room[pool] or _moved(pools, pool))


@cached_njit
def enter(pools: Pools, pool: int, block: int) -> None:
    """Make `block` the youngest of the pool, which has room."""
    place = pools.next[pool]
    pools.next[pool] = place + 1
    pools.live[pool] += 1
    pools.block[pools.first[pool] + place] = block
    pools.place[block] = place
    add(pools, pool, place, 1)


@cached_njit
def leave(pools: Pools, pool: int, place: int) -> None:
    """Take the block at `place` out of the pool; the cursor stays there."""
    add(pools, pool, place, -1)
    pools.live[pool] -= 1
    pools.cursor[pool] = place


@cached_njit
def _moved(pools: Pools, pool: int) -> bool:
    """Put the pool's live blocks at its first places, with as much room behind them; False if there is none."""
    live, old = pools.live[pool], pools.first[pool]
    begin, room = old, pools.room[pool]
    if 2 * live + SPARE > room:
        begin, room = pools.end[0], 2 * live + SPARE
        if begin + room > pools.tree.size:
            return False
        pools.end[0] = begin + room
    younger = rank_behind(pools, pool, pools.cursor[pool])
    for kept in range(live):
        pools.block[begin + kept] = pools.block[old + place_of(pools, pool, live - 1 - kept)]
    pools.first[pool], pools.room[pool], pools.next[pool] = begin, room, live
    pools.tree[begin : begin + room] = 0
    for place in range(live):
        pools.place[pools.block[begin + place]] = place
        add(pools, pool, place, 1)
    pools.cursor[pool] = live - younger - 1
    return True
