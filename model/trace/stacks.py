"""The stacks of a trace: a tree of frames in modules, as the footer stores it (docs/trace.md 3)."""

from typing import Annotated, NamedTuple, Self

import msgspec
import numpy as np
import numpy.typing as npt
import zstandard

from heapsmith.model.trace.codec import U32, ZSTD_LEVEL, Damage, open_section, section
from heapsmith.model.trace.events import Chunk

I64 = npt.NDArray[np.int64]
MAX_DEPTH = 256
"""The most frames of a stack."""

Count = Annotated[int, msgspec.Meta(ge=0)]


class Module(msgspec.Struct, frozen=True):
    """A file of code as it was mapped."""

    path: str
    build_id: str | None  # of its ELF note, in hexadecimal digits


class Stacks(msgspec.Struct, frozen=True):
    """The field `stacks` of a footer: what CallTree is made of, packed as the columns of a chunk."""

    modules: list[Module]
    frames: Count
    stacks: Count
    parent: bytes
    module: bytes
    offset: bytes
    innermost: bytes


class CallTree(NamedTuple):
    """The frames of all stacks. A stack is a path from its innermost frame to a root.

    Site s of an event is stack s - 1; site 0 is unknown.
    """

    modules: list[Module]
    parent: I64  # of each frame, less than its own number; -1 for a root, an outermost frame
    module: I64  # number of its module; -1: none is known, and the offset is an address
    offset: I64  # of a byte of the instruction that called or was interrupted, in the module's file
    innermost: I64  # frame of each stack

    def path(self, site: int) -> list[int]:
        """Return the frames of a site, the innermost first."""
        frames = []
        at = int(self.innermost[site - 1]) if site else -1
        while at >= 0:
            frames.append(at)
            at = int(self.parent[at])
        return frames

    def packed(self) -> Stacks:
        """Return what `unpacked` takes."""
        zstd = zstandard.ZstdCompressor(level=ZSTD_LEVEL)
        codes = (np.arange(self.parent.size) - self.parent, self.module + 1, self.offset, self.innermost)
        return Stacks(self.modules, self.parent.size, self.innermost.size, *(section(code, zstd) for code in codes))


class SitedChunk(Chunk):
    """A chunk that has the site of each event beside its columns, and the stacks that the sites number."""

    site: U32
    tree: CallTree

    @classmethod
    def with_sites(cls, chunk: Chunk, site: U32, tree: CallTree) -> Self:
        """Return the chunk with these sites."""
        made = cls(*chunk)
        made.site, made.tree = site, tree
        return made

    def part(self, first: int, stop: int) -> Self:
        """Return events `first` to `stop - 1` of the chunk, as views."""
        return self.with_sites(Chunk(*self).part(first, stop), self.site[first:stop], self.tree)


def unpacked(stacks: Stacks, events: int) -> CallTree:
    """Return the call tree of the footer of a trace with `events` events; Damage if it is not a tree."""
    if stacks.stacks > events or stacks.frames > MAX_DEPTH * stacks.stacks:
        raise Damage(f"footer: {stacks.stacks} stacks of {stacks.frames} frames are too many for {events} events")
    zstd = zstandard.ZstdDecompressor()
    back = open_section("footer: stacks.parent", stacks.parent, stacks.frames, zstd)
    module = open_section("footer: stacks.module", stacks.module, stacks.frames, zstd) - 1
    offset = open_section("footer: stacks.offset", stacks.offset, stacks.frames, zstd)
    innermost = open_section("footer: stacks.innermost", stacks.innermost, stacks.stacks, zstd)
    number = np.arange(stacks.frames)
    is_tree = bool(np.all((back > 0) & (back <= number + 1)))
    is_placed = bool(np.all((module >= -1) & (module < len(stacks.modules)) & (offset >= 0)))
    if not (is_tree and is_placed and bool(np.all((innermost >= 0) & (innermost < stacks.frames)))):
        raise Damage("footer: stacks: expected a tree of frames in the modules, each parent before its children")
    return CallTree(stacks.modules, number - back, module, offset, innermost)
