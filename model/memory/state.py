"""State: the arrays that a kernel of the machine takes, under their names; model/heap/arrays.py says what they hold."""

from heapsmith.model.compile.kernel import Ints, Records
from heapsmith.model.trace.columns import Columns


class State(Columns):
    """The whole state of one machine, its listener's array, and the columns of the chunk that it follows.

    addresses: empty, or for each event of the chunk the address code of the block that it allocated or resized, else
    -1. A field of the one record of `scalars` is an attribute too: `state.live_bytes += asked`.
    """

    touched: Ints
    scalars: Records
    classes: Records
    lookup: Ints
    threads: Ints
    heaps: Records
    fronts: Records
    slots: Ints
    stores: Records
    slabs: Records
    marks: Ints
    nodes: Records
    pages: Records
    bins: Ints
    blocks: Records
    moved: Ints
    addresses: Ints
    timeline: Records
