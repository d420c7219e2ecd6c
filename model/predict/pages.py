"""The pages of a simulated heap's slabs and large blocks: their committed bytes, with page tables the resident ones."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from heapsmith.model.compile.kernel import Records
from heapsmith.model.constants import PAGE
from heapsmith.model.heap.ledger import pages_for_blocks
from heapsmith.model.heap.simulator import Simulator
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import HUGE_CODE, RUN_CODE
from heapsmith.model.parts.large import HUGE_SLOT_BYTES, HUGE_SLOTS, huge_pages

I64 = npt.NDArray[np.int64]


class PageBytes(NamedTuple):
    """Bytes of pages: of the whole heap without its tables, of each slab, of each large block."""

    total: int
    slabs: I64
    large: I64


def page_bytes(simulator: Simulator, large: Records) -> PageBytes:
    """Return the committed bytes of pages, or with hardware the resident ones; `large` are records of blocks."""
    state, listener = simulator.state, simulator.listener
    handle = large["handle"]
    is_run = handle < HUGE_CODE
    size = np.zeros(len(large), np.int64)
    size[is_run] = state.pages["run"][handle[is_run] - RUN_CODE] * PAGE
    size[~is_run] = [huge_pages(state, asked) * PAGE for asked in large["asked"][~is_run].tolist()]
    slabs = np.ascontiguousarray(state.slabs["committed"][: state.slabs_made])
    if listener is None:
        return PageBytes(state.committed, slabs, size)
    ordinal = handle - HUGE_CODE
    huge = layout.HUGE + ordinal % HUGE_SLOTS * HUGE_SLOT_BYTES
    begin = np.where(is_run, layout.RUNS + (handle - RUN_CODE) * PAGE, huge)
    at = layout.SPAN + state.slabs["place"][: state.slabs_made] * state.slab_bytes
    each = listener.resident_each(at, np.full_like(at, state.slab_bytes)), listener.resident_each(begin, size)
    return PageBytes(pages_for_blocks(state, simulator.plan, listener), *each)


def slab_pages(simulator: Simulator, pages: I64) -> I64:
    """Return the same of single pages of slabs; page p of slab s is number s * pages of a slab + p."""
    state, listener = simulator.state, simulator.listener
    if listener is None:
        return np.full_like(pages, PAGE)
    slab, page = np.divmod(pages, state.slab_bytes // PAGE)
    at = layout.SPAN + state.slabs["place"][slab] * state.slab_bytes + page * PAGE
    return listener.resident_each(at, np.full_like(at, PAGE))
