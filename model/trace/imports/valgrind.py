"""The log of `valgrind --trace-malloc=yes`."""

import re
from collections.abc import Iterator

from heapsmith.model.compile.kernel import compiled, hit_path, kernel
from heapsmith.model.trace.events import Op
from heapsmith.model.trace.imports.builder import Calls, align_log2
from heapsmith.model.trace.imports.format import NO_THREADS, About, Format
from heapsmith.model.trace.imports.source import Source, shown
from heapsmith.model.trace.imports.text import (
    CALLOC_WORD,
    COLON,
    FACTOR,
    FREE_WORD,
    LOW,
    MALLOC_WORD,
    NEWLINE,
    REALLOC_WORD,
    SPACE,
    Row,
    Text,
    begins,
    columns,
    decimal,
    is_name,
    keeps,
    passes,
    prefixed,
    put,
    scan,
    two_digits,
    word,
)

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
MALLOC, CALLOC, REALLOC, FREE = (int(op) for op in (Op.MALLOC, Op.CALLOC, Op.REALLOC, Op.FREE))
MINUS, POINT, COMMA, EQUAL, OPEN, CLOSE = b"-.,=()"
NO_PROCESS = -2
UPPER_Z, N, D, W, A, L = b"Zndwal"
_NO_TIMES = "no times (valgrind --time-stamp=yes writes them): all events are at time 0"


class _Valgrind(Text):
    """The state of a log: the number of its `process`, and whether its calls have times (`stamped`, `bare`)."""


@hit_path
def stamp(state: _Valgrind) -> int:
    """Take `days:hours:minutes:seconds.thousandths `; return 0 if it is another text."""
    seconds = ((two_digits(state) * 24 + two_digits(state)) * 60 + two_digits(state)) * 60 + two_digits(state)
    begin = state.at
    thousandths = decimal(state)
    if seconds < 0 or thousandths < 0 or state.at != begin + 3 or state.data[begin - 1] != POINT:
        return 0
    if state.data[begin - 4] != COLON or state.data[begin - 7] != COLON or state.data[begin - 10] != COLON:
        return 0
    state.time_ns = seconds * 1000000000 + thousandths * 1000000
    return passes(state, SPACE)


@hit_path
def result(state: _Valgrind) -> int:
    """The pointer in `) = 0x...` at the end of a line, or -1."""
    if not passes(state, CLOSE) or not passes(state, SPACE) or not passes(state, EQUAL) or not passes(state, SPACE):
        return -1
    pointer = prefixed(state)
    return pointer if passes(state, NEWLINE) else -1


@hit_path
def resize(state: _Valgrind) -> int:
    """Take `pointer,size) = pointer`; return 0 if it is another text."""
    old = prefixed(state)
    if old < 0 or not passes(state, COMMA):
        return 0
    size = decimal(state)
    if size < 0:
        return 0
    new = result(state)
    if new >= 0:
        put(state, REALLOC, 0, old, new, size)
    return int(new >= 0)


@hit_path
def birth(state: _Valgrind, count: int) -> int:
    """Take `size) = pointer`, with `count` in front if it is above 0; return 0 if it is another text."""
    size = decimal(state)
    if count > 0:
        if size < 0 or size >= FACTOR or not passes(state, COMMA):
            return 0
        other = decimal(state)
        if other < 0 or other >= FACTOR:
            return 0
        size *= other
    if size < 0:
        return 0
    new = result(state)
    if new >= 0:
        put(state, CALLOC if count > 0 else MALLOC, 0, 0, new, size)
    return int(new >= 0)


@hit_path
def call(state: _Valgrind) -> int:
    """Take a call; return 0 if it is not a usual one."""
    data, at = state.data, state.at
    is_new = data[at] == LOW and data[at + 1] == UPPER_Z and (data[at + 2] == N or data[at + 2] == D)
    letters = 0
    if is_new:  # operator new or delete
        if data[at + 2] == N:
            is_kind = data[at + 3] == W or data[at + 3] == A
            letters = MALLOC_WORD
        else:
            is_kind = data[at + 3] == L or data[at + 3] == A
            letters = FREE_WORD
        if not is_kind or not is_name(int(data[at + 4])):
            return 0
        state.at += 4
        while is_name(int(state.data[state.at])):
            state.at += 1
    else:
        letters = word(state)
    if not passes(state, OPEN):
        return 0
    if letters == MALLOC_WORD:
        return birth(state, 0)
    if letters == CALLOC_WORD:
        return birth(state, 1)
    if letters == REALLOC_WORD:
        return resize(state)
    if letters != FREE_WORD:
        return 0
    old = prefixed(state)
    if old < 0 or not passes(state, CLOSE) or not passes(state, NEWLINE):
        return 0
    put(state, FREE, 0, old, 0, 0)
    return 1


@kernel
def one_line(state: _Valgrind) -> int:
    """Take the next line; return 0 if it is not a usual one of the known process."""
    if not passes(state, MINUS) or not passes(state, MINUS):
        return 0
    if state.data[state.at + 2] == COLON:
        if not state.stamped or not stamp(state):
            return 0
    elif not state.bare:
        return 0
    else:
        state.time_ns = 0
    if decimal(state) != state.process or not passes(state, MINUS) or not passes(state, MINUS):
        return 0
    return passes(state, SPACE) and call(state)


@kernel
def take(state: _Valgrind) -> None:
    """Take usual lines (text.scan)."""
    while begins(state) and keeps(state, one_line(state)):
        pass


fast_take = compiled(take)


def read(source: Source, about: About) -> Iterator[Calls]:
    """Yield the calls of the log; its other lines are passed over."""
    reader = _Reader(source, about)
    return scan(source, reader.state, fast_take, reader.line)


class _Reader:
    """Reads lines of all kinds; the kernels read most of them."""

    def __init__(self, source: Source, about: About) -> None:
        self.source, self.about = source, about
        self.state = _Valgrind(**columns("process", "stamped", "bare"))
        self.state.process = NO_PROCESS
        self.in_suppression = False

    def line(self, line: int, text: bytes) -> Row | None:
        """Return the call of a line, if it is one."""
        self.about.command = self.about.command or _command(text)
        found = _LINE.fullmatch(text)
        if found is None or not _BEGINS.match(found[7]):
            self._pass_over(line, text)
            return None
        process = self.source.integer(line, found[6], "process")
        if self.state.process not in (NO_PROCESS, process):
            self.source.bad(f"line {line}", "a second process; expected the log of one (--log-file=log.%p)")
        self.state.process = process
        if b"has a fishy" in found[7]:  # its result is on the next line, and always 0
            return None
        if found[1] is not None:
            self.state.stamped = 1
        elif not self.state.bare:
            self.state.bare = 1
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
