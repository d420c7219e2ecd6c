"""Blocks: which class serves a size, and what a handle tells of its block; docs/machine.md, 'address space'."""

from heapsmith.model.compile.kernel import hit_path, kernel
from heapsmith.model.constants import LEAST_PAGE, PAGE
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import GUARDED_CODE, HUGE_CODE, RUN_CODE, block_at
from heapsmith.model.memory.state import State
from heapsmith.model.parts.large import huge_at, large_bytes


@hit_path
def class_for(state: State, size: int, align: int) -> int:
    """Return the class that serves `size` bytes aligned to `align`; -1: the request is large."""
    if size > state.small_limit or (size == 0 and state.live_map == 1):
        return -1
    cls = int(state.lookup[(size + state.bias + state.grain - 1) >> state.grain_shift])
    if align > state.grain:
        if align > LEAST_PAGE:
            return -1
        bias = state.bias
        least = ((size + bias + align - 1) & -align) - bias
        while cls < state.size_classes:
            state.aligned_steps += state.classes[cls]["usable"] >= least
            if (int(state.classes[cls]["stride"]) | int(state.classes[cls]["first"])) & (align - 1) == 0:
                return cls
            cls += 1
        return -1
    return cls


@hit_path
def block_bytes(state: State, block: int, asked: int) -> int:
    """Return the bytes that a live block occupies: its class's stride, or whole pages."""
    if block >= RUN_CODE:
        return large_bytes(state, block, asked)
    return int(state.classes[block & layout.CLASS_MASK]["stride"])


@hit_path
def usable_of(state: State, block: int, asked: int) -> int:
    """Return the bytes that the program may use of a live block."""
    if block >= GUARDED_CODE:
        return asked
    if block >= RUN_CODE:
        return large_bytes(state, block, asked) - (state.tail_bytes if block < HUGE_CODE else 0)
    return int(state.classes[block & layout.CLASS_MASK]["usable"])


@hit_path
def place_of(state: State, block: int) -> int:
    """Return the model address of a live block (model/memory/layout.py)."""
    if block >= HUGE_CODE:
        return huge_at(block)
    if block >= RUN_CODE:
        return layout.RUNS + (block - RUN_CODE) * PAGE
    return block_at(state, block)


@kernel
def address_of(state: State, block: int) -> int:
    """Return the address code of a handle (docs/machine.md, 'address space'), or -1 for a null pointer."""
    if block < 0 or block >= RUN_CODE:
        return block
    return block_at(state, block)
