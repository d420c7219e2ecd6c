"""The loop: a chunk of a trace's events, one after the other, each accounted for; the entry of the compiled model."""

from heapsmith.model.events import (
    ALIGNED,
    ALREADY_LIVE,
    DEAD,
    FREE,
    FREE_SIZED,
    NEGATIVE_SIZE,
    NO_SUCH_OPERATION,
    NOT_LIVE,
    REALLOC,
    THREAD_EXIT,
    address_of,
    allocate,
    block_bytes,
    fits_in_place,
    free,
    note_peaks,
    sample,
)
from heapsmith.model.heap import NO_BLOCK, exit_thread
from heapsmith.model.kernel import Columns, Ints, Records, kernel


@kernel
def stop(state: Records, fault: int) -> None:
    """The event cannot be: say why and stop after it."""
    state[0]["fault"] = fault
    state[0]["full"] = 1


@kernel
def account(
    classes: Records, pages: Records, stats: Records, blocks: Records, name: int, handle: int, asked: int
) -> None:
    """Block `name` is born with this handle and size."""
    blocks[name]["handle"] = handle
    blocks[name]["asked"] = asked
    if handle >= 0:
        stats[0]["live_blocks"] += 1
        stats[0]["live_bytes"] += asked
        stats[0]["live_block_bytes"] += block_bytes(classes, pages, handle, asked)


@kernel
def discount(classes: Records, pages: Records, stats: Records, blocks: Records, name: int) -> None:
    """Block `name` dies (before its pages are merged with others)."""
    handle = int(blocks[name]["handle"])
    asked = int(blocks[name]["asked"])
    blocks[name]["handle"] = DEAD
    if handle >= 0:
        stats[0]["live_blocks"] -= 1
        stats[0]["live_bytes"] -= asked
        stats[0]["live_block_bytes"] -= block_bytes(classes, pages, handle, asked)
