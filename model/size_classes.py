"""Optimal size classes, exactly: the block sizes that waste the fewest bytes on a histogram of requests.

Candidates are all multiples of 16 bytes up to the small limit (and, with `grain` 8, the odd multiples of 8 between
them). A class that begins above candidate i and has the block size of candidate j costs (W[j] - W[i]) * price[j]: the
requests it serves times the committed bytes per block, what is left at the slab's end included. The price never falls
with j, so the cost is Monge, and it stays so where classes too wide to be safe are forbidden. Hence the best
predecessor moves one way only, and divide and conquer finds the best k classes of n candidates in O(k n log n): Galil
and Park, "Dynamic programming with convexity, concavity and sparsity", Theoretical Computer Science 92, 1992.
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from heapsmith.model.design import PAGE
from heapsmith.model.kernel import Ints, compiled, kernel

STEP = 16
"""Bytes from one candidate to the next: what every block that may hold a 16-aligned object is a multiple of."""

PRICE_UNIT = 256
"""Prices are integers in 1/256 byte, so that the search compares them exactly."""

WIDEST = (4, 3)
"""A class's block is at most 4/3 of the smallest block that could serve its smallest request: whatever size a program
asks for, seen or not, at most a quarter of its block is lost beyond the rounding to 16 bytes."""

UNREACHED = 1 << 62


class Candidates(NamedTuple):
    """What the search sees. The arrays have n + 1 entries for n candidates; entry j is the block size j * 16.

    served: requests that need at most j * 16 bytes (a running sum of weights); price: 1/256 bytes that one block costs;
    widest: the largest candidate of a class that begins above candidate j. With the odd multiples of 8, half_served and
    half_price are the same for the block size j * 16 + 8; they are empty without.
    """

    served: Ints
    price: Ints
    widest: Ints
    half_served: Ints
    half_price: Ints


class Search(NamedTuple):
    """totals[m]: the least cost of exactly m classes, weight times price; UNREACHED where m classes cannot be.

    picks[m, j]: where the last of the best m classes up to j begins: twice the candidate, plus 1 if half a step above.
    """

    totals: Ints
    picks: Ints


def block_price(stride: int, slab_bytes: int, header_bytes: int) -> int:
    """1/256 bytes that a full slab of this stride commits per block (docs/machine.md section 6).

    The stride and its share of the slab's tail, as far as the tail lies on a page that blocks touch.
    """
    blocks = (slab_bytes - header_bytes) // stride
    touched = 2 * header_bytes + blocks * stride
    return PRICE_UNIT * min(slab_bytes, -(-touched // PAGE) * PAGE) // blocks


def candidates(weight: Ints, grain: int, slab_bytes: int, header_bytes: int) -> Candidates:
    """The candidates for requests of these weights; weight[e] counts requests that need a block of e * grain bytes."""
    per_step = STEP // grain
    steps = (len(weight) - 1) // per_step
    served = np.cumsum(weight, dtype=np.int64)
    price = [block_price(step * STEP, slab_bytes, header_bytes) for step in range(1, steps + 1)]
    half_served, half_price = np.zeros(0, np.int64), np.zeros(0, np.int64)
    if per_step == 2:
        half = [block_price(step * STEP + STEP // 2, slab_bytes, header_bytes) for step in range(steps)]
        half_served = np.append(served[1::2][:steps], served[-1])
        half_price = np.array([*half, price[-1]], np.int64)
    above = np.arange(1, steps + 2, dtype=np.int64)
    return Candidates(
        served=served[::per_step][: steps + 1].copy(),
        price=np.array([0, *price], np.int64),
        widest=np.minimum(steps, above * WIDEST[0] // WIDEST[1]),
        half_served=half_served,
        half_price=half_price,
    )


@kernel
def _layer(
    setup: Ints, start: Ints, served: Ints, price: Ints, earliest: Ints, widest: Ints, half: int, best: Ints, pick: Ints
) -> None:
    """best[j] = min(best[j], least over i of setup[i] + (served[j] - start[i]) * price[j]), for classes from i to j.

    The leftmost best i never moves left as j grows. So rows are settled in the order of a binary search, each between
    what the settled rows on its two sides picked. Candidates with a setup are consecutive, and so are the rows they reach.
    """
    steps = len(served) - 1
    first = 0
    while first < steps and setup[first] >= UNREACHED:
        first += 1
    last = steps
    while last > first and setup[last] >= UNREACHED:
        last -= 1
    if first == steps:
        return
    rows = widest[last] - first
    chosen = np.empty(rows + 1, np.int64)
    stride = 1
    while 2 * stride <= rows:
        stride *= 2
    while stride > 0:
        for row in range(stride, rows + 1, 2 * stride):
            j = first + row
            low = max(earliest[j], first if row == stride else chosen[row - stride])
            high = min(j - 1, last if row + stride > rows else chosen[row + stride])
            least = UNREACHED
            for i in range(low, high + 1):
                cost = setup[i] + (served[j] - start[i]) * price[j]
                if cost < least:
                    least = cost
                    chosen[row] = i
            if least < best[j]:
                best[j] = least
                pick[j] = 2 * chosen[row] + half
        stride //= 2


@kernel
def _search(
    served: Ints, price: Ints, widest: Ints, half_served: Ints, half_price: Ints, totals: Ints, picks: Ints
) -> None:
    """Fill totals and picks, one layer per count; a class of half a step stands right above a whole one: two classes."""
    steps = len(served) - 1
    earliest = np.zeros(steps + 1, np.int64)
    i = 0
    for j in range(1, steps + 1):
        while widest[i] < j:
            i += 1
        earliest[j] = i
    before_last = np.full(steps + 1, UNREACHED, np.int64)
    last = np.full(steps + 1, UNREACHED, np.int64)
    last[0] = 0
    for count in range(1, len(totals)):
        best = np.full(steps + 1, UNREACHED, np.int64)
        _layer(last, served, served, price, earliest, widest, 0, best, picks[count])
        if len(half_served) > 0:
            setup = np.full(steps + 1, UNREACHED, np.int64)
            for j in range(steps + 1):
                if before_last[j] < UNREACHED:
                    setup[j] = before_last[j] + (half_served[j] - served[j]) * half_price[j]
            _layer(setup, half_served, served, price, earliest, widest, 1, best, picks[count])
        totals[count] = best[steps]
        before_last = last
        last = best


@cache
def _compiled_search() -> Callable[..., None]:
    return compiled(_search)


def search(given: Candidates, most: int, *, plain: bool = False) -> Search:
    """The best 1, 2, ... `most` classes at once; the last class always has the block size of the last candidate.

    Integers throughout: exact as long as the sum of weights times the last price is below 2^62. `plain` runs the
    kernels as Python.
    """
    totals = np.full(most + 1, UNREACHED, np.int64)
    picks = np.full((most + 1, len(given.served)), -1, np.int64)
    run = _search if plain else _compiled_search()
    run(*given, totals, picks)
    return Search(totals, picks)


def block_sizes(found: Search, count: int) -> list[int]:
    """The block sizes of the best `count` classes, ascending; totals[count] must be reached."""
    sizes: list[int] = []
    step = found.picks.shape[1] - 1
    while step:
        sizes.append(step * STEP)
        step, half = divmod(int(found.picks[count, step]), 2)
        if half:
            sizes.append(step * STEP + STEP // 2)
        count -= 1 + half
    return sizes[::-1]


def best_count(totals: Ints, class_cost: float) -> int | None:
    """How many classes are worth having at `class_cost` each, in the unit of `totals`; None if no count is reached.

    Every count is compared: the least of waste and classes together, exactly.
    """
    reached = [count for count in range(1, len(totals)) if totals[count] < UNREACHED]
    return min(reached, key=lambda count: float(totals[count]) + count * class_cost, default=None)


def fewest_classes(given: Candidates) -> int:
    """The fewest classes that put no size in a block wider than WIDEST allows."""
    count, step = 0, 0
    while step < len(given.served) - 1:
        step = int(given.widest[step])
        count += 1
    return count
