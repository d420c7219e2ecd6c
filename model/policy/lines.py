"""Lines: the cache lines that malloc and free touch on their way to a front and in it, policy by policy."""

from heapsmith.model.compile.kernel import Ints, Records, hit_path, kernel
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
def alloc_lines(
    touched: Ints, machine: Records, classes: Records, fronts: Records, slots: Ints, slabs: Records, heap: int,
    front: int, cls: int, size: int, is_new: bool,
) -> None:  # fmt: skip
    """Of an allocation of `size` bytes up to and in its front; a refill adds what it takes. is_new: the thread has just
    got this heap, and has looked for a block in the rows of none."""
    kind = int(classes[cls]["front"])
    is_hit = fronts[front]["held"] > 0
    if machine[0]["by_row"] == 1 and not is_new:
        if size <= machine[0]["direct_limit"]:
            touch(touched, heap_at(machine, heap) + int(machine[0]["heap_row_of"]) + size, 0)
        else:
            size_lines(touched, machine, size)
        stack_pop_lines(touched, fronts, front, int(fronts[front]["held"]) if is_stack(kind) else 0)
        if is_stack(kind) and is_hit:
            return
    size_lines(touched, machine, size)
    touch(touched, ALLOC_OF + WORD * cls, 0)
    if not is_new:
        pop_lines(touched, machine, classes, fronts, slots, slabs, front, cls, kind)


@hit_path
def size_lines(touched: Ints, machine: Records, size: int) -> None:
    """Of the class of a size, looked up."""
    entry = (size + int(machine[0]["bias"]) + int(machine[0]["grain"]) - 1) >> int(machine[0]["grain_shift"])
    touch(touched, SIZE_CLASS + entry, 0)


@kernel
def pop_lines(
    touched: Ints, machine: Records, classes: Records, fronts: Records, slots: Ints, slabs: Records, front: int,
    cls: int, kind: int,
) -> None:  # fmt: skip
    """Of the class's own alloc function."""
    if is_stack(kind):
        stack_pop_lines(touched, fronts, front, int(fronts[front]["held"]))
    elif kind == FIFO_RING:
        fifo_ring_pop_lines(touched, machine, classes, fronts, slots, slabs, front, cls)
    elif kind == LINKED_LIST:
        linked_list_pop_lines(touched, machine, classes, fronts, slots, slabs, front, cls)


@kernel
def drained_lines(
    touched: Ints,
    machine: Records,
    classes: Records,
    fronts: Records,
    slots: Ints,
    slabs: Records,
    front: int,
    cls: int,
) -> None:
    """Of an allocation that looks into level 0 again, after a drain."""
    kind = int(classes[cls]["front"])
    if is_stack(kind):
        touch(touched, CLASSES + cls * CLASS_BYTES + CLASS_SLOT, 0)
    elif kind != NONE:
        touch(touched, int(fronts[front]["front_at"]) + FRONT_HELD, 0)
    if fronts[front]["held"] > 0:
        pop_lines(touched, machine, classes, fronts, slots, slabs, front, cls, kind)
        if kind == FIFO_RING:
            touch(touched, CLASSES + cls * CLASS_BYTES + CLASS_CAPACITY, 0)
            touch(touched, CLASSES + cls * CLASS_BYTES + CLASS_SLOT, 0)


@kernel
def promote_lines(
    touched: Ints, machine: Records, classes: Records, fronts: Records, slots: Ints, slabs: Records, heap: int,
    front: int, cls: int,
) -> None:  # fmt: skip
    """Of a promotion, if the front has a level 1."""
    if classes[cls]["front"] == TWO_LEVEL:
        two_level_promote_lines(touched, machine, classes, fronts, slots, slabs, front, cls)
        if fronts[front]["below"] > 0:
            touch(touched, count_at(machine, heap, cls) + COUNT_HIT1, 1)


@kernel
def fill_lines(
    touched: Ints, machine: Records, classes: Records, fronts: Records, slabs: Records, front: int, cls: int,
    moved: Ints, count: int,
) -> None:  # fmt: skip
    """Of a refill of `count` blocks into the front, and of the headers that it writes."""
    kind = int(classes[cls]["front"])
    if is_stack(kind):
        stack_fill_lines(touched, fronts, front, cls, count)
    elif kind == FIFO_RING:
        fifo_ring_fill_lines(touched, fronts, front, cls, count)
    elif kind == LINKED_LIST:
        linked_list_fill_lines(touched, machine, classes, fronts, slabs, front, cls, moved, count)
    if machine[0]["classifier_code"] == HEADER:
        for index in range(count):
            header_lines(touched, machine, classes, slabs, int(moved[index]), 1)


@kernel
def header_lines(touched: Ints, machine: Records, classes: Records, slabs: Records, block: int, write: int) -> None:
    """Of a block's header, 8 bytes before it."""
    touch(touched, block_at(machine, classes, slabs, block) - WORD, write)


@hit_path
def class_lines(touched: Ints, machine: Records, classes: Records, slabs: Records, block: int) -> None:
    """Of the class of a block that comes back."""
    slab = block >> SLAB_SHIFT
    if machine[0]["classifier_code"] == SLAB_MAP:
        touch(touched, SLAB_CLASS + int(slabs[slab]["place"]), 0)
    elif machine[0]["classifier_code"] == HEADER:
        header_lines(touched, machine, classes, slabs, block, 0)


