"""Android's memory_replay traces: a line per call, with times in newer ones."""

import re
from collections.abc import Iterator

import numpy as np

from heapsmith.model.compile.kernel import Ints, compiled, hit_path, kernel
from heapsmith.model.trace.addresses import find, grown_table, new_table, remove
from heapsmith.model.trace.events import Op
from heapsmith.model.trace.imports.builder import Calls, align_log2
from heapsmith.model.trace.imports.format import About, Format
from heapsmith.model.trace.imports.source import Source, shown
from heapsmith.model.trace.imports.text import (
    CALLOC_WORD,
    COLON,
    FACTOR,
    FREE_WORD,
    MALLOC_WORD,
    NEWLINE,
    REALLOC_WORD,
    SPACE,
    Row,
    Text,
    begins,
    columns,
    decimal,
    keeps,
    passes,
    prefixed,
    put,
    scan,
    word,
)

_ARGUMENTS = {b"malloc": 2, b"calloc": 3, b"memalign": 3, b"realloc": 3, b"free": 1, b"thread_done": 1}
"""The fields of each operation, with the pointer."""
_FIELDS_BEHIND = ((0, 2, 3), (0, 1, 2))
"""Of a call: none, the times of its begin and end, and the bytes that were present; of a thread's end its time."""
_NO_TIMES = "no times in some lines: their events are at the time of the line before, 0 at first"
MALLOC, CALLOC, REALLOC, FREE = (int(op) for op in (Op.MALLOC, Op.CALLOC, Op.REALLOC, Op.FREE))
_FIRST_THREADS = 1 << 8


class _Android(Text):
    """The live threads: a hash table from ~id to the number of the thread, because ids are used again."""

    keys: Ints
    numbers: Ints


@hit_path
def arguments(state: _Android, op: int, thread: int) -> int:
    """Take pointer and arguments of a call, and append it; return 0 if they are not usual ones."""
    pointer = prefixed(state)
    if pointer < 0:
        return 0
    if op == FREE:
        put(state, FREE, thread, pointer, 0, 0)
        return 1
    if not passes(state, SPACE):
        return 0
    first = prefixed(state) if op == REALLOC else decimal(state)
    if op == MALLOC and first >= 0:
        put(state, MALLOC, thread, 0, pointer, first)
        return 1
    if first < 0 or not passes(state, SPACE):
        return 0
    size = decimal(state)
    if size < 0:
        return 0
    if op == REALLOC:
        put(state, REALLOC, thread, first, pointer, size)
    elif first >= FACTOR or size >= FACTOR:
        return 0
    else:
        put(state, CALLOC, thread, 0, pointer, first * size)
    return 1


@hit_path
def times(state: _Android) -> int:
    """Take the rest of a line: nothing, or begin, end and perhaps bytes; return 0 if it is another one."""
    if passes(state, NEWLINE):
        return state.untimed
    if not passes(state, SPACE):
        return 0
    begin = decimal(state)
    if begin < 0 or not passes(state, SPACE) or decimal(state) < 0:
        return 0
    if passes(state, SPACE) and decimal(state) < 0:
        return 0
    if not passes(state, NEWLINE):
        return 0
    state.time_ns = begin
    state.time[state.calls - 1] = begin
    return 1


@kernel
def one_line(state: _Android) -> int:
    """Take the next line; return 0 if it is not a usual one of a known thread."""
    name = decimal(state)
    if name < 0 or not passes(state, COLON) or not passes(state, SPACE):
        return 0
    at = find(state.keys, ~name)
    if state.keys[at] == 0:
        return 0
    letters = word(state)
    op = -1
    if letters == MALLOC_WORD:
        op = MALLOC
    elif letters == FREE_WORD:
        op = FREE
    elif letters == REALLOC_WORD:
        op = REALLOC
    elif letters == CALLOC_WORD:
        op = CALLOC
    if op < 0 or not passes(state, SPACE) or not arguments(state, op, int(state.numbers[at])):
        return 0
    return times(state)


