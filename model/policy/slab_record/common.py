"""What both places of slab records have in common: alignment, and the class's numbers."""

from typing import Any, Literal

from heapsmith.model.memory.layout import SLAB_BYTES, SLAB_CLASS_BYTES

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


def record_files(params: Any) -> dict[str, str]:
    """Return the headers of such a record: what it holds of its class, and where the class's numbers are read."""
    if params.class_numbers == "record":
        return {"fields": "copy", "numbers": "of_record"}
    return {"fields": "no_copy", "numbers": "of_class"}
