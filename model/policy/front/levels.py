"""Levels: a front of any depth as a design file states it; the row of its level 0 serves.

Three words are short for such lists: two_level, ring_over_list, hot_over_list.
"""

from collections.abc import Sequence
from types import ModuleType
from typing import Literal

import msgspec

from heapsmith.model.parts.levels import BUMP, DEEPEST, LIST, RING, STACK
from heapsmith.model.policy.front import bump_over, hot_over, list_over, ring_over, stack_over
from heapsmith.model.policy.front.common import (
    NEVER,
    FrontPlan,
    LevelPlan,
    Refill,
    bounded,
    refill_of,
    why_not_batch,
    why_not_bytes,
    why_not_level,
    why_not_refill,
)
from heapsmith.model.policy.front.ring import ring_capacity

NAME = "levels"
SPELLS = True

ROWS = {"array_stack": stack_over, "fifo_ring": ring_over, "linked_list": list_over, "bump": bump_over}
"""The row by the kind of level 0, where refills fill it."""

KINDS = {"array_stack": STACK, "fifo_ring": RING, "linked_list": LIST, "bump": BUMP}

COUNTS = 2
"""Slots before a level that has counts of its own."""


class Level(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A level of a front.

    kind: how it keeps its blocks; capacity: the most blocks, of a ring a power of two; spill: blocks that an overflow
    moves to the next level (default: half the capacity); promote: blocks that a miss of the levels above brings up from
    this one (default: half the capacity of the level above).
    """

    kind: Literal["array_stack", "fifo_ring", "linked_list", "bump"]
    capacity: int = 64
    spill: int | None = None
    promote: int | None = None


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """A list of two to four levels: array stacks, FIFO rings, linked lists, and a bump as the first or the last.

    levels: the first serves malloc and free; hot: frees alone fill it (an array stack), and single blocks go between
    it and the next; max_bytes: the most bytes of each level; refill: blocks that a miss of all levels takes from the
    store, or "never" (one block: frees alone fill the front); flush: blocks that an overflow of the last level gives
    to the store (default: half of it).
    """

    levels: tuple[Level, ...] = (Level("array_stack", 8), Level("array_stack", 64), Level("linked_list", 128))
    hot: bool = False
    max_bytes: int = 65_536
    refill: Refill = None
    flush: int | None = None


def row_of(params: Params) -> ModuleType:
    """Return the row that serves."""
    return hot_over if params.hot else ROWS[params.levels[0].kind]


def why_not_valid(params: Params) -> str | None:
    """Return why these parameters make no front, or None."""
    levels = params.levels
    if not 2 <= len(levels) <= 1 + DEEPEST:
        return f"levels: {len(levels)}; expected 2 to {1 + DEEPEST} (a front of one level is that level)"
    if params.hot and KINDS[levels[0].kind] != STACK:
        return f"levels[0].kind: '{levels[0].kind}' cannot be hot; expected 'array_stack'"
    if params.hot and (levels[0].spill is not None or levels[1].promote is not None):
        field = "levels[0].spill" if levels[0].spill is not None else "levels[1].promote"
        return f"{field}: single blocks go between a hot level and the next; expected none"
    if levels[0].promote is not None:
        return "levels[0].promote: no level lies above; expected none"
    if levels[-1].spill is not None:
        return f"levels[{len(levels) - 1}].spill: no level lies below; expected flush of the front"
    filled = levels[_filled(params)].capacity
    return (
        _why_not_bump(params)
        or next(filter(None, (_why_not_level(levels, index) for index in range(len(levels)))), None)
        or why_not_bytes(params.max_bytes)
        or why_not_refill(params.refill, filled)
        or why_not_batch("flush", params.flush, _taking(levels)[-1].capacity)
    )


def _is_single(params: Params) -> bool:
    """Return whether single blocks go between level 0 and level 1: refills do not fill level 0."""
    return params.hot or KINDS[params.levels[0].kind] == BUMP


def _filled(params: Params) -> int:
    """Return the level that a refill of freed blocks fills."""
    return int(_is_single(params))


def _taking(levels: Sequence[Level]) -> list[Level]:
    """Return the levels that take freed blocks."""
    return [level for level in levels if KINDS[level.kind] != BUMP]


def _why_not_bump(params: Params) -> str | None:
    levels = params.levels
    places = [index for index, level in enumerate(levels) if KINDS[level.kind] == BUMP]
    if not places:
        return None
    path, kind = f"levels[{places[-1]}]", f"'{levels[places[-1]].kind}'"
    if len(places) > 1 or places[0] not in (0, len(levels) - 1):
        return f"{path}.kind: {kind} between levels; expected one, as the first or the last level"
    if params.refill == NEVER:
        return f"refill: '{NEVER}' cannot go with {kind}, which no free fills; expected blocks, or nothing"
    if places[0] == 0:
        stated = {"refill": params.refill, "levels[1].promote": levels[1].promote, "levels[0].spill": levels[0].spill}
        found = next((field for field, value in stated.items() if value not in (None, 1)), None)
        words = f"single freed blocks go past {kind} to the level below, and come up; expected 1"
        return f"{found}: {words}" if found else None
    if params.hot and places[0] == 1:
        return f"hot: level 0 right above {kind}; expected promote = 1 of {path} instead"
    if levels[-2].spill is not None:
        return f"levels[{places[0] - 1}].spill: {kind} below takes no freed block; expected flush of the front"
    return None


def _why_not_level(levels: Sequence[Level], index: int) -> str | None:
    level, path = levels[index], f"levels[{index}]"
    least = min(one.capacity for one in (_taking(levels[index:]) or [level]))
    return (
        why_not_level(f"{path}.capacity", level.capacity)
        or why_not_batch(f"{path}.spill", level.spill, least)
        or (why_not_batch(f"{path}.promote", level.promote, levels[index - 1].capacity) if index else None)
    )


def derive(params: Params, stride: int) -> FrontPlan:
    """Return the plan for a class of `stride` bytes."""
    capacities = [_capacity(level, params.max_bytes, stride) for level in params.levels]
    outs = _leaving(params, capacities)
    ups = [0, *(_promoted(level, capacities[at]) for at, level in enumerate(params.levels[1:]))]
    if _is_single(params):
        ups[1] = 1
    kinds = [KINDS[level.kind] for level in params.levels]
    is_apart = len(kinds) > 2 or kinds[0] in (LIST, BUMP) or kinds[1] != LIST
    below, at = list[LevelPlan](), 0
    for level, capacity, out, up in list(zip(params.levels, capacities, outs, ups, strict=True))[1:]:
        at += COUNTS * is_apart
        below.append(LevelPlan(level.kind, KINDS[level.kind], capacity, out, up, at, is_apart))
        at += below[-1].slots
    return FrontPlan(
        row_of(params).NAME,
        capacity=capacities[0],
        list_capacity=sum(one.capacity for one in below),
        refill=1 if kinds[0] == BUMP else refill_of(params.refill, capacities[_filled(params)], stride),
        flush=max(outs),
        spill=outs[0],
        promote=ups[1],
        levels=tuple(below),
        has_slots=kinds[0] != BUMP,
    )


def _capacity(level: Level, max_bytes: int, stride: int) -> int:
    capacity = bounded(level.capacity, max_bytes, stride)
    return ring_capacity(capacity) if KINDS[level.kind] == RING else capacity


def _leaving(params: Params, capacities: Sequence[int]) -> list[int]:
    """Return how many blocks leave each level to make room: what comes from above fits then. None leave a bump."""
    found: list[int] = []
    takes = [KINDS[level.kind] != BUMP for level in params.levels]
    last = max(index for index, taking in enumerate(takes) if taking)
    for index, level in enumerate(params.levels):
        wish = params.flush if index == last else level.spill
        least = min((room for room, taking in zip(capacities[index:], takes[index:], strict=True) if taking), default=0)
        found.append(max(min(wish or max(1, capacities[index] // 2), least), *found, 1) * takes[index])
        if _is_single(params) and index == 0:
            found = [1]
    return found


def _promoted(level: Level, above: int) -> int:
    return min(level.promote or max(1, above // 2), above)


def with_room(params: Params, blocks: int) -> Params:
    """Return the front with room for this number of blocks (2 or more), with fewer levels if need be; batches anew.

    The upper levels keep their capacities, if possible; the last has the rest.
    """
    kept, found = params.levels[:blocks], list[Level]()
    for index, level in enumerate(kept):
        later = len(kept) - 1 - index
        share = min(level.capacity, max(1, (blocks - later) // 2)) if later else blocks
        found.append(Level(level.kind, share))
        blocks -= share
    refill = params.refill if params.refill == NEVER else None
    return msgspec.structs.replace(params, levels=tuple(found), refill=refill, flush=None)
