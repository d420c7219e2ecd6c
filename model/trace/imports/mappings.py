"""Call stacks whose frames are addresses in a process, as frames in the files that were mapped there."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from heapsmith.model.trace.elf import build_id, offsets_of
from heapsmith.model.trace.stacks import I64, MAX_DEPTH, CallTree, Module


class Mapped(NamedTuple):
    """A file of code in a process: what must be added to its link-time addresses, and the ranges that are mapped."""

    path: str
    base: int
    ranges: tuple[tuple[int, int], ...]  # of link-time addresses: the first one, and how many


def tree_of(parent: I64, address: I64, innermost: I64, mapped: Iterable[Mapped]) -> CallTree:
    """Return the stacks of a tree of addresses; of a stack with more than MAX_DEPTH frames an inner part.

    parent: of each frame, less than its own number; -1 for none. innermost: the frame of each stack.
    Of two files at one address, the one that was mapped last counts.
    """
    parent = _cut(parent)
    kept = _used(parent, innermost)
    number = np.cumsum(kept) - 1
    parent = np.where(parent[kept] >= 0, number[parent[kept]], -1)
    address, innermost = address[kept], number[innermost]
    modules: list[Module] = []
    module, offset = np.full(address.size, -1), address.copy()
    for one in mapped:
        inside = np.zeros(address.size, np.bool_)
        for first, size in one.ranges:
            inside |= (address >= one.base + first) & (address < one.base + first + size)
        if inside.any():
            module[inside] = len(modules)
            offset[inside] = offsets_of(one.path, address[inside] - one.base)
            modules.append(Module(one.path, build_id(one.path)))
    return CallTree(modules, parent, module, offset, innermost)


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


def _used(parent: I64, innermost: I64) -> "np.typing.NDArray[np.bool_]":
    """Return which frames are part of a stack."""
    used = np.zeros(parent.size, np.bool_)
    at = np.unique(innermost)
    while at.size:
        used[at] = True
        at = np.unique(parent[at])
        at = at[(at >= 0)]
        at = at[~used[at]]
    return used
