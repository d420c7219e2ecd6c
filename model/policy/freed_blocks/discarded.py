"""Discarded: freed blocks are counted and not kept, so no block serves twice before its slab was empty.

A take only carves: neighbours in time are neighbours in memory, and nothing looks for freed blocks. A
slab whose blocks live long beside short ones stays until the last of them is freed.
"""

from heapsmith.model.compile.kernel import hit_path, kernel
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import class_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.policy.freed_blocks import bitmap
from heapsmith.model.policy.freed_blocks.bitmap import WORD_MASK, WORD_SHIFT
from heapsmith.model.policy.freed_blocks.common import record_lines

NAME = "discarded"
RARE = True
MARKS = False
UNPRICED = True
"""The price has no figure for address space, which a run longer than the trace goes on to use up."""
COSTS = {
    f"take.reuse.{NAME}": 0.00,
    f"give.block.{NAME}": 2.10,
    f"give.slab.{NAME}": 16.18,
}  # estimates, counted in the disassembly

words, begin, members = bitmap.words, bitmap.begin, bitmap.members
"""The model marks freed blocks, as checks and maps of memory ask for them."""


@hit_path
def serves(state: State) -> bool:
    """Return False: no freed block is taken."""
    return False


@hit_path
def take(state: State, slab: int, cls: int, at: int, count: int) -> None:
    """Take nothing: no freed block serves."""


@hit_path
def give(state: State, slab: int, block: int, freed: int) -> None:
    """Touch what a look at the slab's fresh blocks reads; the store counts the block. The model alone marks it."""
    record_lines(state, slab)
    if state.record_counts_at == 0:
        touch(state.listener, class_at(block & layout.CLASS_MASK) + layout.CLASS_FIRST, 0)
    index = (block >> layout.INDEX_SHIFT) & layout.INDEX_MASK
    state.marks[slab * state.slab_words + (index >> WORD_SHIFT)] |= 1 << (index & WORD_MASK)


@kernel
def end_lines(state: State, slab: int) -> None:
    """Touch nothing."""
