"""`heapsmith pins`: how full the slabs of a running process are, and what keeps their pages resident."""

import msgspec
import numpy as np

from heapsmith.model.errors import BadInput
from heapsmith.tools.common.process_memory import Gone, ProcessMemory
from heapsmith.tools.top.blocks import Blocks
from heapsmith.tools.top.process import PAGE_BYTES, command
from heapsmith.tools.top.top import WITHOUT
from heapsmith.tools.top.view import serving


class PinnedClass(msgspec.Struct, frozen=True):
    """The slabs of a size class.

    slab_bytes: their committed bytes. live_bytes: those of the blocks with the program, and sparse_bytes: committed
    bytes of slabs of which at most a tenth is live. idle_bytes: of whole pages in which no block is live.
    compaction_bytes: what remained if the live blocks moved together.
    """

    size: int
    slabs: int
    slab_bytes: int
    live_blocks: int
    live_bytes: int
    sparse_slabs: int
    sparse_bytes: int
    idle_bytes: int
    compaction_bytes: int


class Pins(msgspec.Struct, frozen=True):
    """What small blocks keep resident in a process; the classes with most to win first.

    is_exact: whether each block is known to be live or free. Else those that moved meanwhile, or that wait where the
    design does not tell, count as live.
    """

    pid: int
    command: list[str]
    design: str
    is_exact: bool
    slab_bytes: int
    live_bytes: int
    idle_bytes: int
    compaction_bytes: int
    empty_slab_bytes: int
    classes: list[PinnedClass]


SPARSE = 10
"""A slab is sparse where at most a tenth of its committed bytes is live."""


def look_at_pins(pid: int) -> Pins:
    """Read the slabs of a process. Raises BadInput if there is none or it runs under no heapsmith library, Missing if
    its memory may not be read.
    """
    words = command(pid)
    try:
        with ProcessMemory(pid) as memory:
            view = serving(memory)
            if view is None:
                raise BadInput(f"process {pid} runs {WITHOUT}")
            blocks = Blocks(memory, view)
            empty = view.picture(memory).empty_slab_bytes
            classes = [_class(blocks, number) for number in range(len(view.usable))]
    except Gone as error:
        raise BadInput(f"{pid}: no such process" if not words else f"process {pid} went on or ended: {error}") from None
    found = sorted((one for one in classes if one.slabs), key=lambda one: -one.compaction_bytes)
    sums = {
        name: sum(getattr(one, name) for one in found)
        for name in ("slab_bytes", "live_bytes", "idle_bytes", "compaction_bytes")
    }
    return Pins(
        pid=pid,
        command=words,
        design=view.design,
        is_exact=not any(blocks.hidden),
        empty_slab_bytes=empty,
        classes=found,
        **sums,
    )


def _class(blocks: Blocks, number: int) -> PinnedClass:
    """The slabs in use of a class."""
    slabs = [slab for slab in blocks.slabs.values() if slab.size_class == number and not slab.is_empty]
    stride, first = blocks.stride(number), blocks.first(number)
    live_blocks = idle = sparse = sparse_bytes = 0
    for slab in slabs:
        live = np.flatnonzero(blocks.live(slab))
        live_blocks += len(live)
        used = np.zeros(-(-slab.committed // PAGE_BYTES) + 1, np.int64)
        np.add.at(used, np.minimum((first + live * stride) // PAGE_BYTES, len(used) - 1), 1)
        np.add.at(used, np.minimum((first + (live + 1) * stride - 1) // PAGE_BYTES + 1, len(used) - 1), -1)
        idle += int((np.cumsum(used)[:-1] == 0).sum()) * PAGE_BYTES
        if len(live) * stride * SPARSE <= slab.committed:
            sparse, sparse_bytes = sparse + 1, sparse_bytes + slab.committed
    committed = sum(slab.committed for slab in slabs)
    packed = -(-live_blocks * stride // PAGE_BYTES) * PAGE_BYTES
    return PinnedClass(
        size=stride,
        slabs=len(slabs),
        slab_bytes=committed,
        live_blocks=live_blocks,
        live_bytes=live_blocks * stride,
        sparse_slabs=sparse,
        sparse_bytes=sparse_bytes,
        idle_bytes=idle,
        compaction_bytes=max(0, committed - packed),
    )
