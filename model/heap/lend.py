"""Rounding: a larger class's front lends a block to an empty front; docs/machine.md section 4."""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import class_at, count_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.policy.front import front_look_lines, front_pop


@kernel
def lent(state: State, heap: int, cls: int) -> int:
    """Take a block of the first larger class that lends one, into moved[0]; return how many, 0 or 1."""
    mask = int(state.classes[cls]["lend_mask"])
    for larger in range(cls + 1, int(state.classes[cls]["lend_end"])):
        state.lend_looks += 1
        front = heap * state.class_count + larger
        touch(state.listener, class_at(larger) + layout.CLASS_STRIDE, 0)
        if int(state.classes[larger]["stride"]) & mask == 0 and state.classes[larger]["capacity"] > 0:
            if state.classes[larger]["stack"] > 0:
                touch(state.listener, int(state.fronts[front]["top_at"]), 0)
            front_look_lines(state, front, larger)
            block = front_pop(state, front, larger)
            if block >= 0:
                touch(state.listener, count_at(state, heap, cls) + layout.COUNT_HIT1, 1)
                state.classes[cls]["hit1"] += 1
                state.moved[0] = block
                return 1
    return 0
