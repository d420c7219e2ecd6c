"""What a row needs of the simulator's arrays besides what each design does."""

from typing import NamedTuple


class Needs(NamedTuple):
    """slots: of each heap; for any event at most: slabs it acquires, pages by which it raises the run
    span's top, and bytes that it touches for the first time; shared: slots in front of those of heaps.
    """

    slots: int = 0
    slabs: int = 0
    pages: int = 0
    first_bytes: int = 0
    shared: int = 0
