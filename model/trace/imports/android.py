"""Android's memory_replay traces: a line per call, with times in newer ones."""

import re
from collections.abc import Iterator

from heapsmith.model.trace.events import Op
from heapsmith.model.trace.imports.builder import Calls, align_log2, batches
from heapsmith.model.trace.imports.format import About, Format
from heapsmith.model.trace.imports.source import Source, shown

_ARGUMENTS = {b"malloc": 2, b"calloc": 3, b"memalign": 3, b"realloc": 3, b"free": 1, b"thread_done": 1}
"""The fields of each operation, with the pointer."""
_FIELDS_BEHIND = ((0, 2, 3), (0, 1, 2))
"""Of a call: none, the times of its begin and end, and the bytes that were present; of a thread's end its time."""
_NO_TIMES = "no times in some lines: their events are at the time of the line before, 0 at first"


def read(source: Source, about: About) -> Iterator[Calls]:
    """Yield the calls of the text: `thread: operation pointer arguments [begin end [present]]`."""
    return batches(_rows(source, about))


def _rows(source: Source, about: About) -> Iterator[tuple[int, ...]]:
    threads: dict[bytes, int] = {}  # the ids of ended threads are used again
    number, time_ns = 0, 0
    for line, text in source.lines():
        words = text.split()
        wanted = _ARGUMENTS.get(words[1]) if len(words) > 2 and words[0].endswith(b":") else None
        if wanted is None:
            source.bad(f"line {line}", f"expected `thread: operation pointer ...`, got {shown(text)}")
        name, op, fields = words[0], words[1], words[2:]
        if len(fields) - wanted not in _FIELDS_BEHIND[op == b"thread_done"]:
            source.bad(f"line {line}", f"{op.decode()}: expected {wanted} fields or these and times, got {len(fields)}")
        if name not in threads:
            source.integer(line, name[:-1], "thread")
            threads[name], number = number, number + 1
        if len(fields) > wanted:
            time_ns = source.integer(line, fields[wanted], "time")
        elif _NO_TIMES not in about.inexact:
            about.inexact.append(_NO_TIMES)
        yield *_call(source, line, op, threads[name], fields), time_ns, line
        if op == b"thread_done":
            del threads[name]


def _call(source: Source, line: int, op: bytes, thread: int, fields: list[bytes]) -> tuple[int, ...]:
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
