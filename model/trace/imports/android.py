"""Android's memory_replay traces: a line per call, with times in newer ones."""

import re
from collections.abc import Iterator

from heapsmith.model.trace.events import Op
from heapsmith.model.trace.imports.builder import Calls, align_log2
from heapsmith.model.trace.imports.format import NO_TIMES, SOME_TIMES, About, Format
from heapsmith.model.trace.imports.lines import Row, calls_by_line
from heapsmith.model.trace.imports.source import Source, shown

_ARGUMENTS = {b"malloc": 2, b"calloc": 3, b"memalign": 3, b"realloc": 3, b"free": 1, b"thread_done": 1}
"""The fields of each operation, with the pointer."""
_FIELDS_BEHIND = ((0, 2, 3), (0, 1, 2))
"""Of a call: none, the times of its begin and end, and the bytes that were present; of a thread's end its time."""


def read(source: Source, about: About) -> Iterator[Calls]:
    """Yield the calls of the text: `thread: operation pointer arguments [begin end [present]]`."""
    reader = _Reader(source)
    try:
        yield from calls_by_line(source, reader.row)
    finally:  # also of a text whose beginning is salvaged
        if reader.untimed:
            about.inexact.append(SOME_TIMES if reader.timed else NO_TIMES)


class _Reader:
    """The live threads by name, because names are used again, the time of the last line, and whether all have one."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.timed = self.untimed = False
        self.live: dict[int, int] = {}
        self.threads = 0
        self.time_ns = 0

    def row(self, line: int, text: bytes) -> Row:
        """Return the call of a line."""
        words = text.split()
        wanted = _ARGUMENTS.get(words[1]) if len(words) > 2 and words[0].endswith(b":") else None
        if wanted is None:
            self.source.bad(f"line {line}", f"expected `thread: operation pointer ...`, got {shown(text)}")
        name, op, fields = words[0], words[1], words[2:]
        if len(fields) - wanted not in _FIELDS_BEHIND[op == b"thread_done"]:
            expected = f"expected {wanted} fields or these and times, got {len(fields)}"
            self.source.bad(f"line {line}", f"{op.decode()}: {expected}")
        thread = self.source.integer(line, name[:-1], "thread")
        if thread not in self.live:
            self.live[thread] = self.threads
            self.threads += 1
        if len(fields) > wanted:
            self.time_ns, self.timed = self.source.integer(line, fields[wanted], "time"), True
        else:
            self.untimed = True
        row = _call(self.source, line, op, self.live[thread], fields)
        if op == b"thread_done":
            del self.live[thread]
        return *row, self.time_ns, line


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
