"""The arrays that a kernel of the simulator takes, by name (model/heap/records.py)."""

from heapsmith.model.compile.kernel import Bytes, Ints, Numbers, Records
from heapsmith.model.trace.events import Columns


class State(Columns):
    """The state of a simulator, its listener's array, and the columns of the chunk that it follows.

    addresses: empty, or the address code of the block that each event of the chunk returned, or -1.
    groups: empty, or the group of call sites of each event of the chunk.
    processors: empty, or the processor of each event, where heaps belong to processors.
    samplers: empty, or what each thread draws samples by. samples_of: empty, or 1 for each block that is a sample.
    guards: empty, or the slots of guarded samples that were freed.
    homes: empty, or the shard of the node of each event, where shards belong to nodes.
    cores: empty without a listener, else the number of each event's core, before the modulus.
    meter, paths, charges, scalar_words and class_words (the words of scalars and classes) are for
    model/parts/charge.py, and empty where no event is charged. A field of the single record of
    `scalars` is an attribute too: `state.live_bytes += asked`.
    """

    listener: Ints
    scalars: Records
    classes: Records
    lookup: Ints
    levels: Ints
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
    kept: Records
    blocks: Records
    moved: Ints
    addresses: Ints
    groups: Bytes
    processors: Ints
    homes: Ints
    samplers: Ints
    samples_of: Ints
    guards: Ints
    cores: Numbers
    timeline: Records
    meter: Records
    paths: Ints
    charges: Records
    scalar_words: Ints
    class_words: Ints
