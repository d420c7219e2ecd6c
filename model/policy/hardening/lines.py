"""Lines of hardening: what checks, canaries, zeroing and the quarantine touch (runtime/hardening, runtime/live.h)."""

from heapsmith.model.compile.kernel import Ints, Records, hit_path, kernel
from heapsmith.model.constants import PAGE
from heapsmith.model.memory.layout import (
    CLASS_BYTES,
    CLASS_MASK,
    CLASSES,
    LIVE,
    SLAB_CLASS_NUMBER,
    SLAB_SHIFT,
    SPAN,
    WORD,
    block_at,
    heap_at,
    slab_at,
)
from heapsmith.model.memory.touches import gone, touch, touch_bytes


@hit_path
def live_lines(touched: Ints, machine: Records, classes: Records, slabs: Records, block: int, write: int) -> None:
    """Of a small block's byte in the live map."""
    if machine[0]["live_map"] == 1:
        offset = block_at(machine, classes, slabs, block) - SPAN
        touch(touched, LIVE + (offset >> int(machine[0]["grain_shift"])), write)


@hit_path
def born_lines(touched: Ints, machine: Records, classes: Records, slabs: Records, block: int) -> None:
    """Of a small block that goes to the program."""
    if machine[0]["tail_bytes"] > 0:
        sealed_lines(touched, machine, classes, slabs, block, 1)
    live_lines(touched, machine, classes, slabs, block, 1)


@hit_path
def dies_lines(touched: Ints, machine: Records, classes: Records, slabs: Records, block: int) -> None:
    """Of a small block that the program frees."""
    live_lines(touched, machine, classes, slabs, block, 1)
    if machine[0]["tail_bytes"] > 0:
        sealed_lines(touched, machine, classes, slabs, block, 0)


@kernel
def sealed_lines(touched: Ints, machine: Records, classes: Records, slabs: Records, block: int, is_born: int) -> None:
    """Of a small block with a canary behind it: all of it is looked at when it is born, and cleared when it dies."""
    cls = block & CLASS_MASK
    at, usable = block_at(machine, classes, slabs, block), int(classes[cls]["usable"])
    touch(touched, slab_at(slabs, block >> SLAB_SHIFT) + SLAB_CLASS_NUMBER, 0)
    touch(touched, CLASSES + cls * CLASS_BYTES, 0)
    touch_bytes(touched, at, usable + int(machine[0]["tail_bytes"]), 1 - is_born)
    if is_born:
        touch_bytes(touched, at + usable, int(machine[0]["tail_bytes"]), 1)


@hit_path
def given_lines(touched: Ints, machine: Records, classes: Records, slabs: Records, block: int) -> None:
    """Of a small block that is given back to its slab: all of it must be zero, its header too."""
    if machine[0]["tail_bytes"] > 0 and machine[0]["header_bytes"] > 0:
        touch(touched, block_at(machine, classes, slabs, block) - WORD, 1)


@hit_path
def large_tail_lines(touched: Ints, machine: Records, at: int, pages: int, write: int) -> None:
    """Of the canary behind a large block of so many pages."""
    tail = int(machine[0]["tail_bytes"])
    if tail > 0:
        touch(touched, at + pages * PAGE - tail, write)


@kernel
def quarantine_lines(touched: Ints, machine: Records, heap: int, place: int) -> None:
    """Of a place of a heap's quarantine, and of its counts."""
    at = heap_at(machine, heap) + int(machine[0]["heap_quarantine"])
    touch(touched, at, 1)
    touch(touched, at + WORD + WORD * place, 1)


@kernel
def map_is_committed(machine: Records) -> None:
    """The live map of a superslab is made accessible."""
    machine[0]["map_calls"] += machine[0]["live_map"]


@kernel
def map_is_released(touched: Ints, machine: Records, place: int) -> None:
    """The live map of the slab at this place goes back to the OS where it has pages of its own."""
    size = int(machine[0]["slab_bytes"]) >> int(machine[0]["grain_shift"])
    if machine[0]["live_map"] == 1 and size >= PAGE:
        machine[0]["map_calls"] += 1
        gone(touched, LIVE + place * size, size)