@kernel
def take(state: _Android) -> None:
    """Take usual lines (text.scan)."""
    while begins(state) and keeps(state, one_line(state)):
        pass


fast_take = compiled(take)


def read(source: Source, about: About) -> Iterator[Calls]:
    """Yield the calls of the text: `thread: operation pointer arguments [begin end [present]]`."""
    reader = _Reader(source, about)
    return scan(source, reader.state, fast_take, reader.line)


class _Reader:
    """Reads lines of all kinds; the kernels read most of them."""

    def __init__(self, source: Source, about: About) -> None:
        self.source, self.about = source, about
        keys, numbers, _ = new_table(_FIRST_THREADS)
        self.state = _Android(**columns("threads", "live", "untimed"), keys=keys, numbers=numbers)

    def line(self, line: int, text: bytes) -> Row:
        """Return the call of a line."""
        words = text.split()
        wanted = _ARGUMENTS.get(words[1]) if len(words) > 2 and words[0].endswith(b":") else None
        if wanted is None:
            self.source.bad(f"line {line}", f"expected `thread: operation pointer ...`, got {shown(text)}")
        name, op, fields = words[0], words[1], words[2:]
        if len(fields) - wanted not in _FIELDS_BEHIND[op == b"thread_done"]:
            expected = f"expected {wanted} fields or these and times, got {len(fields)}"
            self.source.bad(f"line {line}", f"{op.decode()}: {expected}")
        thread = self._thread(self.source.integer(line, name[:-1], "thread"))
        if len(fields) > wanted:
            self.state.time_ns = self.source.integer(line, fields[wanted], "time")
        elif not self.state.untimed:
            self.state.untimed = 1
            self.about.inexact.append(_NO_TIMES)
        row = _call(self.source, line, op, int(self.state.numbers[thread]), fields)
        if op == b"thread_done":
            remove(self.state.keys, self.state.numbers, thread)
            self.state.live -= 1
        return *row, self.state.time_ns, line

    def _thread(self, name: int) -> int:
        """Return the place of a thread in the table, with the next number if it is a new one."""
        state = self.state
        at = find(state.keys, ~name)
        if state.keys[at] == 0:
            if 2 * state.live >= state.keys.size:
                state.keys, state.numbers, _ = grown_table(state.keys, state.numbers, np.zeros(0, np.int64))
                at = find(state.keys, ~name)
            state.keys[at], state.numbers[at] = ~name, state.threads
            state.threads += 1
            state.live += 1
        return at


def _call(source: Source, line: int, op: bytes, thread: int, fields: list[bytes]) -> Row:
    """Return op, thread, old, new, size and log2 of the alignment."""
    pointer = source.integer(line, fields[0], "pointer", 16)
    if op == b"free":
        return Op.FREE, thread, pointer, 0, 0, 0
    if op == b"thread_done":
        return Op.THREAD_EXIT, thread, 0, 0, 0, 0
    if op == b"realloc":
        old = source.integer(line, fields[1], "old pointer", 16)
        return Op.REALLOC, thread, old, pointer, source.integer(line, fields[2], "size"), 0
    if op == b"malloc":
        return Op.MALLOC, thread, 0, pointer, source.integer(line, fields[1], "size"), 0
    first, size = source.integer(line, fields[1], "first argument"), source.integer(line, fields[2], "size")
    if op == b"memalign":
        return Op.ALIGNED, thread, 0, pointer, size, align_log2(first)
    return Op.CALLOC, thread, 0, pointer, source.product(line, first, size), 0


FORMAT = Format(
    name="android",
    what="Android memory_replay text, plain or zipped",
    recognises=lambda head: (
        re.match(rb"\s*\d+: (?:malloc|calloc|realloc|memalign|free|thread_done) ", head) is not None
    ),
    read=read,
    inexact=(),
)
