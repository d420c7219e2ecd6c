"""The call stacks of a file: a tree of frames, each with the frame that called it, that kernels find and add to."""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from heapsmith.model.compile.kernel import Ints, compiled, hit_path, kernel
from heapsmith.model.trace.events import CHUNK_EVENTS
from heapsmith.model.trace.imports.builder import Calls
from heapsmith.model.trace.imports.mappings import Mapped, tree_of
from heapsmith.model.trace.imports.text import Text
from heapsmith.model.trace.stacks import CallTree

SCALARS = (
    "frames",
    "stacks",
    "stop",  # behind the record that the kernel leaves to Python
)
ROOM, RECORD = 1, 2
"""Why a kernel paused: there is no room for another frame; Python has to take the record at `at`, which is whole."""
_FIRST_ROOM = 1 << 12


class Stacked(Text):
    """The base of a state with stacks. Frames are counted from 1.

    A frame whose address is below 0 is a name instead, of a number: it stands for another frame.
    """

    TABLES = frozenset(("addresses", "outer", "sites", "innermost", "named"))
    """The arrays that have a place for each frame."""

    addresses: Ints  # of the frames
    outer: Ints  # of each frame the frame that called it, or 0
    sites: Ints  # of each frame its site, counted from 1, if it is the innermost of one
    innermost: Ints  # of each site its frame
    named: Ints  # of each name the frame that it stands for, or 0
    children: Ints  # a hash table of frames by their addresses and callers
    site: Ints  # of the calls in the columns


def tables(kind: type[Stacked]) -> dict[str, Any]:
    """Return the arrays of a kind of state beside those of Text."""
    arrays: dict[str, Any] = {name: np.zeros(_FIRST_ROOM, np.int64) for name in kind.TABLES}
    return arrays | {"children": np.zeros(2 * _FIRST_ROOM, np.int64), "site": np.zeros(CHUNK_EVENTS, np.int64)}


@hit_path
def site_of(state: Stacked, innermost: int) -> int:
    """The site whose stack has this innermost frame; 0 without a frame."""
    if innermost > state.frames:
        return 0
    if innermost > 0 and state.sites[innermost] == 0:
        state.innermost[state.stacks] = innermost
        state.stacks += 1
        state.sites[innermost] = state.stacks
    return int(state.sites[innermost])


@hit_path
def has_room(state: Stacked, count: int) -> int:
    """1 if another `count` frames fit, else 0."""
    return int(state.frames + count < state.outer.size)


@hit_path
def lacks_room(state: Stacked, count: int) -> int:
    """1 if another `count` frames do not fit, else 0. The kernel then pauses."""
    if has_room(state, count):
        return 0
    state.paused = ROOM
    return 1


@hit_path
def leave(state: Stacked) -> int:
    """Leave the record before `at` to Python if it is whole; return 1."""
    if state.at <= state.end:
        state.stop, state.paused = state.at, RECORD
    return 1


@hit_path
def add_frame(state: Stacked, address: int, caller: int) -> None:
    """Add a frame; there is room for it."""
    state.frames += 1
    state.addresses[state.frames], state.outer[state.frames] = address, caller


@hit_path
def place(children: Ints, addresses: Ints, outer: Ints, address: int, caller: int) -> int:
    """The place in `children` of the frame with this address and caller, or its empty place."""
    mixed = (address ^ address >> 31 ^ caller * 0x85EBCA6B) & 0x7FFFFFFF
    at = (mixed * 0x9E3779B1 >> 31) & (children.size - 1)
    while children[at] != 0 and (addresses[children[at]] != address or outer[children[at]] != caller):
        at = (at + 1) & (children.size - 1)
    return at


@hit_path
def frame_of(state: Stacked, address: int, caller: int) -> int:
    """The frame with this address and caller, which is added if need be: there is room for it."""
    at = place(state.children, state.addresses, state.outer, address, caller)
    if state.children[at] == 0:
        add_frame(state, address, caller)
        state.children[at] = state.frames
    return int(state.children[at])


@hit_path
def name_of(state: Stacked, number: int) -> int:
    """The name of a number, which is added if need be: there is room for it."""
    return frame_of(state, ~number, 0)


@hit_path
def frame_named(state: Stacked, number: int) -> int:
    """The frame that the name of a number stands for, or 0."""
    return int(state.named[state.children[place(state.children, state.addresses, state.outer, ~number, 0)]])


@kernel
def replant(children: Ints, addresses: Ints, outer: Ints, frames: int) -> None:
    """Put all frames into an empty table."""
    for frame in range(1, frames + 1):
        children[place(children, addresses, outer, int(addresses[frame]), int(outer[frame]))] = frame


fast_replant = compiled(replant)


def make_room(state: Stacked) -> None:
    """Make room for twice as many frames."""
    for name in state.TABLES:
        table = getattr(state, name)
        setattr(state, name, np.concatenate((table, np.zeros_like(table))))
    state.children = np.zeros(2 * state.children.size, np.int64)
    fast_replant(state.children, state.addresses, state.outer, state.frames)


def drive(state: Stacked, take: Callable[[Any], None], other: Callable[[bytes], None]) -> None:
    """Run a kernel; where it pauses, make room or give `other` the bytes of the record, and go on."""
    take(state)
    while state.paused:
        paused, state.paused = state.paused, 0
        if paused == ROOM:
            make_room(state)
        else:
            other(state.data[state.at : state.stop].tobytes())
            state.at = state.stop
            state.line += 1
        take(state)


def with_sites(state: Stacked, calls: Calls) -> Calls:
    """Return the calls of the columns with their sites."""
    return calls._replace(site=state.site[: calls.op.size])


def tree(state: Stacked, mapped: Iterable[Mapped], own: Sequence[str] = ()) -> CallTree:
    """Return the stacks of the sites; own: what paths of the tool's own file have in them."""
    frames = slice(1, state.frames + 1)
    addresses, innermost = state.addresses[frames], state.innermost[: state.stacks] - 1
    return tree_of(state.outer[frames] - 1, addresses, innermost, mapped, own)


def named_code(tree: CallTree, name: Callable[[int], str | None]) -> list[list[int | str]]:
    """Return what the file says of code without a module, as `perf_map` of a footer's `extra`.

    name: returns the name of the code at an address, None if the file does not tell it.
    """
    rows: list[list[int | str]] = []
    for text, alike in groupby(np.unique(tree.offset[tree.module < 0]).tolist(), name):
        if text is not None:
            first, *rest = alike
            rows.append([first, (rest or [first])[-1] - first + 1, text])
    return rows
