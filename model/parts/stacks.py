"""Stacks that go by row: what a pop, a push and the first block of one touch; docs/machine-rooms.md, 'front'."""

from heapsmith.model.compile.kernel import hit_path, kernel
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import class_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.parts.front_questions import capacity_lines


@kernel
def open_lines(state: State, front: int, cls: int) -> None:
    """Touch what the opening of a stack touches for its first block, if it is not open."""
    if state.fronts[front]["closed_at"] > 0:
        state.fronts[front]["closed_at"] = 0
        capacity_lines(state, front, cls)
        touch(state.listener, int(state.fronts[front]["end_at"]), 1)


@hit_path
def own_slots_lines(state: State, front: int, cls: int) -> None:
    """Touch where the class's row says that a stack's slots are; those of a compact one are where its number says."""
    if state.fronts[front]["moves_to"] == 0:
        touch(state.listener, class_at(cls) + layout.CLASS_SLOT, 0)


@hit_path
def row_pop_lines(state: State, front: int, held: int) -> None:
    """Touch what a pop touches: the top, and the slot below (NULL under the oldest block)."""
    touch(state.listener, int(state.fronts[front]["top_at"]), 1)
    closed = int(state.fronts[front]["closed_at"])
    touch(state.listener, closed if closed > 0 else int(state.fronts[front]["slots_at"]) + layout.WORD * (held - 1), 0)


@hit_path
def stack_push_lines(state: State, front: int, held: int, capacity: int) -> None:
    """Touch what a push on `held` blocks touches: the top, the end, and a slot if it has room."""
    touch(state.listener, int(state.fronts[front]["top_at"]), 1)
    touch(state.listener, int(state.fronts[front]["end_at"]), 0)
    if held < capacity:
        touch(state.listener, int(state.fronts[front]["slots_at"]) + layout.WORD * held, 1)
