"""Call stacks whose frames are addresses in a process, as frames in the files that were mapped there."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Self

import numpy as np

from heapsmith.model.trace.edit.trees import part_of
from heapsmith.model.trace.elf import build_id, offsets_of
from heapsmith.model.trace.stacks import I64, MAX_DEPTH, CallTree, Module


class Mapped(NamedTuple):
    """A file of code in a process: what must be added to its own addresses, and the ranges that are mapped."""

    path: str
    base: int
    ranges: tuple[tuple[int, int], ...]  # of its own addresses: the first one, and how many
    linked: bool = True  # these are link-time addresses; otherwise offsets in the file

    @classmethod
    def of(cls, begin: bytes, end: bytes, offset: bytes, path: bytes) -> Self:
        """Return the file of a line of /proc/self/maps, from hexadecimal digits."""
        first, last, place = (int(number, 16) for number in (begin, end, offset))
        return cls(path.decode("utf-8", "backslashreplace"), first - place, ((place, last - first),), linked=False)


def tree_of(parent: I64, address: I64, innermost: I64, mapped: Iterable[Mapped], own: Sequence[str] = ()) -> CallTree:
    """Return the stacks of a tree of addresses; of a stack with more than MAX_DEPTH frames an inner part.

    parent: of each frame, less than its own number; -1 for none. innermost: the frame of each stack.
    Of two files at one address, the one that was mapped last counts. own: what paths of the tool's own file have
    in them; its frames do not count where they are the innermost.
    """
    modules: dict[Module, int] = {}
    module, offset = np.full(address.size, -1), address.copy()
    for one in mapped:
        inside = np.zeros(address.size, np.bool_)
        for first, size in one.ranges:
            inside |= (address >= one.base + first) & (address < one.base + first + size)
        if inside.any():
            module[inside] = modules.setdefault(Module(one.path, build_id(one.path)), len(modules))
            offset[inside] = address[inside] - one.base
            if one.linked:
                offset[inside] = offsets_of(one.path, offset[inside])
    is_own = np.array([any(name in one.path for name in own) for one in modules] + [False])  # the last: no module
    while (passed := is_own[module[innermost]] & (parent[innermost] >= 0)).any():
        innermost = np.where(passed, parent[innermost], innermost)
    whole = CallTree(list(modules), _cut(parent), module, offset, innermost)
    return part_of(whole, np.arange(1, innermost.size + 1))


def _cut(parent: I64) -> I64:
    """Return the parents, without those of frames whose number of frames outside is a multiple of MAX_DEPTH."""
    depth = np.zeros(parent.size, np.int64)
    cut = parent.copy()
    for frame, outer in enumerate(parent.tolist()):
        if outer >= 0:
            depth[frame] = (depth[outer] + 1) % MAX_DEPTH
            if depth[frame] == 0:
                cut[frame] = -1
    return cut
