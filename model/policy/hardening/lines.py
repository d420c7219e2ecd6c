"""The cache lines that checks, canaries, zeroing and the quarantine touch (runtime/heap/4_blocks/hardening)."""

from heapsmith.model.compile.kernel import hit_path, kernel
from heapsmith.model.constants import PAGE
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import block_at, class_at, heap_at, slab_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import gone, touch, touch_bytes
from heapsmith.model.policy.classifier import class_lines

SHORT_BYTES = 128
"""Usable bytes of blocks that malloc and free check and clear without a loop, at most (hardening/full.h)."""

SLACK_CHECKED = 64
"""Bytes that are filled and checked behind those that the program asked for, at most."""


@hit_path
def live_lines(state: State, block: int, write: int) -> None:
    """Touch a small block's byte in the live map."""
    if state.live_map == 1:
        offset = block_at(state, block) - layout.SPAN
        touch(state.listener, layout.LIVE + (offset >> state.grain_shift), write)


@hit_path
def born_lines(state: State, block: int) -> None:
    """Touch what the checks touch when a small block goes to the program."""
    if state.tail_bytes > 0:
        sealed_lines(state, block, 1)
    live_lines(state, block, 1)


@hit_path
def dies_lines(state: State, block: int) -> None:
    """Touch what the checks touch when the program frees a small block."""
    live_lines(state, block, 1)
    if state.tail_bytes > 0:
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


@hit_path
def given_lines(state: State, block: int) -> None:
    """Touch the header of a small block that returns to its slab: all of the block must be zero."""
    if state.tail_bytes > 0 and state.header_bytes > 0:
        touch(state.listener, block_at(state, block) - state.header_bytes, 1)


@hit_path
def large_tail_lines(state: State, at: int, pages: int, asked: int, write: int) -> None:
    """Touch the canary of a run of `pages` pages, and what is filled behind the bytes asked for."""
    tail = state.tail_bytes
    if tail > 0:
        slack_lines(state, at + asked, pages * PAGE - tail - asked, write)
        touch(state.listener, at + pages * PAGE - tail, write)


@hit_path
def huge_slack_lines(state: State, at: int, slack: int, write: int) -> None:
    """Touch what is filled behind the bytes asked for of a huge block, which has no canary."""
    if state.tail_bytes > 0:
        slack_lines(state, at, slack, write)


@kernel
def slack_lines(state: State, at: int, slack: int, write: int) -> None:
    """Touch the filled part of the bytes between those asked for and the canary."""
    touch_bytes(state.listener, at, min(slack, SLACK_CHECKED), write)


@hit_path
def resealed_lines(state: State, block: int, asked: int, size: int) -> None:
    """Touch what a small block of `asked` bytes changes that stays where it is and gets `size` bytes."""
    if state.tail_bytes > 0:
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
def map_is_released(state: State, place: int) -> None:
    """Give the live map of the slab at `place` back to the OS if the map has pages of its own."""
    size = state.slab_bytes >> state.grain_shift
    if state.live_map == 1 and size >= PAGE:
        state.memory_calls += 1
        gone(state.listener, layout.LIVE + place * size, size)
