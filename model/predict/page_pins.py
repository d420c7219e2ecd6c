"""Pins: which groups of sites keep the pages of a simulated heap, between two events; docs/report.md."""

from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from heapsmith.model.compile.cache import cached_njit
from heapsmith.model.constants import PAGE
from heapsmith.model.errors import CheckFailed
from heapsmith.model.heap.simulator import Simulator
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import RUN_CODE, SLAB_SHIFT
from heapsmith.model.memory.state import State
from heapsmith.model.predict.pages import page_bytes, slab_pages

I64 = npt.NDArray[np.int64]

NOBODY, SEVERAL = -1, -2
"""In place of a group: no live block is there, or live blocks of several groups."""


class Pins(msgspec.Struct, frozen=True):
    """Pages of a heap after an event by what keeps them; the arrays have an item per group.

    Pages count by their committed bytes, with hardware by the resident ones. `bytes` is the sum of
    `pinned`, `shared` and `idle`.
    """

    event: int
    asked: int  # bytes that the live blocks asked for
    bytes: int
    shared: int  # kept by live blocks of several groups
    idle: int  # kept by no live block
    pinned: I64  # kept by live blocks of this group alone
    blocks: I64  # these blocks
    block_bytes: I64  # and their bytes, as whole blocks
    live: I64  # all live blocks of this group
    with_others: I64  # kept by live blocks of this group and of others
    alone: I64  # pages on which live blocks of this group lie and of no other, in bytes


@cached_njit
def _mark(owner: I64, at: int, group: int) -> None:
    """Note that a group has a live block at this place."""
    owner[at] = group if owner[at] == -1 or owner[at] == group else -2


@cached_njit
def _mark_blocks(slab: I64, start: I64, stride: I64, group: I64, of_slab: I64, of_page: I64) -> None:
    """Note which group keeps each slab and lies on each page of slabs, and count live blocks by slab.

    start: of each block in its slab. of_slab: group, blocks, their bytes. of_page: groups, by slab.
    """
    pages = of_page.size // of_slab.shape[1]
    for i in range(slab.size):
        _mark(of_slab[0], slab[i], group[i])
        of_slab[1, slab[i]] += 1
        of_slab[2, slab[i]] += stride[i]
        for page in range(start[i] // 4096, (start[i] + stride[i] - 1) // 4096 + 1):
            _mark(of_page, slab[i] * pages + page, group[i])


@cached_njit
def _mark_shared(slab: I64, group: I64, of_slab: I64, slab_bytes: I64, found: I64) -> None:
    """Add the bytes of each slab that several groups keep to found[group] of each of them."""
    end = np.cumsum(of_slab[1])
    by_slab = np.empty(slab.size, np.int64)
    for i in range(slab.size):
        end[slab[i]] -= 1
        by_slab[end[slab[i]]] = i
    last = np.full(found.size, -1, np.int64)
    for place in range(slab.size):
        at, own = slab[by_slab[place]], group[by_slab[place]]
        if of_slab[0, at] == -2 and last[own] != at:
            last[own] = at
            found[own] += slab_bytes[at]


@cached_njit
def _kept(handle: I64, slab_bytes: I64) -> Any:
    """Return the bytes of the slabs with a live block."""
    left = slab_bytes.copy()
    for one in handle:
        if 0 <= one < RUN_CODE:
            left[one >> SLAB_SHIFT] = 0
    return slab_bytes.sum() - left.sum()


def waste(simulator: Simulator) -> int:
    """Return the bytes that live blocks keep and did not ask for."""
    state = simulator.state
    handles = np.ascontiguousarray(state.blocks["handle"])
    found = page_bytes(simulator, state.blocks[handles >= RUN_CODE])
    return int(_kept(handles, found.slabs)) + int(found.large.sum()) - state.live_bytes


def pins(simulator: Simulator, group_of_block: I64, groups: int) -> Pins:
    """Return what keeps the pages of a simulator as it stands; `group_of_block` has a group for each live block."""
    state = simulator.state
    handles = state.blocks["handle"][: len(group_of_block)]
    group_of_block = group_of_block[: len(handles)]
    is_small, is_large = (handles >= 0) & (handles < RUN_CODE), handles >= RUN_CODE
    total, slabs, large_bytes = page_bytes(simulator, state.blocks[: len(handles)][is_large])
    of_slab, of_page, with_others = _slabs(state, handles[is_small], group_of_block[is_small], slabs, groups)
    owner, blocks, block_bytes = of_slab
    large, live = group_of_block[is_large], group_of_block[is_small | is_large]
    pages = np.flatnonzero(of_page >= 0)
    found = Pins(
        state.events - 1,
        state.live_bytes,
        total,
        int(slabs[owner == SEVERAL].sum()),
        total - int(slabs[owner != NOBODY].sum()) - int(large_bytes.sum()),
        _sum(owner, slabs, groups) + _sum(large, large_bytes, groups),
        _sum(owner, blocks, groups) + _sum(large, np.ones_like(large), groups),
        _sum(owner, block_bytes, groups) + _sum(large, large_bytes, groups),
        _sum(live, np.ones_like(live), groups),
        with_others,
        _sum(of_page[pages], slab_pages(simulator, pages), groups) + _sum(large, large_bytes, groups),
    )
    if (live < 0).any() or found.idle < 0:
        raise CheckFailed("pins: the groups are not those of the simulator's live blocks")
    return found


def _slabs(state: State, handles: I64, group: I64, slab_bytes: I64, groups: int) -> tuple[I64, I64, I64]:
    """Return what keeps each slab: group, live blocks, their bytes; the group on each page; what each group shares."""
    cls, slab = handles & layout.CLASS_MASK, handles >> layout.SLAB_SHIFT
    stride = state.classes["stride"][cls]
    start = state.classes["first"][cls] + ((handles >> layout.INDEX_SHIFT) & layout.INDEX_MASK) * stride
    of_slab = np.zeros((3, state.slabs_made), np.int64)
    of_slab[0] = NOBODY
    of_page = np.full(state.slabs_made * (state.slab_bytes // PAGE), NOBODY, np.int64)
    with_others = np.zeros(groups, np.int64)
    if len(handles):
        _mark_blocks(slab, start, stride, group, of_slab, of_page)
        _mark_shared(slab, group, of_slab, slab_bytes, with_others)
    return of_slab, of_page, with_others


def _sum(group: I64, amounts: I64, groups: int) -> I64:
    """Return the sum of each group's amounts."""
    found = np.zeros(groups, np.int64)
    np.add.at(found, group[group >= 0], amounts[group >= 0])
    return found
