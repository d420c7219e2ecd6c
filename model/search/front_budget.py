"""The best use of a budget of bytes by fronts: the sizes that each can have, and what each size saves."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from heapsmith.model.design.choices import SPELLER_OF, Front, derive_front
from heapsmith.model.design.plan import Plan
from heapsmith.model.heap.records import BATCHES
from heapsmith.model.policy.front import NO_FRONT
from heapsmith.model.policy.front.common import NEVER
from heapsmith.model.search.capacities import LEVELS, Curve

CAPACITIES = [*range(1, 64), *range(64, 128, 2), *range(128, 256, 4), *range(256, LEVELS + 1, 8)]
"""The capacities that compete for the budget: all up to 64 blocks, then 32 per doubling."""


LEAST_ROOM = 32
"""The least room of a front that its trace does not overflow."""


class Option(NamedTuple):
    """A size of a class's front: room for `blocks` (0: no front), the most `bytes` of its idle
    blocks in the trace over all heaps, and an estimate of the slow operations (refills, flushes,
    single moves).
    """

    blocks: int
    bytes: int
    slow: float


class Share(NamedTuple):
    """The result for a class: its front, the chosen option, and all options in ascending order."""

    front: Front
    chosen: Option
    options: list[Option]


ROOMS = ("capacity", "list_capacity")


def _roomy(front: Front, blocks: int, stride: int) -> Front:
    """Return the front with room for at most `blocks` and derived batches, or no front."""
    fields = front.__struct_fields__
    speller = SPELLER_OF[type(front)]
    if blocks > 1 and hasattr(speller, "with_room"):
        shared: Front = speller.with_room(front, blocks)
        return shared
    if blocks == 0 or "capacity" not in fields:
        none: Front = NO_FRONT.Params()
        return none
    batches = [name for name in BATCHES if name in fields and getattr(front, name) != NEVER]
    numbers: dict[str, Any] = dict.fromkeys(batches) | {"capacity": blocks}
    if "list_capacity" in fields:
        upper = min(derive_front(front, stride).capacity, max(1, blocks // 2))
        numbers |= {"capacity": upper, "list_capacity": max(1, blocks - upper)}
    return msgspec.structs.replace(front, **numbers)


@lru_cache(4096)
def resized(front: Front, blocks: int, stride: int) -> Front:
    """Return the same kind of front with room for at most `blocks`, with its batches stated.

    Two levels share the blocks; level 0 keeps its size if possible. The byte bound stays. 0 blocks
    make no front.
    """
    roomy = _roomy(front, blocks, stride)
    plan = derive_front(roomy, stride)
    fields = (name for name in ROOMS + BATCHES if getattr(roomy, name, NEVER) != NEVER)
    return msgspec.structs.replace(roomy, **{name: getattr(plan, name) for name in fields})


def _uncut(front: Front, option: Option, curve: Curve, stride: int) -> Front:
    """Return the front with room for the option's blocks; for LEAST_ROOM where the trace never overflows these.

    Another input may hold more. What the trace never fills costs it nothing: refills stay as small.
    """
    made = resized(front, option.blocks, stride)
    fields = made.__struct_fields__
    has_one_level = "capacity" in fields and "list_capacity" not in fields
    if not (has_one_level and 0 < option.blocks < LEAST_ROOM) or curve.overflows[option.blocks]:
        return made
    kept = {"refill": made.refill} if "refill" in fields else {}  # type: ignore[attr-defined]
    return msgspec.structs.replace(resized(front, LEAST_ROOM, stride), **kept)


def _sizes(front: Front, stride: int) -> NDArray[np.int64]:
    """Return the sizes that this front can have: a column of blocks, refill and flush for each."""
    fields = front.__struct_fields__
    if "capacity" not in fields or "list_capacity" in fields or hasattr(SPELLER_OF[type(front)], "with_room"):
        return _sizes_of(front, stride)
    return _sizes_of(_roomy(front, 1, stride), stride)  # whatever room the front has now


@lru_cache(4096)
def _sizes_of(front: Front, stride: int) -> NDArray[np.int64]:
    plans = [derive_front(_roomy(front, blocks, stride), stride) for blocks in CAPACITIES]
    columns: list[tuple[int, int, int]] = []
    for plan in plans:
        held = plan.capacity + plan.list_capacity
        if (columns[-1][0] if columns else 0) < held <= LEVELS:
            columns.append((held, plan.refill, max(1, plan.flush)))  # without batches, each free goes alone
    return np.array(columns, np.int64).reshape(-1, 3).T


def options(front: Front, stride: int, curve: Curve) -> list[Option]:
    """Return the options of this front for a class of `stride` bytes, ascending, no front first.

    A front that moves batches is slow once per batch: misses over the refill, overflows over the
    flush. A heap's front never holds more than its capacity. It also never holds more than an
    unbounded front with single moves, plus a refill less 1.
    """
    held, refill, flush = _sizes(front, stride)
    most = np.sort(curve.most).astype(np.int64)
    sums = np.concatenate(([0], np.cumsum(most)))
    below = np.searchsorted(most, held - refill + 1)
    idle = (sums[below] + below * (refill - 1) + (len(most) - below) * held) * stride
    slow = curve.misses[held] / refill + curve.overflows[held] / flush
    none = Option(0, 0, float(curve.misses[0] + curve.overflows[0]))
    return [none, *map(Option, held.tolist(), idle.tolist(), slow.tolist())]


def lower_hull(sizes: Sequence[Option]) -> list[Option]:
    """Return the lower convex hull of slow over bytes, from the fewest bytes to the least slow.

    Of equal options, the smallest counts, but a front comes before no front.
    """
    hull: list[Option] = []
    for option in sorted(sizes, key=lambda size: (size.bytes, size.slow, size.blocks == 0, size.blocks)):
        if hull and option.slow >= hull[-1].slow:
            continue
        while len(hull) > 1 and _gain(hull[-2], option) >= _gain(hull[-2], hull[-1]):
            hull.pop()
        hull.append(option)
    return hull


def _gain(small: Option, large: Option) -> float:
    """Return the slow operations saved per additional byte."""
    return (small.slow - large.slow) / (large.bytes - small.bytes)


Known = dict[tuple[int, Front], tuple[list[Option], list[Option]]]
"""The options of a class's front and their hull, by class and front: of other plans with these curves."""


