"""Columns: the events of a chunk as kernels take them."""

import numpy as np

from heapsmith.model.compile.kernel import Arrays, Bytes, Ints, Numbers
from heapsmith.model.trace.events import Chunk


class Columns(Arrays):
    """The base of a kernel's state that follows events: one array per field of the chunk but for the times."""

    op: Bytes
    thread: Numbers
    block: Numbers
    size: Ints
    align_log2: Bytes

    def follow(self, chunk: Chunk) -> None:
        """The events of a chunk are the next; its columns are copied where their type is another than above."""
        for name, item in Columns.ITEMS.items():
            setattr(self, name, np.require(getattr(chunk, name), item, ("C", "A", "W")))
