"""Binary records: a compiled kernel takes all of them, from pieces of the file."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from heapsmith.model.compile.kernel import hit_path
from heapsmith.model.errors import BadInput
from heapsmith.model.trace.events import CHUNK_EVENTS
from heapsmith.model.trace.imports.builder import Calls
from heapsmith.model.trace.imports.source import LINE_BYTES, Source
from heapsmith.model.trace.imports.text import Text, calls_of, columns

_PIECE_BYTES = 1 << 20
_PADDING = np.zeros(1 << 9, np.uint8)
"""Zeros behind a piece: a kernel reads the fields of a record first, and then looks whether the record is whole."""
_SCALARS = (
    "skip",  # bytes behind the piece that no reader needs
    "wrong",  # 1: the next record is none of the format
    "ended",  # 1: the last record was the mark of the end
    "paused",  # 1: Python has to do something before the next record
)
NUMBER_BYTES = 9  # of a varint below 2^63


def state_of(*scalars: str) -> dict[str, Any]:
    """Return the arrays of Text, with these scalars and those of records; `line` is the number of the last record."""
    return columns(*_SCALARS, *scalars)


@hit_path
def little(state: Text, count: int) -> int:
    """The number of up to 8 bytes at `at`, the lowest first; -1 if it is above 2^63 - 1. `at` is behind it then."""
    value, at = 0, state.at
    state.at += count
    if count == 8 and state.data[at + 7] > 127:
        return -1
    for place in range(count):
        value |= int(state.data[at + place]) << 8 * place
    return value


@hit_path
def varint(state: Text) -> int:
    """The number at `at` in groups of 7 bits, the lowest first; `at` is behind it then. -1: it has too many bytes."""
    value, at = 0, state.at
    for place in range(NUMBER_BYTES):
        byte = int(state.data[at + place])
        value |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            state.at = at + place + 1
            return value
    return -1


@hit_path
def string(state: Text) -> int:
    """1 with `at` behind a text that ends with 0, or behind the piece; 0 if the text is too long."""
    at = state.at
    while at < state.end and state.data[at] != 0:
        at += 1
    is_short = int(at - state.at <= LINE_BYTES)
    state.at = at + 1
    return is_short


@hit_path
def part(state: Text, count: int) -> int:
    """1 with `at` behind `count` bytes that no reader needs, or behind the piece; 0 if they are too many."""
    if count < 0 or count > LINE_BYTES:
        return 0
    state.at += count
    if state.at > state.end:
        state.at = state.end + 1
    return 1


@hit_path
def pass_over(state: Text, count: int) -> int:
    """The same for the last bytes of a record, as many as they are: `skip` of them lie behind the piece."""
    if count < 0:
        return 0
    if state.at + count <= state.end:
        state.at += count
    elif state.at <= state.end:
        state.skip = count - (state.end - state.at)
        state.at = state.end
    return 1


@hit_path
def whole(state: Text, is_known: int) -> int:
    """1 if a record of the format lies before `at`; 0 if it is another (`wrong`) or not all of it is in the piece."""
    if state.at > state.end or state.paused:
        return 0
    state.wrong = 1 - is_known
    return is_known


def scan(
    source: Source, state: Text, take: Callable[[Any], None], piece: Callable[[], bytes], *, marked: bool
) -> Iterator[Calls]:
    """Yield the calls of all records; those before damage, then its BadInput.

    take: a kernel that takes records from `at` on while `begins`, `whole` and `keeps` say so.
    piece: returns the next bytes, none at the end. marked: the last record is a mark of the end.
    """
    bad = None
    try:
        while not state.ended:
            take(state)
            if state.calls == CHUNK_EVENTS:
                yield calls_of(state)
            elif state.wrong:
                source.bad(f"record {state.line + 1}", "it is none of the format: the file is damaged")
            elif not state.ended and not _fill(state, piece()):
                if marked or state.at < state.end or state.skip:
                    source.bad(f"record {state.line + 1}", "the file is cut off here: the rest is missing")
                state.ended = 1
        while piece():  # whether what the file was packed with is whole
            pass
    except BadInput as error:
        bad = error
    if state.calls:
        yield calls_of(state)
    if bad is not None:
        raise bad


def _fill(state: Text, piece: bytes) -> int:
    """Put a piece behind what is left of the one before it; return its size."""
    left = state.data[state.at : state.end]
    state.data = np.concatenate((left, np.frombuffer(piece, np.uint8), _PADDING))
    state.end = state.data.size - _PADDING.size
    state.at = min(state.skip, state.end)
    state.skip -= state.at
    return len(piece)


def pieces(source: Source) -> Callable[[], bytes]:
    """Return a function that returns the next bytes of a file."""
    return lambda: source.piece(_PIECE_BYTES)
