"""Text with a call per line: a compiled kernel takes the usual lines, Python all others."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from heapsmith.model.compile.kernel import Arrays, Bytes, Ints, Records, hit_path, record_type
from heapsmith.model.errors import BadInput
from heapsmith.model.trace.events import CHUNK_EVENTS
from heapsmith.model.trace.imports.builder import Calls
from heapsmith.model.trace.imports.source import LINE_BYTES, Source

_PIECE_BYTES = 1 << 20
NEWLINE, SPACE, COLON = b"\n :"
_0, _9, _A, _F, _a, _f, _x = b"09AFafx"
HEX_DIGITS, DIGITS = 15, 18
"""The most digits that the kernels read: with them no number exceeds 2^63 - 1."""

NO_DIGITS = -(1 << 40)
LOW = ord("_")

FACTOR = 1 << 31
"""The kernels multiply numbers below it."""
MALLOC_WORD, CALLOC_WORD, REALLOC_WORD, FREE_WORD = map(int.from_bytes, (b"malloc", b"calloc", b"realloc", b"free"))
"""What `word` returns for these names."""

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


Row = tuple[int, ...]
"""A call: a number for each column of Calls."""
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
def decimal(state: Text) -> int:
    """The number at `at`, which is behind its digits then; -1 without 1 to DIGITS digits."""
    at, value = state.at, 0
    while _0 <= state.data[at] <= _9:
        value = value * 10 + (int(state.data[at]) - _0)
        at += 1
    digits = at - state.at
    state.at = at
    return value if 0 < digits <= DIGITS else -1


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
def prefixed(state: Text) -> int:
    """The hexadecimal number at `at` behind 0x, or -1."""
    if state.data[state.at] != _0 or state.data[state.at + 1] != _x:
        return -1
    state.at += 2
    return hexadecimal(state)


@hit_path
def passes(state: Text, byte: int) -> int:
    """1 if this byte is at `at`, which is behind it then; else 0."""
    if state.data[state.at] != byte:
        return 0
    state.at += 1
    return 1


@hit_path
def word(state: Text) -> int:
    """The up to 7 lower-case letters at `at` as bytes of a number, or 0; `at` is behind the letters then."""
    at, value = state.at, 0
    while _a <= state.data[at] <= 122:
        value = (value & 0xFFFFFFFFFFFF) << 8 | int(state.data[at])
        at += 1
    letters = at - state.at
    state.at = at
    return value if letters <= 7 else 0


@hit_path
def two_digits(state: Text) -> int:
    """The number of two digits at `at`, or below 0; `at` is behind them and the byte after them then."""
    tens = int(state.data[state.at]) - _0
    if tens < 0 or tens > 9:
        return NO_DIGITS
    ones = int(state.data[state.at + 1]) - _0
    if ones < 0 or ones > 9 or state.data[state.at + 2] == NEWLINE:
        return NO_DIGITS
    state.at += 3
    return 10 * tens + ones


@hit_path
def is_name(byte: int) -> int:
    """1 if the byte is part of a name: a letter, a digit or a low line; else 0."""
    letter = byte | 32
    return int((97 <= letter <= 122) or (_0 <= byte <= _9) or byte == LOW)


@hit_path
def skip_line(state: Text) -> int:
    """1 with `at` behind the line; 0 if the line is too long."""
    begin = state.at
    while state.data[state.at] != NEWLINE:
        state.at += 1
    state.at += 1
    return int(state.at - begin <= LINE_BYTES)


def scan(
    source: Source,
    state: Text,
    take: Callable[[Any], None],
    other: Callable[[int, bytes], Row | None],
    longest: int = LINE_BYTES,
) -> Iterator[Calls]:
    """Yield the calls of a text; those before a bad line, then its BadInput.

    take: a kernel that goes over lines from `at` on, until the columns are full or `at` stands at
    the begin of a line that it does not know. other: returns the call of such a line, or None,
    from the line's number and its text without white space at the ends.
    """
    bad = None
    try:
        for data in parts(source, longest):
            state.data, state.at, state.end = np.frombuffer(data, np.uint8), 0, len(data)
            while state.at < state.end:
                take(state)
                if state.calls == CHUNK_EVENTS:
                    yield calls_of(state)
                elif state.at < state.end:
                    _other_line(source, state, data, other, longest)
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


def parts(source: Source, longest: int = LINE_BYTES) -> Iterator[bytearray]:
    """Yield parts of a text: whole lines, with a newline at the end. BadInput for a line of `longest` bytes."""
    rest, lines, more = b"", 0, True
    while more:
        piece = source.piece(_PIECE_BYTES)
        more = piece != b""
        data = bytearray(rest + piece if more else rest + b"\n")
        rest = bytes(data[data.rfind(b"\n") + 1 :])
        del data[len(data) - len(rest) :]
        lines += data.count(b"\n")
        yield data
        if len(rest) >= longest:
            source.bad(f"line {lines + 1}", f"longer than {longest} bytes")


def _other_line(
    source: Source, state: Text, data: bytearray, other: Callable[[int, bytes], Row | None], longest: int
) -> None:
    end = data.index(b"\n", state.at) + 1
    text = bytes(data[state.at : end])
    state.at, state.line = end, state.line + 1
    if len(text) > longest:
        source.bad(f"line {state.line}", f"longer than {longest} bytes")
    row = other(state.line, text.strip()) if text.strip() else None
    if row is not None:
        for name, value in zip(_COLUMNS, row, strict=True):
            getattr(state, name)[state.calls] = value
        state.calls += 1
