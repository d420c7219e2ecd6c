"""Stacks of Python's functions, and native stacks in which they take the place of the interpreter that ran them."""

from collections.abc import Collection

import numpy as np

from heapsmith.model.compile.kernel import Ints, compiled, kernel
from heapsmith.model.trace.elf import functions_named
from heapsmith.model.trace.imports import stacked
from heapsmith.model.trace.imports.mappings import Mapped
from heapsmith.model.trace.imports.stacked import Stacked, frame_of, lacks_room
from heapsmith.model.trace.stacks import CallTree

PYTHON = 1 << 62  # an address with it is a place in a function of Python
HIDDEN = 1 << 61  # it is a frame of the tool itself
ENTRY = 1 << 60  # the interpreter was entered anew for it; frames without it share a native frame with their caller
PAIR = 1 << 61  # an address with it alone, and a native frame: that stack and the Python stack of the caller are one
PLACES = 26  # bits of a place in a code object, from 1 on, below those of the object's number
CODES = 34
_INTERPRETERS = (b"_PyEval_EvalFrameDefault", b"_TAIL_CALL_")
"""What the names of the functions have in them that run functions of Python; the second one since CPython 3.14."""


class Hybrid(Stacked):
    """A state whose stacks are to be merged, with room for one of each kind and a mark of each frame."""

    native: Ints  # the frames of a native stack, the innermost first
    python: Ints  # of a Python stack
    interprets: Ints  # of each frame whether it runs functions of Python


@kernel
def merge(state: Hybrid) -> None:
    """Make one stack of the two of each pair."""
    while state.merged < state.stacks and not state.paused:
        pair = int(state.innermost[state.merged])
        frame = pair
        if state.addresses[pair] >> 61 == PAIR >> 61:
            frame = one_of_two(state, int(state.addresses[pair]) & ~PAIR, int(state.outer[pair]))
        if not state.paused:
            state.innermost[state.merged] = frame
            state.merged += 1


@kernel
def one_of_two(state: Hybrid, native: int, innermost: int) -> int:
    """The innermost frame of the stack of two, or a pause.

    From the outermost frame on, each frame of the interpreter becomes the function that it was entered for and those
    that it ran besides. If there are more functions, the Python stack stands alone.
    """
    natives, functions, frame = 0, 0, native
    while frame > 0:
        state.native[natives] = frame
        natives, frame = natives + 1, int(state.outer[frame])
    frame = innermost
    while frame > 0:
        state.python[functions] = frame
        functions, frame = functions + 1, int(state.outer[frame])
    if lacks_room(state, natives + functions):
        return 0
    made = 0
    while natives > 0:
        natives -= 1
        frame = int(state.native[natives])
        runs = functions > 0 and state.interprets[frame]
        if not runs:
            made = frame_of(state, int(state.addresses[frame]), made)
        while runs:
            functions -= 1
            frame = int(state.python[functions])
            address = int(state.addresses[frame])
            if not address & HIDDEN and state.addresses[state.outer[frame]] & HIDDEN:
                made = 0  # what called the program's first function is the tool's own
            made = frame_of(state, address & ~(HIDDEN | ENTRY), made)
            runs = functions > 0 and not state.addresses[state.python[functions - 1]] & ENTRY
    return innermost if functions > 0 else made


fast_merge = compiled(merge)


def tree(state: Stacked, mapped: Collection[Mapped]) -> CallTree:
    """Return the stacks of the sites, without the tool's own functions."""
    arrays = {name: getattr(state, name) for name in Stacked.ITEMS}
    arrays |= {name: np.zeros(state.frames + 1, np.int64) for name in ("native", "python")}
    both = Hybrid(**arrays, interprets=_interprets(state.addresses[: state.frames + 1], mapped))
    stacked.drive(both, fast_merge, lambda record: None)
    is_python = both.addresses >= PYTHON
    is_hidden = is_python & (both.addresses & HIDDEN > 0)
    both.outer = np.where(is_hidden[both.outer] & ~is_hidden, 0, both.outer)
    both.addresses = np.where(is_python, both.addresses & ~(HIDDEN | ENTRY), both.addresses)
    return stacked.tree(both, mapped)


def _interprets(addresses: Ints, mapped: Collection[Mapped]) -> Ints:
    """Return of each frame whether it lies in a function that runs functions of Python."""
    found = np.zeros(addresses.size, np.int64)
    for one in mapped:
        for first, size in functions_named(one.path, _INTERPRETERS):
            found[(addresses >= one.base + first) & (addresses < one.base + first + size)] = 1
    return found
