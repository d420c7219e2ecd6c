"""Call stacks whose frames are addresses in a process, as frames in the files that were mapped there."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Self

import numpy as np

from heapsmith.model.trace.edit.trees import part_of
from heapsmith.model.trace.elf import build_id, offsets_of
from heapsmith.model.trace.stacks import I64, MAX_DEPTH, CallTree, Module

HALF = MAX_DEPTH // 2


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
    """Return the stacks of a tree of addresses; of one with more than MAX_DEPTH frames the inner part.

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
    whole = CallTree(list(modules), parent, module, offset, innermost)
    return part_of(_cut(whole), np.arange(1, innermost.size + 1))


def _cut(tree: CallTree) -> CallTree:
    """Return stacks of at most MAX_DEPTH frames: of longer ones more than the innermost half as many.

    Each frame comes twice, as stacks end at every HALF-th frame: the first ends at the next such
    frame outside, the second at the one after that.
    """
    depth = np.zeros(tree.parent.size, np.int64)
    for frame, outer in enumerate(tree.parent.tolist()):
        depth[frame] = depth[outer] + 1 if outer >= 0 else 0
    if depth.max(initial=0) < MAX_DEPTH:
        return tree
    is_end, is_outermost = depth % HALF == 0, tree.parent < 0
    ends = np.where(is_end, -1, 2 * tree.parent)
    goes_on = np.where(is_outermost, -1, 2 * tree.parent + ~is_end)
    return CallTree(
        tree.modules,
        np.stack((ends, goes_on), axis=1).ravel(),
        np.repeat(tree.module, 2),
        np.repeat(tree.offset, 2),
        2 * tree.innermost + 1,
    )
