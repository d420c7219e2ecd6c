"""The memory that glibc's main arena maps, trims and faults in, for any mmap and trim thresholds, in one pass.

The arena here packs its live blocks without gaps, so that all free bytes lie at its top: the real
one can trim at most as much. Source: glibc 2.36, malloc/malloc.c (sysmalloc, munmap_chunk, systrim).
"""

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

import numpy as np

from heapsmith.model.compile.kernel import Records, compiled, kernel, one_record, record_type
from heapsmith.model.constants import PAGE
from heapsmith.model.trace.events import Chunk, Columns, Op

FIRST_THRESHOLD = 128 << 10
"""DEFAULT_MMAP_THRESHOLD and DEFAULT_TRIM_THRESHOLD of a 64-bit system."""
LARGEST_THRESHOLD = 32 << 20
"""DEFAULT_MMAP_THRESHOLD_MAX: a larger block is always mapped, and raises no threshold."""
NEVER = (1 << 62) - 1
TOP_PAD = 128 << 10
LEAST_TOP = 33
"""Bytes that trimming leaves at the top beside the pad: MINSIZE and one."""

REALLOC, ALIGNED, FREE = int(Op.REALLOC), int(Op.ALIGNED), int(Op.FREE)
THREAD_START = int(Op.THREAD_START)

_compiled = cache(compiled)


class Thresholds(NamedTuple):
    """A setting: bytes from which on a block is mapped, free bytes at the top that are trimmed, bytes of top_pad.

    is_dynamic: free() of a mapped block makes its size the threshold, and twice its size that of
    trimming, as long as none of the three is set.
    """

    mapped: int = FIRST_THRESHOLD
    trim: int = FIRST_THRESHOLD
    pad: int = TOP_PAD
    is_dynamic: bool = True


class Used(NamedTuple):
    """What a setting makes of a trace. Bytes: pages that are touched for the first time since they came.

    average: the mean over the events of top and mapped bytes; peak: the most.
    """

    faulted: int
    maps: int
    unmaps: int
    grows: int
    trims: int
    peak: int
    average: float

    def time_ns(self, costs: Mapping[str, float]) -> float:
        """Return the time of its faults and system calls, of which a trim and an unmap release pages."""
        calls = (self.maps + self.grows) * costs["syscall"] + (self.unmaps + self.trims) * costs["release"]
        return self.faulted / PAGE * costs["fault.4k"] + calls


class _State(Columns):
    """blocks: bytes of each live block and whether it is mapped. top: the end of the arena; live: bytes in it."""

    blocks: Records
    scalars: Records


@kernel
def _leave(state: _State, which: int) -> None:
    """A block goes: its map, or its place in the arena, whose top is perhaps trimmed."""
    size = int(state.blocks[which]["size"])
    if state.blocks[which]["mapped"] != 0:
        state.unmaps += 1
        state.mapped_bytes -= size
        if state.is_dynamic != 0 and size > state.mapped and size <= LARGEST_THRESHOLD:
            state.mapped = size
            state.trim = 2 * size
        return
    state.live -= size
    spare = (state.top - state.live - LEAST_TOP - state.pad) & -PAGE  # negative if there is less than that
    if state.top - state.live >= state.trim and spare > 0:
        state.trims += 1
        state.top -= spare
        state.touched = min(state.touched, state.top)


@kernel
def _come(state: _State, which: int, size: int) -> None:
    """A block comes: as a map, or in the arena, whose top perhaps grows."""
    is_mapped = size >= state.mapped
    state.blocks[which]["mapped"] = 1 if is_mapped else 0
    if is_mapped:
        size = (size + 16 + PAGE - 1) & -PAGE
        state.maps += 1
        state.mapped_bytes += size
        state.faulted += size
    else:
        size = max(32, (size + 8 + 15) & -16)
        state.live += size
        if state.live > state.top:
            state.grows += 1
            state.top = (state.live + state.pad + PAGE - 1) & -PAGE
        if state.live > state.touched:
            state.faulted += state.live - state.touched
            state.touched = state.live
    state.blocks[which]["size"] = size


@kernel
def _follow(state: _State) -> None:
    """Follow the events of a chunk. A mapped block that is resized keeps its pages, as mremap does."""
    for event in range(len(state.op)):
        what, which, size = int(state.op[event]), int(state.block[event]), int(state.size[event])
        if what >= THREAD_START:
            continue
        if what == REALLOC and state.blocks[which]["mapped"] != 0 and size >= state.mapped:
            before, after = int(state.blocks[which]["size"]), (size + 16 + PAGE - 1) & -PAGE
            state.blocks[which]["size"] = after
            state.mapped_bytes += after - before
            state.faulted += max(0, after - before)
            state.maps += 1
        else:
            if what >= REALLOC and what != ALIGNED:
                _leave(state, which)
            if what < FREE:
                _come(state, which, size)
        held = state.touched + state.mapped_bytes
        state.peak = max(state.peak, held)
        state.held_sum += held
        state.events += 1


class Arena:
    """Follows a trace under one setting; memory: 16 bytes per block number."""

    def __init__(self, of: Thresholds, max_blocks: int) -> None:
        counts = ("live", "top", "touched", "mapped_bytes", "faulted", "maps", "unmaps", "grows", "trims")
        self._state = _State(
            blocks=np.zeros(max_blocks, record_type("size", "mapped")),
            scalars=one_record(
                mapped=of.mapped,
                trim=of.trim,
                pad=of.pad,
                is_dynamic=int(of.is_dynamic),
                **dict.fromkeys((*counts, "peak", "held_sum", "events"), 0),
            ),
        )

    def feed(self, chunk: Chunk, *, plain: bool = False) -> None:
        """Follow the events of the next chunk; `plain` runs the kernels as Python."""
        self._state.follow(chunk)
        (_follow if plain else _compiled(_follow))(self._state)

    def used(self) -> Used:
        """Return what the events so far used."""
        state = self._state
        counts = {name: int(getattr(state, name)) for name in Used._fields if name != "average"}
        return Used(**counts, average=state.held_sum / max(1, state.events))
