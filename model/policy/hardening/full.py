"""Full: checks, a canary behind each block, a guard slab per superslab, and a quarantine."""

import msgspec

from heapsmith.model.compile.kernel import hit_path, kernel
from heapsmith.model.constants import PAGE
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import NO_BLOCK, block_at, class_at, heap_at, slab_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch, touch_bytes
from heapsmith.model.parts.charge import any_class
from heapsmith.model.parts.front_questions import class_lines
from heapsmith.model.parts.fronts import free_own, quarantine_base
from heapsmith.model.policy.emitted import Guard
from heapsmith.model.policy.hardening import live
from heapsmith.model.policy.hardening.live import live_lines

NAME = "full"
RARE = True
RAISES = ("live_map", "quarantine", "guard_slabs", "bias", "tail_bytes")
STOPS = True
TAIL_BYTES = 8
GUARDED = True
LIVE_MAP = True
ENCODES_LINKS = True
MAX_QUARANTINE = 4096
WITH = ("deletes/judged", "copies/judged", "hardening/misuse")
CODE = Guard(
    frozenset({"hs_hand_out"}),
    frozenset({"hs_hand_out_any"}),
    frozenset({"hs_take_back", "hs_heap_of", "hs_exchanged"}),
    straight=False,
    made=frozenset({"deletes_made"}),
)
COSTS = {
    f"alloc.hardening.{NAME}": 44.94,
    f"alloc.hardening.{NAME}.large": 168.18,
    f"free.hardening.{NAME}": 88.36,
    f"call.realloc.{NAME}": 44.46,
}

SHORT_BYTES = 128
"""Usable bytes of blocks that malloc and free check and clear without a loop, at most (hardening/full.h)."""

PAIR = 16
"""Bytes that are filled at the end of such a block, however few are not asked for, where these are not more."""

SLACK_CHECKED = 64
"""Bytes that are filled and checked behind those that the program asked for, at most."""


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """All checks, canaries and guards.

    quarantine: freed small blocks that a heap holds back; the oldest block leaves first; 0: none.
    """

    quarantine: int = 64


def why_not_valid(params: Params) -> str | None:
    """Return why these parameters make no hardening, or None."""
    if not 0 <= params.quarantine <= MAX_QUARANTINE:
        return f"quarantine: {params.quarantine} is out of range; expected 0 to {MAX_QUARANTINE} blocks"
    return None


@hit_path
def born_lines(state: State, block: int, asked: int) -> None:
    """Touch what the checks touch when a small block of `asked` bytes goes to the program."""
    sealed_lines(state, block, 1)
    filled_lines(state, block, asked)
    live_lines(state, block, 1)


@hit_path
def dies_lines(state: State, block: int) -> None:
    """Touch what the checks touch when the program frees a small block."""
    live_lines(state, block, 1)
    sealed_lines(state, block, 0)
    at = block_at(state, block)
    if state.header_bytes == 0 and (at - layout.SPAN) % state.slab_bytes != 0:
        touch(state.listener, at - state.tail_bytes, 0)


@kernel
def sealed_lines(state: State, block: int, is_born: int) -> None:
    """Touch a small block with a canary: malloc reads all of it, free clears all of it."""
    cls = block & layout.CLASS_MASK
    at, usable = block_at(state, block), int(state.classes[cls]["usable"])
    if state.slab_classes_bytes > 0:
        class_lines(state, block)
    else:
        touch(state.listener, slab_at(state, block >> layout.SLAB_SHIFT) + layout.SLAB_CLASS_NUMBER, 0)
    touch(state.listener, class_at(cls), 0)
    touch_bytes(state.listener, at, usable + state.tail_bytes, 1 - is_born)
    if is_born:
        touch_bytes(state.listener, at + usable, state.tail_bytes, 1)


@kernel
def filled_lines(state: State, block: int, asked: int) -> None:
    """Touch what malloc fills of a small block: the end of a short one, else what lies behind the bytes asked for."""
    at, usable = block_at(state, block), int(state.classes[block & layout.CLASS_MASK]["usable"])
    if usable <= SHORT_BYTES and usable - asked <= PAIR:
        touch_bytes(state.listener, at + max(0, usable - PAIR), min(usable, PAIR), 1)
    else:
        slack_lines(state, at + asked, usable - asked, 1)


@hit_path
def given_lines(state: State, block: int) -> None:
    """Touch the header of a small block that returns to its slab: all of the block must be zero."""
    if state.header_bytes > 0:
        touch(state.listener, block_at(state, block) - state.header_bytes, 1)


@hit_path
def large_tail_lines(state: State, at: int, pages: int, asked: int, write: int) -> None:
    """Touch the canary of a run of `pages` pages, and what is filled behind the bytes asked for."""
    tail = state.tail_bytes
    slack_lines(state, at + asked, pages * PAGE - tail - asked, write)
    touch(state.listener, at + pages * PAGE - tail, write)


@hit_path
def huge_slack_lines(state: State, at: int, slack: int, write: int) -> None:
    """Touch what is filled behind the bytes asked for of a huge block, which has no canary."""
    slack_lines(state, at, slack, write)


@kernel
def slack_lines(state: State, at: int, slack: int, write: int) -> None:
    """Touch the filled part of the bytes between those asked for and the canary."""
    touch_bytes(state.listener, at, min(slack, SLACK_CHECKED), write)


@hit_path
def resealed_lines(state: State, block: int, asked: int, size: int) -> None:
    """Touch what a small block of `asked` bytes changes that stays where it is and gets `size` bytes."""
    at, usable = block_at(state, block), int(state.classes[block & layout.CLASS_MASK]["usable"])
    slack_lines(state, at + asked, usable - asked, 0)
    slack_lines(state, at + size, usable - size, 1)
    touch(state.listener, at + usable, 1)


@kernel
def quarantine_lines(state: State, heap: int, place: int) -> None:
    """Touch a place of a heap's quarantine, and its counts."""
    at = heap_at(state, heap) + state.heap_quarantine
    touch(state.listener, at, 1)
    touch(state.listener, at + layout.WORD + layout.WORD * place, 1)


@kernel
def holds_back(state: State, heap: int, block: int) -> int:
    """Put a block in the heap's quarantine, a FIFO ring; return the oldest if the ring is full."""
    if state.quarantine == 0:
        return block
    any_class(state)
    limit = state.quarantine
    base = quarantine_base(state, heap)
    held = int(state.heaps[heap]["quarantined"])
    head = int(state.heaps[heap]["quarantine_head"])
    quarantine_lines(state, heap, (head + held) % limit)
    if held < limit:
        state.slots[base + (head + held) % limit] = block
        state.heaps[heap]["quarantined"] = held + 1
        return NO_BLOCK
    oldest = int(state.slots[base + head])
    state.slots[base + head] = block
    state.heaps[heap]["quarantine_head"] = (head + 1) % limit
    return oldest


@kernel
def thread_exits(state: State, heap: int) -> None:
    """Free all blocks of the heap's quarantine, the oldest first."""
    if state.quarantine == 0:
        return
    base = quarantine_base(state, heap)
    head = int(state.heaps[heap]["quarantine_head"])
    held = int(state.heaps[heap]["quarantined"])
    state.heaps[heap]["quarantined"] = 0
    state.heaps[heap]["quarantine_head"] = (head + held) % state.quarantine
    touch(state.listener, heap_at(state, heap) + state.heap_quarantine, 0)
    for index in range(held):
        place = (head + index) % state.quarantine
        quarantine_lines(state, heap, place)
        block = int(state.slots[base + place])
        free_own(state, heap, block)


map_is_released = live.map_is_released
