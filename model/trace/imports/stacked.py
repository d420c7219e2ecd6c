"""The call stacks of a file that lists their frames by number, each with the frame that called it."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from heapsmith.model.compile.kernel import Ints, hit_path
from heapsmith.model.trace.events import CHUNK_EVENTS
from heapsmith.model.trace.imports.builder import Calls
from heapsmith.model.trace.imports.mappings import Mapped, tree_of
from heapsmith.model.trace.imports.text import Text
from heapsmith.model.trace.stacks import CallTree

SCALARS = ("frames", "stacks")
_TABLES = ("addresses", "outer", "sites", "innermost")
_FIRST_ROOM = 1 << 12


class Stacked(Text):
    """The base of a state with stacks. Frames are counted from 1."""

    addresses: Ints  # of the frames
    outer: Ints  # of each frame the frame that called it, or 0
    sites: Ints  # of each frame its site, counted from 1, if it is the innermost of one
    innermost: Ints  # of each site its frame
    site: Ints  # of the calls in the columns


def tables() -> dict[str, Any]:
    """Return the arrays of Stacked beside those of its base."""
    return {name: np.zeros(_FIRST_ROOM, np.int64) for name in _TABLES} | {"site": np.zeros(CHUNK_EVENTS, np.int64)}


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
def has_room(state: Stacked) -> int:
    """1 if there is room for another frame."""
    return int(state.frames + 1 < state.outer.size)


@hit_path
def add_frame(state: Stacked, address: int, outer: int) -> None:
    """Add a frame; there is room for it."""
    state.frames += 1
    state.addresses[state.frames], state.outer[state.frames] = address, outer


def make_room(state: Stacked) -> None:
    """Make room for twice as many frames."""
    for name in _TABLES:
        table = getattr(state, name)
        setattr(state, name, np.concatenate((table, np.zeros_like(table))))


def with_sites(state: Stacked, calls: Calls) -> Calls:
    """Return the calls of the columns with their sites."""
    return calls._replace(site=state.site[: calls.op.size])


def tree(state: Stacked, mapped: Iterable[Mapped]) -> CallTree:
    """Return the stacks of the sites."""
    frames = slice(1, state.frames + 1)
    return tree_of(state.outer[frames] - 1, state.addresses[frames], state.innermost[: state.stacks] - 1, mapped)
