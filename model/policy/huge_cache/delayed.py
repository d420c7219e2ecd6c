"""Delayed unmapping: freed huge mappings wait for another request, and then go."""

from typing import Any

import msgspec

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.constants import HUGE_KEPT_MAPPINGS, PAGE
from heapsmith.model.memory import layout
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import gone, touch
from heapsmith.model.parts.large import GUARDED_MOVE, commit_huge, huge_at, unmap_huge
from heapsmith.model.parts.slab_questions import is_short

NAME = "delayed"
RARE = True
COSTS: dict[str, float] = {}  # of kinds that other rows have too
NUMBERS = ("huge_kept_mappings", "huge_kept_bytes", "huge_delay", "huge_slack_percent")
MAX_DELAY = 1 << 44


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """A freed huge mapping waits for a request that fits, and is unmapped later.

    kept_bytes: bytes that wait together, of at most 16 mappings; delay: huge blocks that are freed
    before it goes; slack_percent: how much longer than the request it may be (its end goes back).
    A reused mapping saves two system calls and the faults of its pages. What waits is resident, and
    a program that frees its last huge block keeps it.
    """

    kept_bytes: int = 33_554_432
    delay: int = 32
    slack_percent: int = 25


def why_not_valid(params: Params) -> str | None:
    """Return why there is no such cache, or None."""
    for field, low, most in (("kept_bytes", 4096, 1 << 40), ("delay", 1, MAX_DELAY), ("slack_percent", 0, 1000)):
        value = getattr(params, field)
        if not low <= value <= most:
            return f"{field}: {value} is out of range; expected {low} to {most}"
    return None


def numbers(design: Any) -> dict[str, int]:
    """Return the bounds of what waits, and the slack."""
    cache = design.huge_cache
    return {
        "huge_kept_mappings": HUGE_KEPT_MAPPINGS,
        "huge_kept_bytes": cache.kept_bytes,
        "huge_delay": cache.delay,
        "huge_slack_percent": cache.slack_percent,
    }


@kernel
def put_kept(state: State, block: int, pages: int) -> None:
    """Make a freed mapping the newest that waits."""
    state.kept_clock += 1
    state.kept[state.kept_mappings]["block"] = block
    state.kept[state.kept_mappings]["pages"] = pages
    state.kept[state.kept_mappings]["stamp"] = state.kept_clock
    state.kept_mappings += 1
    state.kept_pages += pages


@kernel
def oldest_goes(state: State) -> bool:
    """Return whether the oldest has waited long enough, or too many wait."""
    if state.kept_mappings == 0:
        return False
    if is_short(state):
        return True
    many = state.kept_mappings > HUGE_KEPT_MAPPINGS or state.kept_pages * PAGE > state.huge_kept_bytes
    return many or state.kept_clock - int(state.kept[0]["stamp"]) >= state.huge_delay


@kernel
def fitting(state: State, pages: int) -> int:
    """Return the place of the newest mapping that fits a request; -1 if there is none."""
    most = pages + pages * state.huge_slack_percent // 100
    for place in range(state.kept_mappings - 1, -1, -1):
        state.huge_looked_at += 1
        if pages <= state.kept[place]["pages"] <= most:
            return place
    return -1


@kernel
def leave_kept(state: State, place: int) -> None:
    """Take a mapping out."""
    state.kept_mappings -= 1
    state.kept_pages -= state.kept[place]["pages"]
    state.huge_moved += state.kept_mappings - place
    for index in range(place, state.kept_mappings):
        state.kept[index]["block"] = state.kept[index + 1]["block"]
        state.kept[index]["pages"] = state.kept[index + 1]["pages"]
        state.kept[index]["stamp"] = state.kept[index + 1]["stamp"]


@kernel
def reuse_huge(state: State, pages: int) -> int:
    """Return a huge block whose mapping waited, cut to `pages`; -1 if none fits."""
    place = fitting(state, pages)
    if place < 0:
        return -1
    touch(state.listener, layout.LARGE_LOCK, 1)
    touch(state.listener, layout.TOTAL_HUGE_REUSE, 1)
    block, held = int(state.kept[place]["block"]), int(state.kept[place]["pages"])
    leave_kept(state, place)
    state.huge_reuse += 1
    state.locks_huge_take += 1
    state.clean = 0
    if held > pages:
        gone(state.listener, huge_at(block) + pages * PAGE, (held - pages) * PAGE)
        touch(state.listener, layout.TOTAL_REMAP, 1)
        state.huge_remap += 1
        state.memory_calls += GUARDED_MOVE * state.live_map
        commit_huge(state, pages - held)
    return block


@kernel
def keeps_huge(state: State, block: int, pages: int) -> bool:
    """Let a freed mapping wait, if it is not too large, and unmap those that waited long enough."""
    if pages * PAGE > state.huge_kept_bytes:
        return False
    touch(state.listener, layout.LARGE_LOCK, 1)
    put_kept(state, block, pages)
    unmapped = state.huge_unmap
    release_kept(state)
    state.locks_huge_give += 1 + state.huge_unmap - unmapped
    return True


@kernel
def release_kept(state: State) -> None:
    """Unmap the oldest mappings that have waited long enough."""
    while oldest_goes(state):
        block, pages = int(state.kept[0]["block"]), int(state.kept[0]["pages"])
        leave_kept(state, 0)
        unmap_huge(state, block, pages)
