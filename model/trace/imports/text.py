"""Text with a call per line: a compiled kernel takes the usual lines, Python all others."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from heapsmith.model.compile.kernel import Arrays, Bytes, Ints, Records, hit_path, record_type
from heapsmith.model.errors import BadInput
from heapsmith.model.trace.events import CHUNK_EVENTS
from heapsmith.model.trace.imports.builder import Calls
from heapsmith.model.trace.imports.lines import Row
from heapsmith.model.trace.imports.source import LINE_BYTES, Source

_PIECE_BYTES = 1 << 20
NEWLINE, SPACE = b"\n "
_0, _9, _A, _F, _a, _f = b"09AFaf"
HEX_DIGITS = 15
"""The most digits that the kernels read: with them no number exceeds 2^63 - 1."""

SCALARS = (
    "at",  # where in `data` the next line begins
    "end",  # of `data`, behind a newline
    "line",  # number of the last line
    "calls",  # in the columns
    "begin",  # of the line
    "before",  # the calls before the line
    "time_ns",  # of the last line that has a time
)
"""The scalars of every text; a format may have more."""


class Text(Arrays):
    """The base of a format's state: a part of the text, and the columns of the calls that it has (Calls)."""

    data: Bytes
    op: Bytes
    thread: Ints
    old: Ints
    new: Ints
    size: Ints
    align_log2: Ints
    time: Ints
    record: Ints
    scalars: Records


_COLUMNS = ("op", "thread", "old", "new", "size", "align_log2", "time", "record")


def columns(*scalars: str) -> dict[str, Any]:
    """Return the arrays of Text, with these scalars beside those that every text has."""
    arrays: dict[str, Any] = {name: np.zeros(CHUNK_EVENTS, np.int64) for name in _COLUMNS}
    arrays |= {"data": np.zeros(0, np.uint8), "op": np.zeros(CHUNK_EVENTS, np.uint8)}
    return arrays | {"scalars": np.zeros(1, record_type(*SCALARS, *scalars))}


@hit_path
def begins(state: Text) -> int:
    """1 if another line begins, with `line` its number, and there is room for its call; else 0."""
    if state.at >= state.end or state.calls >= CHUNK_EVENTS:
        return 0
    state.begin, state.before = state.at, state.calls
    state.line += 1
    return 1


@hit_path
def keeps(state: Text, is_usual: int) -> int:
    """Return `is_usual`; without it go back to the begin of the line, as it was."""
    if not is_usual:
        state.at, state.calls = state.begin, state.before
        state.line -= 1
    return is_usual


@hit_path
def put(state: Text, op: int, thread: int, old: int, new: int, size: int) -> None:
    """Append a call of the current line, without an alignment."""
    i = state.calls
    state.op[i], state.thread[i], state.old[i], state.new[i] = op, thread, old, new
    state.size[i], state.align_log2[i], state.time[i], state.record[i] = size, 0, state.time_ns, state.line
    state.calls = i + 1


@hit_path
def digit(byte: int) -> int:
    """The value of a hexadecimal digit, or -1."""
    if _0 <= byte <= _9:
        return byte - _0
    if _a <= byte <= _f:
        return byte - _a + 10
    return byte - _A + 10 if _A <= byte <= _F else -1


@hit_path
def hexadecimal(state: Text) -> int:
    """The number at `at`, which is behind its digits then; -1 without 1 to HEX_DIGITS digits."""
    at, value = state.at, 0
    one = digit(int(state.data[at]))
    while one >= 0:
        value = value << 4 | one
        at += 1
        one = digit(int(state.data[at]))
    digits = at - state.at
    state.at = at
    return value if 0 < digits <= HEX_DIGITS else -1


@hit_path
def passes(state: Text, byte: int) -> int:
    """1 if this byte is at `at`, which is behind it then; else 0."""
    if state.data[state.at] != byte:
        return 0
    state.at += 1
    return 1


@hit_path
def skip_line(state: Text) -> int:
    """1 with `at` behind the line; 0 if the line is too long."""
    begin = state.at
    while state.data[state.at] != NEWLINE:
        state.at += 1
    state.at += 1
    return int(state.at - begin <= LINE_BYTES)


def scan(
    source: Source, state: Text, take: Callable[[Any], None], other: Callable[[int, bytes], Row | None]
) -> Iterator[Calls]:
    """Yield the calls of a text; those before a bad line, then its BadInput.

    take: a kernel that goes over lines from `at` on, until the columns are full or `at` stands at
    the begin of a line that it does not know. other: returns the call of such a line, or None,
    from the line's number and its text without white space at the ends.
    """
    bad = None
    try:
        for data in parts(source):
            state.data, state.at, state.end = np.frombuffer(data, np.uint8), 0, len(data)
            while state.at < state.end:
                take(state)
                if state.calls == CHUNK_EVENTS:
                    yield calls_of(state)
                elif state.at < state.end:
                    _other_line(source, state, data, other)
    except BadInput as error:
        bad = error
    if state.calls:
        yield calls_of(state)
    if bad is not None:
        raise bad


def calls_of(state: Text) -> Calls:
    """Return the calls in the columns, which are empty then."""
    calls, state.calls = state.calls, 0
    return Calls(*(getattr(state, name)[:calls] for name in _COLUMNS))


def parts(source: Source) -> Iterator[bytearray]:
    """Yield parts of a text: whole lines, with a newline at the end. BadInput for a line of LINE_BYTES."""
    rest, lines, more = b"", 0, True
    while more:
        piece = source.piece(_PIECE_BYTES)
        more = piece != b""
        data = bytearray(rest + piece if more else rest + b"\n")
        rest = bytes(data[data.rfind(b"\n") + 1 :])
        del data[len(data) - len(rest) :]
        lines += data.count(b"\n")
        yield data
        if len(rest) >= LINE_BYTES:
            source.bad(f"line {lines + 1}", f"longer than {LINE_BYTES} bytes")


def _other_line(source: Source, state: Text, data: bytearray, other: Callable[[int, bytes], Row | None]) -> None:
    end = data.index(b"\n", state.at) + 1
    text = bytes(data[state.at : end])
    state.at, state.line = end, state.line + 1
    if len(text) > LINE_BYTES:
        source.bad(f"line {state.line}", f"longer than {LINE_BYTES} bytes")
    row = other(state.line, text.strip()) if text.strip() else None
    if row is not None:
        for name, value in zip(_COLUMNS, row, strict=True):
            getattr(state, name)[state.calls] = value
        state.calls += 1
