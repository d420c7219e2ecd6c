"""Bitmap: a mark per block, beside the records; the freed block of the lowest index goes first.

Blocks are not touched. A take looks for marks from the slab's first word on.
"""

from heapsmith.model.compile.bits import bit_index
from heapsmith.model.compile.kernel import hit_path, kernel
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import class_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch, touch_bytes
from heapsmith.model.policy.freed_blocks.common import record_lines

NAME = "bitmap"
DEFAULT = True
OFF = True
MARKS = True
WORD_SHIFT = 5
WORD_MASK = 31
"""A bitmap keeps 32 marks per int64, because plain Python has no unsigned 64-bit numbers."""
COSTS: dict[str, float] = {}  # what every design does


def words(blocks: int) -> int:
    """Return the words of marks of a slab of `blocks` blocks."""
    return -(-blocks // 32)


@hit_path
def marks_at(state: State, slab: int) -> int:
    """Return the address of a slab's bitmap."""
    return layout.MARKS + int(state.slabs[slab]["place"]) * state.bitmap_words * layout.WORD


@hit_path
def take(state: State, slab: int, cls: int, at: int, count: int) -> None:
    """Take the freed blocks of the lowest indices."""
    base = slab * state.slab_words
    word = int(state.slabs[slab]["low"])
    before = word
    for number in range(count):
        while state.marks[base + word] == 0:
            word += 1
        bits = int(state.marks[base + word])
        lowest = bits & -bits
        state.marks[base + word] = bits - lowest
        index = (word << WORD_SHIFT) + bit_index(lowest)
        state.moved[at + number] = (slab << layout.SLAB_SHIFT) | (index << layout.INDEX_SHIFT) | cls
    at_marks, first, last = marks_at(state, slab), before >> 1, word >> 1  # words of 64 marks
    touch_bytes(state.listener, at_marks, first * layout.WORD, 0)
    touch_bytes(state.listener, at_marks + first * layout.WORD, (last - first + 1) * layout.WORD, 1)
    state.words += last + 1
    state.slabs[slab]["low"] = word


@hit_path
def give(state: State, slab: int, block: int, freed: int) -> None:
    """Mark the block."""
    index = (block >> layout.INDEX_SHIFT) & layout.INDEX_MASK
    word = index >> WORD_SHIFT
    touch(state.listener, class_at(block & layout.CLASS_MASK) + layout.CLASS_FIRST, 0)
    if state.record_counts_at == 0:
        touch(state.listener, class_at(block & layout.CLASS_MASK) + state.block_index_at, 0)
    record_lines(state, slab)
    touch(state.listener, marks_at(state, slab) + (word >> 1) * layout.WORD, 1)
    state.marks[slab * state.slab_words + word] |= 1 << (index & WORD_MASK)
    if freed == 0 or word < state.slabs[slab]["low"]:
        state.slabs[slab]["low"] = word


@kernel
def mark_lines(state: State, block: int) -> None:
    """Touch the word of the block's mark."""
    word = ((block >> layout.INDEX_SHIFT) & layout.INDEX_MASK) >> (WORD_SHIFT + 1)  # of 64 marks
    touch(state.listener, marks_at(state, block >> layout.SLAB_SHIFT) + word * layout.WORD, 0)


@kernel
def begin(state: State, slab: int) -> None:
    """Clear the marks of the blocks that the slab had."""
    first = slab * state.slab_words
    for word in range(first, first + ((int(state.slabs[slab]["carved"]) + WORD_MASK) >> WORD_SHIFT)):
        state.marks[word] = 0
    state.slabs[slab]["low"] = 0


@kernel
def end_lines(state: State, slab: int) -> None:
    """Touch the whole bitmap."""
    touch_bytes(state.listener, marks_at(state, slab), state.bitmap_words * layout.WORD, 1)


def members(state: State, slab: int) -> list[int]:
    """Return the indices of a slab's freed blocks, of those that a take finds."""
    low = int(state.slabs[slab]["low"])
    row = state.marks[slab * state.slab_words + low : (slab + 1) * state.slab_words]
    marked = [(place, int(word)) for place, word in enumerate(row, low) if word]
    return [32 * place + bit for place, word in marked for bit in range(32) if word >> bit & 1]