@hit_path
def owner_lines(touched: Ints, machine: Records, slabs: Records, block: int) -> None:
    """Of the owner of a block that is freed."""
    if machine[0]["remote_code"] != LOCAL_CACHE:
        touch(touched, slab_at(slabs, block >> SLAB_SHIFT) + SLAB_OWNER, 0)


@hit_path
def free_lines(
    touched: Ints, machine: Records, classes: Records, fronts: Records, slots: Ints, slabs: Records, heap: int,
    front: int, cls: int, block: int, by_row: int,
) -> None:  # fmt: skip
    """Of a free into the front of its class, an overflow up to what it gives to the store. by_row: through the row of
    its class first."""
    kind = int(classes[cls]["front"])
    if by_row == 1:
        held = int(fronts[front]["held"]) if is_stack(kind) else 0
        capacity = int(classes[cls]["capacity"]) if is_stack(kind) else 0
        stack_push_lines(touched, fronts, front, held, capacity)
        if held < capacity:
            return
    touch(touched, FREE_OF + WORD * (1 + cls), 0)
    push_lines(touched, machine, classes, fronts, slots, slabs, front, cls, block, kind)
    if kind != NONE and fronts[front]["held"] == classes[cls]["capacity"]:
        counts = count_at(machine, heap, cls)
        spill = int(classes[cls]["spill_batch"])
        if kind == TWO_LEVEL:
            touch(touched, counts + COUNT_SPILL, 1)
        if kind != TWO_LEVEL or fronts[front]["below"] + spill > classes[cls]["list_capacity"]:
            touch(touched, counts + COUNT_FLUSH, 1)
            touch(touched, counts + COUNT_FLUSH + WORD, 1)


@kernel
def push_lines(
    touched: Ints, machine: Records, classes: Records, fronts: Records, slots: Ints, slabs: Records, front: int,
    cls: int, block: int, kind: int,
) -> None:  # fmt: skip
    """Of the class's own free function."""
    if kind == ARRAY_STACK:
        array_stack_push_lines(touched, machine, classes, fronts, slots, slabs, front, cls, block)
    elif kind == TWO_LEVEL:
        two_level_push_lines(touched, machine, classes, fronts, slots, slabs, front, cls, block)
    elif kind == FIFO_RING:
        fifo_ring_push_lines(touched, machine, classes, fronts, slots, slabs, front, cls, block)
    elif kind == LINKED_LIST:
        linked_list_push_lines(touched, machine, classes, fronts, slots, slabs, front, cls, block)


@kernel
def drain_lines(
    touched: Ints,
    machine: Records,
    classes: Records,
    fronts: Records,
    slots: Ints,
    slabs: Records,
    front: int,
    cls: int,
) -> None:
    """Of a front that is emptied at its thread's exit."""
    kind = int(classes[cls]["front"])
    touch(touched, CLASSES + cls * CLASS_BYTES + CLASS_DRAIN, 0)
    if kind == NONE:
        return
    base, held, below = int(fronts[front]["base"]), int(fronts[front]["held"]), int(fronts[front]["below"])
    if is_stack(kind):
        touch(touched, int(fronts[front]["top_at"]), 1)
        slots_lines(touched, fronts, front, cls, held, CLASS_SLOT)
    if kind == TWO_LEVEL:
        touch(touched, int(fronts[front]["front_at"]) + FRONT_LISTED, 1)
        if below > 0:
            list_lines(touched, fronts, front, FRONT_LISTED)
    elif kind == LINKED_LIST:
        list_lines(touched, fronts, front, FRONT_HELD)
        links_lines(touched, machine, classes, slabs, slots, base, held, 0)
    elif kind == FIFO_RING:
        touch(touched, int(fronts[front]["front_at"]), 1)
        last = int(classes[cls]["capacity"]) - 1
        for index in range(held):
            place = (int(fronts[front]["head"]) + index) & last
            touch(touched, int(fronts[front]["slots_at"]) + WORD * place, 0)
    links_lines(touched, machine, classes, slabs, slots, base + int(classes[cls]["capacity"]), below, 0)


@kernel
def aligned_lines(touched: Ints, machine: Records, classes: Records, cls: int, size: int, align: int) -> None:
    """Of the search for class `cls` (-1: none) that serves `size` bytes aligned to `align`."""
    bias = int(machine[0]["bias"])
    least = ((size + bias + align - 1) & -align) - bias
    if least > machine[0]["small_limit"] or align > PAGE:
        return
    size_lines(touched, machine, least)
    last = cls if cls >= 0 else int(machine[0]["class_count"]) - 1
    for row in range(last + 1):
        if classes[row]["usable"] >= least:
            touch(touched, CLASSES + row * CLASS_BYTES + CLASS_STRIDE, 0)
            touch(touched, CLASSES + row * CLASS_BYTES + CLASS_FIRST, 0)
    if cls >= 0:
        touch(touched, CLASSES + cls * CLASS_BYTES, 0)
