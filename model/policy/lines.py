"""Lines: the cache lines that malloc and free touch on their way to a front and in it, policy by policy."""

from heapsmith.model.compile.kernel import hit_path, kernel
from heapsmith.model.constants import PAGE
from heapsmith.model.memory.layout import (
    ALLOC_OF,
    CLASS_BYTES,
    CLASS_CAPACITY,
    CLASS_DRAIN,
    CLASS_FIRST,
    CLASS_SLOT,
    CLASS_STRIDE,
    CLASSES,
    COUNT_FLUSH,
    COUNT_HIT1,
    COUNT_SPILL,
    FREE_OF,
    FRONT_HELD,
    FRONT_LISTED,
    SIZE_CLASS,
    SLAB_CLASS,
    SLAB_OWNER,
    SLAB_SHIFT,
    WORD,
    block_at,
    count_at,
    heap_at,
    slab_at,
)
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.policy.dispatch import (
    ARRAY_STACK,
    FIFO_RING,
    HEADER,
    LINKED_LIST,
    LOCAL_CACHE,
    NONE,
    SLAB_MAP,
    TWO_LEVEL,
)
from heapsmith.model.policy.front.array_stack import push_lines as array_stack_push_lines
from heapsmith.model.policy.front.common import (
    links_lines,
    list_lines,
    slots_lines,
    stack_fill_lines,
    stack_pop_lines,
    stack_push_lines,
)
from heapsmith.model.policy.front.fifo_ring import fill_lines as fifo_ring_fill_lines
from heapsmith.model.policy.front.fifo_ring import pop_lines as fifo_ring_pop_lines
from heapsmith.model.policy.front.fifo_ring import push_lines as fifo_ring_push_lines
from heapsmith.model.policy.front.linked_list import fill_lines as linked_list_fill_lines
from heapsmith.model.policy.front.linked_list import pop_lines as linked_list_pop_lines
from heapsmith.model.policy.front.linked_list import push_lines as linked_list_push_lines
from heapsmith.model.policy.front.two_level import promote_lines as two_level_promote_lines
from heapsmith.model.policy.front.two_level import push_lines as two_level_push_lines


@hit_path
def is_stack(kind: int) -> bool:
    """Whether level 0 of such a front is an array stack."""
    return kind in (ARRAY_STACK, TWO_LEVEL)


@hit_path
def alloc_lines(state: State, heap: int, front: int, cls: int, size: int, is_new: bool) -> None:
    """Of an allocation of `size` bytes up to and in its front; a refill adds what it takes. is_new: the thread has just
    got this heap, and has looked for a block in the rows of none."""
    kind = int(state.classes[cls]["front"])
    is_hit = state.fronts[front]["held"] > 0
    if state.by_row == 1 and not is_new:
        if size <= state.direct_limit:
            touch(state.touched, heap_at(state, heap) + state.heap_row_of + size, 0)
        else:
            size_lines(state, size)
        stack_pop_lines(state, front, int(state.fronts[front]["held"]) if is_stack(kind) else 0)
        if is_stack(kind) and is_hit:
            return
    size_lines(state, size)
    touch(state.touched, ALLOC_OF + WORD * cls, 0)
    if not is_new:
        pop_lines(state, front, cls, kind)


@hit_path
def size_lines(state: State, size: int) -> None:
    """Of the class of a size, looked up."""
    entry = (size + state.bias + state.grain - 1) >> state.grain_shift
    touch(state.touched, SIZE_CLASS + entry, 0)


@kernel
def pop_lines(state: State, front: int, cls: int, kind: int) -> None:
    """Of the class's own alloc function."""
    if is_stack(kind):
        stack_pop_lines(state, front, int(state.fronts[front]["held"]))
    elif kind == FIFO_RING:
        fifo_ring_pop_lines(state, front, cls)
    elif kind == LINKED_LIST:
        linked_list_pop_lines(state, front, cls)


@kernel
def drained_lines(state: State, front: int, cls: int) -> None:
    """Of an allocation that looks into level 0 again, after a drain."""
    kind = int(state.classes[cls]["front"])
    if is_stack(kind):
        touch(state.touched, CLASSES + cls * CLASS_BYTES + CLASS_SLOT, 0)
    elif kind != NONE:
        touch(state.touched, int(state.fronts[front]["front_at"]) + FRONT_HELD, 0)
    if state.fronts[front]["held"] > 0:
        pop_lines(state, front, cls, kind)
        if kind == FIFO_RING:
            touch(state.touched, CLASSES + cls * CLASS_BYTES + CLASS_CAPACITY, 0)
            touch(state.touched, CLASSES + cls * CLASS_BYTES + CLASS_SLOT, 0)


@kernel
def promote_lines(state: State, heap: int, front: int, cls: int) -> None:
    """Of a promotion, if the front has a level 1."""
    if state.classes[cls]["front"] == TWO_LEVEL:
        two_level_promote_lines(state, front, cls)
        if state.fronts[front]["below"] > 0:
            touch(state.touched, count_at(state, heap, cls) + COUNT_HIT1, 1)