def allot(curves: Sequence[Curve], plan: Plan, budget_bytes: int, known: Known | None = None) -> dict[int, Share]:
    """Return the share of each class that the trace used and that has a front, within the budget.

    Each class starts with an option of no bytes. The hull step that saves most per byte comes next.
    This greedy choice is the optimum of the relaxed knapsack, where steps may be cut, because
    slopes fall along a hull (Dantzig, "Discrete-variable extremum problems", Operations Research 5,
    1957). Here, a step that does not fit ends its class, so the loss is less than the saving of a
    step.
    """
    fronts = {row.index: plan.design.front_of(row.size) for row in plan.classes if row.front.capacity}
    known = {} if known is None else known
    used = {cls: front for cls, front in fronts.items() if len(curves[cls].most)}
    for cls, front in used.items():
        if (cls, front) not in known:
            sizes = options(front, plan.classes[cls].stride, curves[cls])
            known[cls, front] = sizes, lower_hull(sizes)
    hulls = {cls: known[cls, front][1] for cls, front in used.items()}
    chosen = {cls: hull[0] for cls, hull in hulls.items()}
    steps = [(cls, *step) for cls, hull in hulls.items() for step in pairwise(hull)]
    for cls, here, there in sorted(steps, key=lambda step: (-_gain(*step[1:]), step[0])):
        if chosen[cls] is here and there.bytes - here.bytes <= budget_bytes:
            budget_bytes -= there.bytes - here.bytes
            chosen[cls] = there
    options_of = {cls: known[cls, fronts[cls]][0] for cls in chosen}
    fronts = {cls: _uncut(fronts[cls], one, curves[cls], plan.classes[cls].stride) for cls, one in chosen.items()}
    return {cls: Share(fronts[cls], one, options_of[cls]) for cls, one in chosen.items()}
