"""Columns: the events of a chunk as kernels take them."""

import numpy as np

from heapsmith.model.compile.kernel import Arrays, Bytes, Ints, Numbers
from heapsmith.model.trace.events import Chunk


class Columns(Arrays):
    """The base of a kernel's state that follows events: an array per field except times."""

    op: Bytes
    thread: Numbers
    block: Numbers
    size: Ints
    align_log2: Bytes

    def follow(self, chunk: Chunk) -> None:
        """Follow the events of a chunk next; columns of other types are copied."""
        for name, item in Columns.ITEMS.items():
            setattr(self, name, np.require(getattr(chunk, name), item, ("C", "A", "W")))