@kernel
def fill_lines(state: State, front: int, cls: int, count: int) -> None:
    """Of a refill of `count` blocks into the front, and of the headers that it writes."""
    kind = int(state.classes[cls]["front"])
    if is_stack(kind):
        stack_fill_lines(state, front, cls, count)
    elif kind == FIFO_RING:
        fifo_ring_fill_lines(state, front, cls, count)
    elif kind == LINKED_LIST:
        linked_list_fill_lines(state, front, cls, count)
    if state.classifier_code == HEADER:
        for index in range(count):
            header_lines(state, int(state.moved[index]), 1)


@kernel
def header_lines(state: State, block: int, write: int) -> None:
    """Of a block's header, 8 bytes before it."""
    touch(state.touched, block_at(state, block) - WORD, write)


@hit_path
def class_lines(state: State, block: int) -> None:
    """Of the class of a block that comes back."""
    slab = block >> SLAB_SHIFT
    if state.classifier_code == SLAB_MAP:
        touch(state.touched, SLAB_CLASS + int(state.slabs[slab]["place"]), 0)
    elif state.classifier_code == HEADER:
        header_lines(state, block, 0)


@hit_path
def owner_lines(state: State, block: int) -> None:
    """Of the owner of a block that is freed."""
    if state.remote_code != LOCAL_CACHE:
        touch(state.touched, slab_at(state, block >> SLAB_SHIFT) + SLAB_OWNER, 0)


@hit_path
def free_lines(state: State, heap: int, front: int, cls: int, block: int, by_row: int) -> None:
    """Of a free into the front of its class, an overflow up to what it gives to the store. by_row: through the row of
    its class first."""
    kind = int(state.classes[cls]["front"])
    if by_row == 1:
        held = int(state.fronts[front]["held"]) if is_stack(kind) else 0
        capacity = int(state.classes[cls]["capacity"]) if is_stack(kind) else 0
        stack_push_lines(state, front, held, capacity)
        if held < capacity:
            return
    touch(state.touched, FREE_OF + WORD * (1 + cls), 0)
    push_lines(state, front, cls, block, kind)
    if kind != NONE and state.fronts[front]["held"] == state.classes[cls]["capacity"]:
        counts = count_at(state, heap, cls)
        spill = int(state.classes[cls]["spill_batch"])
        if kind == TWO_LEVEL:
            touch(state.touched, counts + COUNT_SPILL, 1)
        if kind != TWO_LEVEL or state.fronts[front]["below"] + spill > state.classes[cls]["list_capacity"]:
            touch(state.touched, counts + COUNT_FLUSH, 1)
            touch(state.touched, counts + COUNT_FLUSH + WORD, 1)


@kernel
def push_lines(state: State, front: int, cls: int, block: int, kind: int) -> None:
    """Of the class's own free function."""
    if kind == ARRAY_STACK:
        array_stack_push_lines(state, front, cls, block)
    elif kind == TWO_LEVEL:
        two_level_push_lines(state, front, cls, block)
    elif kind == FIFO_RING:
        fifo_ring_push_lines(state, front, cls, block)
    elif kind == LINKED_LIST:
        linked_list_push_lines(state, front, cls, block)


@kernel
def drain_lines(state: State, front: int, cls: int) -> None:
    """Of a front that is emptied at its thread's exit."""
    kind = int(state.classes[cls]["front"])
    touch(state.touched, CLASSES + cls * CLASS_BYTES + CLASS_DRAIN, 0)
    if kind == NONE:
        return
    base, held, below = (
        int(state.fronts[front]["base"]),
        int(state.fronts[front]["held"]),
        int(state.fronts[front]["below"]),
    )
    if is_stack(kind):
        touch(state.touched, int(state.fronts[front]["top_at"]), 1)
        slots_lines(state, front, cls, held, CLASS_SLOT)
    if kind == TWO_LEVEL:
        touch(state.touched, int(state.fronts[front]["front_at"]) + FRONT_LISTED, 1)
        if below > 0:
            list_lines(state, front, FRONT_LISTED)
    elif kind == LINKED_LIST:
        list_lines(state, front, FRONT_HELD)
        links_lines(state, state.slots, base, held, 0)
    elif kind == FIFO_RING:
        touch(state.touched, int(state.fronts[front]["front_at"]), 1)
        last = int(state.classes[cls]["capacity"]) - 1
        for index in range(held):
            place = (int(state.fronts[front]["head"]) + index) & last
            touch(state.touched, int(state.fronts[front]["slots_at"]) + WORD * place, 0)
    links_lines(state, state.slots, base + int(state.classes[cls]["capacity"]), below, 0)


@kernel
def aligned_lines(state: State, cls: int, size: int, align: int) -> None:
    """Of the search for class `cls` (-1: none) that serves `size` bytes aligned to `align`."""
    bias = state.bias
    least = ((size + bias + align - 1) & -align) - bias
    if least > state.small_limit or align > PAGE:
        return
    size_lines(state, least)
    last = cls if cls >= 0 else state.class_count - 1
    for row in range(last + 1):
        if state.classes[row]["usable"] >= least:
            touch(state.touched, CLASSES + row * CLASS_BYTES + CLASS_STRIDE, 0)
            touch(state.touched, CLASSES + row * CLASS_BYTES + CLASS_FIRST, 0)
    if cls >= 0:
        touch(state.touched, CLASSES + cls * CLASS_BYTES, 0)
