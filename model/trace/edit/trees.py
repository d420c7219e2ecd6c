"""One tree of stacks for several traces, and the part of a tree that some sites need."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from heapsmith.model.compile.cache import cached_njit
from heapsmith.model.trace.codec import U32
from heapsmith.model.trace.stacks import CallTree, Module

I64 = npt.NDArray[np.int64]


def joined(trees: Sequence[CallTree | None]) -> tuple[CallTree | None, list[U32 | None]]:
    """Return a tree of all stacks, and for each given tree the new numbers of its sites; None: they stay.

    A path that several trees have is one stack. Traces without stacks have None, and so has the result if all
    lack them.
    """
    given = [tree for tree in trees if tree is not None]
    if not given:
        return None, [None] * len(trees)
    if all(tree is given[0] for tree in given):
        return given[0], [None] * len(trees)
    modules: dict[Module, int] = {}
    frames: dict[tuple[int, int, int], int] = {}
    stacks: dict[int, int] = {}
    sites = [None if tree is None else _taken_in(tree, modules, frames, stacks) for tree in trees]
    parent, module, offset = np.array(list(frames), np.int64).reshape(-1, 3).T
    return CallTree(list(modules), parent, module, offset, np.array(list(stacks), np.int64)), sites


def _taken_in(
    tree: CallTree, modules: dict[Module, int], frames: dict[tuple[int, int, int], int], stacks: dict[int, int]
) -> U32:
    """Add what of a tree is new to the tables of modules, frames and stacks; return the numbers of its sites."""
    module_of = [modules.setdefault(one, len(modules)) for one in tree.modules]
    frame_of: list[int] = []
    for parent, module, offset in zip(tree.parent.tolist(), tree.module.tolist(), tree.offset.tolist(), strict=True):
        known = (frame_of[parent] if parent >= 0 else -1, module_of[module] if module >= 0 else -1, offset)
        frame_of.append(frames.setdefault(known, len(frames)))
    sites = [stacks.setdefault(frame_of[frame], len(stacks)) + 1 for frame in tree.innermost.tolist()]
    return np.array([0, *sites], np.uint32)


def part_of(tree: CallTree, sites: I64) -> CallTree:
    """Return a tree whose stacks are those of these sites (none is 0), in their order, without other frames."""
    innermost = tree.innermost[sites - 1]
    needed = np.zeros(tree.parent.size, np.bool_)
    needed[innermost] = True
    _need_parents(tree.parent, needed)
    number = np.cumsum(needed) - 1
    parent, module = tree.parent[needed], tree.module[needed]
    used = np.unique(module[module >= 0])
    module_of = np.full(len(tree.modules) + 1, -1)
    module_of[used] = np.arange(used.size)
    return CallTree(
        [tree.modules[old] for old in used.tolist()],
        np.where(parent >= 0, number[parent], -1),
        module_of[module],
        tree.offset[needed],
        number[innermost],
    )


@cached_njit
def _need_parents(parent: I64, needed: npt.NDArray[np.bool_]) -> None:
    """Mark the callers of all marked frames; a frame has a higher number than its parent."""
    for frame in range(parent.size - 1, -1, -1):
        if needed[frame] and parent[frame] >= 0:
            needed[parent[frame]] = True
