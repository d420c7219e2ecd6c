"""List: LIFO through the freed blocks' first words; the block that was freed last goes first.

The program has just used such a block, so its line is near. Each give writes to its block and each
take reads it, and a slab's blocks come out in no order of addresses. There is no bitmap.
"""

from typing import Any

from heapsmith.model.compile.kernel import hit_path, kernel
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import block_at, class_at, slab_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.policy.freed_blocks.common import record_lines

NAME = "list"
RARE = True
MARKS = False
LINKS = True
UNPRICED = True
"""A refill follows links and a flush writes to each block. Where neighbours on the host fill the
last level, these lines come from memory, and the price takes them from the last level: replays took
1.02 of the time of the bitmap, up to 1.13, where the price expected less than its time.
"""
NUMBERS = ("freed_list",)
AT = layout.SLAB_NEWER
"""The place of the head in a slab's record: while the slab is in no pool, the age queue does not need it."""
COSTS = {
    f"take.reuse.{NAME}": 0.65,
    f"give.block.{NAME}": 9.09,
    f"give.slab.{NAME}": 45.63,
}


def numbers(design: Any) -> dict[str, int]:
    """Return the flag by which the runtime takes the list."""
    return {"freed_list": 1}


def words(blocks: int) -> int:
    """Return the words of links of a slab of `blocks` blocks: 1 + the index of the next; 0: none."""
    return blocks


@hit_path
def take(state: State, slab: int, cls: int, at: int, count: int) -> None:
    """Pop blocks: `low` is the head, 1 + an index."""
    base = slab * state.slab_words
    newest = int(state.slabs[slab]["low"])
    touch(state.listener, slab_at(state, slab) + AT, 1)
    for number in range(count):
        block = (slab << layout.SLAB_SHIFT) | ((newest - 1) << layout.INDEX_SHIFT) | cls
        state.moved[at + number] = block
        touch(state.listener, block_at(state, block), int(state.tail_bytes > 0))
        newest = int(state.marks[base + newest - 1])
    state.slabs[slab]["low"] = newest


@hit_path
def give(state: State, slab: int, block: int, freed: int) -> None:
    """Push the block."""
    record_lines(state, slab)
    if freed == 0 and state.record_counts_at == 0:
        touch(state.listener, class_at(block & layout.CLASS_MASK) + layout.CLASS_FIRST, 0)
    link(state, slab, block)


@hit_path
def link(state: State, slab: int, block: int) -> None:
    """Make the block the newest of the slab's list."""
    index = (block >> layout.INDEX_SHIFT) & layout.INDEX_MASK
    touch(state.listener, slab_at(state, slab) + AT, 1)
    touch(state.listener, block_at(state, block), 1)
    state.marks[slab * state.slab_words + index] = state.slabs[slab]["low"]
    state.slabs[slab]["low"] = index + 1


@kernel
def begin(state: State, slab: int) -> None:
    """Begin with an empty list."""
    touch(state.listener, slab_at(state, slab) + AT, 1)
    state.slabs[slab]["low"] = 0


@kernel
def end_lines(state: State, slab: int) -> None:
    """Touch each block where freed blocks are kept zero: its link is cleared."""
    if state.tail_bytes > 0:
        touch(state.listener, slab_at(state, slab) + AT, 1)
        cls = int(state.slabs[slab]["class"])
        for index in range(int(state.slabs[slab]["freed"])):
            touch(state.listener, block_at(state, (slab << layout.SLAB_SHIFT) | (index << layout.INDEX_SHIFT) | cls), 1)


def members(state: State, slab: int) -> list[int]:
    """Return the indices of a slab's freed blocks, the newest first; at most one more than it counts."""
    found: list[int] = []
    link = int(state.slabs[slab]["low"])
    while link > 0 and len(found) <= int(state.slabs[slab]["freed"]):
        found.append(link - 1)
        link = int(state.marks[slab * state.slab_words + link - 1])
    return found
