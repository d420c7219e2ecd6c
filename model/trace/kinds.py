"""What was resident of a process by kind, over time (docs/trace.md 3): malloc's memory, and what no malloc holds."""

from typing import Annotated, ClassVar

import msgspec

Count = Annotated[int, msgspec.Meta(ge=0)]


class Kinds(msgspec.Struct, frozen=True):
    """What was resident of a process by kind: columns, of which each has a number for each look; bytes.

    time_ns: since the first event, negative before it. live: asked for in live blocks. malloc: pages that held blocks.
    docs/trace.md has the other names. page_tables are the kernel's, and not resident.
    """

    time_ns: list[int]
    live: list[Count]
    malloc: list[Count]
    mappings: list[Count]
    static: list[Count]
    stacks: list[Count]
    files: list[Count]
    files_shared: list[Count]
    shared_memory: list[Count]
    recorder: list[Count]
    page_tables: list[Count]

    RESIDENT: ClassVar = (
        "malloc",
        "mappings",
        "static",
        "stacks",
        "files",
        "files_shared",
        "shared_memory",
        "recorder",
    )
    """The columns whose sum is resident."""

    def __post_init__(self) -> None:
        """Raise ValueError for columns of several lengths, or of none."""
        if len({len(getattr(self, name)) for name in self.__struct_fields__}) > 1 or not self.time_ns:
            raise ValueError("expected columns of one length, and a look")

    def resident(self) -> list[int]:
        """Return the bytes of each look."""
        return [sum(row) for row in zip(*(getattr(self, name) for name in self.RESIDENT), strict=True)]

    def most_resident(self) -> int:
        """Return the number of the look with most."""
        found = self.resident()
        return found.index(max(found))

    def most_live(self) -> int:
        """Return the number of the look with most live bytes; of equal ones, that with most resident bytes."""
        pairs = list(zip(self.live, self.resident(), strict=True))
        return pairs.index(max(pairs))

    def within(self, first_ns: int, last_ns: int, begin_ns: int) -> "Kinds | None":
        """Return the looks of a span of time, later by `begin_ns`; None if there are none."""
        kept = [number for number, time in enumerate(self.time_ns) if first_ns <= time <= last_ns]
        if not kept:
            return None
        columns = {name: [getattr(self, name)[number] for number in kept] for name in self.__struct_fields__}
        return Kinds(**columns | {"time_ns": [time + begin_ns for time in columns["time_ns"]]})
