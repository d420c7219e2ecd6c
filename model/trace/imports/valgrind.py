"""The log of `valgrind --trace-malloc=yes`."""

import re
from collections.abc import Iterator

from heapsmith.model.trace.events import Op
from heapsmith.model.trace.imports.builder import Calls, align_log2, batches
from heapsmith.model.trace.imports.format import NO_THREADS, About, Format
from heapsmith.model.trace.imports.source import Source, shown

_LINE = re.compile(rb"--(?:(\d\d):(\d\d):(\d\d):(\d\d)\.(\d{3}) )?\s*(\d+)-- (.*)")
_NAMES = rb"(malloc|calloc|realloc|memalign|free|_Zn[aw]\w+|_Zd[al]\w+)"
_BEGINS = re.compile(_NAMES + rb"\(")
# a realloc that does what malloc or free do prints their call behind its own
_CALL = re.compile(rb"(?:realloc\([^)]*\))?" + _NAMES + rb"\(([^)]*)\)(?: = (0x[0-9A-F]{1,16}))?")
_ALIGNED = re.compile(rb"(?:al (\d+), )?size (\d+)(?:, al (\d+))?")
_NO_TIMES = "no times (valgrind --time-stamp=yes writes them): all events are at time 0"


def read(source: Source, about: About) -> Iterator[Calls]:
    """Yield the calls of the log; its other lines are passed over."""
    return batches(_rows(source, about))


def _rows(source: Source, about: About) -> Iterator[tuple[int, ...]]:
    process = None
    for line, text in source.lines():
        about.command = about.command or _command(text)
        found = _LINE.fullmatch(text)
        if found is None or not _BEGINS.match(found[7]):
            continue
        if process not in (None, found[6]):
            source.bad(f"line {line}", "a second process; expected the log of one (--log-file=log.%p)")
        process = found[6]
        if b"has a fishy" in found[7]:  # its result is on the next line, and always 0
            continue
        if found[1] is None and _NO_TIMES not in about.inexact:
            about.inexact.append(_NO_TIMES)
        call = _CALL.fullmatch(found[7])
        if call is None:
            source.bad(f"line {line}", f"expected a call as valgrind prints it, got {shown(found[7])}")
        yield *_call(source, line, call), _time_ns(found), line


def _command(text: bytes) -> list[str]:
    found = re.fullmatch(rb"==.*== Command: (.*)", text)
    return found[1].decode("utf-8", "backslashreplace").split() if found else []


def _time_ns(found: "re.Match[bytes]") -> int:
    if found[1] is None:
        return 0
    days, hours, minutes, seconds, thousandths = (int(found[group]) for group in range(1, 6))
    return (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 10**9 + thousandths * 10**6


def _call(source: Source, line: int, call: "re.Match[bytes]") -> tuple[int, ...]:
    """Return op, thread, old, new, size and log2 of the alignment."""
    name = call[1]
    if name == b"free" or name.startswith(b"_Zd"):
        return Op.FREE, 0, source.integer(line, call[2], "pointer", 16), 0, 0, 0
    new = source.integer(line, call[3] or b"", "result", 16)
    aligned = _ALIGNED.fullmatch(call[2])
    if aligned:
        size = source.integer(line, aligned[2], "size")
        return Op.ALIGNED, 0, 0, new, size, align_log2(source.integer(line, aligned[1] or aligned[3], "alignment"))
    numbers = [source.integer(line, field, "argument", 0) for field in call[2].split(b",")]
    if len(numbers) != 1 + (name in (b"realloc", b"calloc")):
        source.bad(f"line {line}", f"expected a call as valgrind prints it, got {shown(call[0])}")
    if name == b"realloc":
        return Op.REALLOC, 0, numbers[0], new, numbers[1], 0
    if name == b"calloc":
        return Op.CALLOC, 0, 0, new, source.product(line, *numbers), 0
    return Op.MALLOC, 0, 0, new, numbers[0], 0


FORMAT = Format(
    name="valgrind",
    what="the log of valgrind --trace-malloc=yes",
    recognises=lambda head: re.match(rb"(?:==.*\n)*--[\d:. ]+-- ", head) is not None,
    read=read,
    inexact=(NO_THREADS,),
)
