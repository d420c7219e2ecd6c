"""What both places of slab records have in common: alignment, and the class's numbers."""

from typing import Any, Literal

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import SLAB_BYTES, SLAB_CLASS_BYTES, Record, class_at, slab_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch

LINE = 64

Alignment = Literal["packed", "line"]
ClassNumbers = Literal["plan", "record"]


def record_numbers(params: Any) -> dict[str, int]:
    """Return the numbers of such a record; its alignment, and else those that are not 0."""
    class_bytes = SLAB_CLASS_BYTES if params.class_numbers == "record" else 0
    alignment = LINE if params.alignment == "line" else 0
    size = SLAB_BYTES + class_bytes
    if alignment:
        size = -(-size // alignment) * alignment
    extra = size - SLAB_BYTES
    numbers = {"record_class_bytes": class_bytes, "record_extra": extra}
    return {"record_alignment": alignment} | {name: number for name, number in numbers.items() if number}


def record_of(numbers: dict[str, int]) -> Record:
    """Return where records lie and how long they are, by the numbers of a row."""
    size = SLAB_BYTES + numbers.get("record_extra", 0)
    return Record(size, numbers.get("record_class_bytes", 0), numbers.get("head_slabs", 0))


def record_files(params: Any) -> dict[str, str]:
    """Return the headers of such a record: what it holds of its class, and where the class's numbers are read."""
    if params.class_numbers == "record":
        return {"fields": "copy", "numbers": "of_record"}
    return {"fields": "no_copy", "numbers": "of_class"}


@kernel
def stride_lines(state: State, cls: int) -> None:
    """Touch the stride in the class's row, unless records have it."""
    if state.record_class_bytes == 0:
        touch(state.listener, class_at(cls) + layout.CLASS_STRIDE, 0)


@kernel
def visit_lines(state: State, slab: int) -> None:
    """Touch the class's numbers in the record."""
    if state.record_class_bytes > 0:
        touch(state.listener, slab_at(state, slab) - layout.SLAB_CLASS_BYTES, 0)


@kernel
def slab_acquired(state: State, heap: int, cls: int, slab: int) -> None:
    """Copy the class's numbers into the record."""
    if state.record_class_bytes > 0:
        touch(state.listener, slab_at(state, slab) - layout.SLAB_CLASS_BYTES, 1)
        touch(state.listener, class_at(cls) + layout.CLASS_STRIDE, 0)
        touch(state.listener, class_at(cls) + layout.CLASS_FIRST, 0)
        touch(state.listener, class_at(cls) + state.block_index_at, 0)
