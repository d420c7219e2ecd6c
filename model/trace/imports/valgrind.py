"""The log of `valgrind --trace-malloc=yes`."""

import re
from collections.abc import Iterator

from heapsmith.model.trace.events import Op
from heapsmith.model.trace.imports.builder import Calls, align_log2
from heapsmith.model.trace.imports.format import NO_THREADS, About, Format
from heapsmith.model.trace.imports.lines import Row, calls_by_line
from heapsmith.model.trace.imports.source import Source, shown

_LINE = re.compile(rb"--(?:(\d\d):(\d\d):(\d\d):(\d\d)\.(\d{3}) )?\s*(\d+)-- (.*)")
_NOISE = re.compile(
    rb"(?:==|--|\*\*)(?:[\d:.]+ )?\s*\d+(?:==|--|\*\*|:\d+:).*"  # what tools report, -v, and clients' own texts
    rb"|SYSCALL\[\d+,\d+\]\(.*| *-->.*|0x[0-9a-f]+: \[\d+\]=\{.*"  # --trace-syscalls, -v -v
)
"""Lines that tell of no block, as valgrind's m_libcprint.c and m_syswrap write them."""
_SUPPRESSION = re.compile(rb"\}|<insert_a_suppression_name_here>|[\w-]+:.*|\.\.\.|\w+\(\w+\)")
"""Those between `{` and `}` (--gen-suppressions), as m_errormgr.c writes them."""
_NAMES = rb"(malloc|calloc|realloc|memalign|free|_Zn[aw]\w+|_Zd[al]\w+)"
_BEGINS = re.compile(_NAMES + rb"\(")
# a realloc that does what malloc or free do prints their call behind its own
_CALL = re.compile(rb"(?:realloc\([^)]*\))?" + _NAMES + rb"\(([^)]*)\)(?: = (0x[0-9a-fA-F]{1,16}))?")
_ALIGNED = re.compile(rb"(?:al (\d+), )?size (\d+)(?:, al (\d+))?")
_NO_TIMES = "no times (valgrind --time-stamp=yes writes them): all events are at time 0"


def read(source: Source, about: About) -> Iterator[Calls]:
    """Yield the calls of the log; its other lines are passed over."""
    reader = _Reader(source, about)
    return calls_by_line(source, reader.row)


class _Reader:
    """What the lines before told: the process, and whether a call had no time."""

    def __init__(self, source: Source, about: About) -> None:
        self.source, self.about = source, about
        self.process: int | None = None
        self.in_suppression = False

    def row(self, line: int, text: bytes) -> Row | None:
        """Return the call of a line, if it is one."""
        self.about.command = self.about.command or _command(text)
        found = _LINE.fullmatch(text)
        if found is None or not _BEGINS.match(found[7]):
            self._pass_over(line, text)
            return None
        process = self.source.integer(line, found[6], "process")
        if self.process not in (None, process):
            self.source.bad(f"line {line}", "a second process; expected the log of one (--log-file=log.%p)")
        self.process = process
        if b"has a fishy" in found[7]:  # its result is on the next line, and always 0
            return None
        if found[1] is None and _NO_TIMES not in self.about.inexact:
            self.about.inexact.append(_NO_TIMES)
        call = _CALL.fullmatch(found[7])
        if call is None:
            self.source.bad(f"line {line}", f"expected a call as valgrind prints it, got {shown(found[7])}")
        return *_call(self.source, line, call), _time_ns(found), line

    def _pass_over(self, line: int, text: bytes) -> None:
        """Check that a line is one of those that tell of no block."""
        known = _SUPPRESSION if self.in_suppression else _NOISE
        if text == b"{" and not self.in_suppression:
            self.in_suppression = True
        elif known.fullmatch(text) is None:
            said = "expected a line of valgrind's log (--log-file keeps it apart from the program's own output)"
            self.source.bad(f"line {line}", f"{said}, got {shown(text)}")
        elif text == b"}":
            self.in_suppression = False


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
    recognises=lambda head: re.match(rb"\s*(?:==|--)(?:[\d:.]+ )?\s*\d+(?:==|--) ", head) is not None,
    read=read,
    inexact=(NO_THREADS,),
)
