"""The text that ltrace writes, with any of its options -f, -t, -tt, -ttt, -r, -i, -n, -S, -C, -T, -e, -l and -x."""

import re
from collections.abc import Iterator

from heapsmith.model.trace.events import Op
from heapsmith.model.trace.imports.builder import Calls, align_log2
from heapsmith.model.trace.imports.format import NO_TIMES, About, Format
from heapsmith.model.trace.imports.lines import Row, calls_by_line
from heapsmith.model.trace.imports.source import Source, shown

SECOND_NS = 10**9
DAY_NS = 24 * 3600 * SECOND_NS
EPOCH = 10**8
"""Seconds from EPOCH on are a time (-ttt), below it what has passed since the line before (-r)."""
_ARGUMENTS = {
    **{b"malloc": 1, b"valloc": 1, b"pvalloc": 1, b"calloc": 2, b"realloc": 2, b"reallocarray": 3},
    **{b"memalign": 2, b"aligned_alloc": 2, b"posix_memalign": 3, b"free": 1},
}
"""The arguments of the calls with these names; ltrace may print more than a function has."""
_PAGE_LOG2 = 12
_LINE = re.compile(
    rb"(?:(?:\[pid (\d+)\]|(\d+)) +)?"  # -f
    rb"(?:(\d\d):(\d\d):(\d\d)(?:\.(\d{6}))? +|(\d{1,10})\.(\d{6}) +)?"  # -t and -tt, or -ttt and -r
    rb"(?:\[0x[0-9a-f]+\] +)?(.*)"  # -i
)
_NAME = rb"(operator (?:new|delete)(?:\[\])?\([^()]*\)|\w+)(?:@[^\s(]+)?"  # -C; -x
_CALL = re.compile(rb"(?:[^\s(]+->)?" + _NAME + rb"\(([^()]*?)(?: <unfinished \.\.\.>|\) += (\S+).*)")
_RESUMED = re.compile(rb"<\.\.\. " + _NAME + rb" resumed> .*\) += (\S+).*")
_NOISE = re.compile(
    rb"[^\W\d][^(]*\(.*(?:\) +=.*| <unfinished \.\.\.>| <no return \.\.\.>)"  # a call of another function
    rb"|<\.\.\. .* resumed> .*"
    rb"|(?:--- )?SIG\w+ \(.*\)(?: ---)?|--- Called exec\(\) ---|unexpected breakpoint at .*"
)
"""Lines that tell of no block, as ltrace's output.c and handle_event.c write them."""
_ENDS = (b"+++ exited", b"+++ killed")
_THROWN = re.compile(rb"(?:\S+->)?(?:__cxa_throw|__cxa_begin_catch|_Unwind_Resume)\b")
"""Calls after which an operator new that began has no result."""


def read(source: Source, about: About) -> Iterator[Calls]:
    """Yield the calls of the text; lines of other functions are passed over."""
    reader = _Reader(source, about)
    yield from calls_by_line(source, reader.row)
    if reader.hidden:
        about.inexact.append(f"{reader.hidden:,} blocks of posix_memalign are missing: ltrace does not show them")


class _Reader:
    """Reads lines of all kinds; keeps calls without a result so far, by thread, the innermost last."""

    def __init__(self, source: Source, about: About) -> None:
        self.source, self.about = source, about
        self.time_ns = self.days_ns = 0  # of the last line, and of the begin of its day
        self.begun: dict[int, list[tuple[bytes, bytes]]] = {}
        self.seen: set[int] = set()
        self.hidden = 0

    def row(self, line: int, text: bytes) -> Row | None:
        """Return the call of a line, if it is one; a call takes place where its result is, a free where it begins."""
        found = _LINE.fullmatch(text)
        assert found is not None  # the last group takes anything
        thread = self.source.integer(line, found[1] or found[2] or b"0", "process")
        time_ns = self._time_ns(found)
        row = self._row(line, thread, found[9])
        if row is None:
            return None
        self.seen.add(thread)
        op, old, new, size, alignment_log2 = row
        return op, thread, old, new, size, alignment_log2, time_ns, line

    def _time_ns(self, found: "re.Match[bytes]") -> int:
        """Return the time of a line; the clock's day may end before the trace does."""
        if found[7] is not None:
            time_ns = int(found[7]) * SECOND_NS + int(found[8]) * 1000
            self.time_ns = time_ns if int(found[7]) >= EPOCH else time_ns + self.time_ns
        elif found[3] is not None:
            hours, minutes, seconds = (int(found[group]) for group in (3, 4, 5))
            time_ns = ((hours * 60 + minutes) * 60 + seconds) * SECOND_NS + int(found[6] or 0) * 1000
            if time_ns + self.days_ns < self.time_ns - DAY_NS // 2:
                self.days_ns += DAY_NS
            self.time_ns = time_ns + self.days_ns
        elif NO_TIMES not in self.about.inexact:
            self.about.inexact.append(NO_TIMES)
        return self.time_ns

    def _row(self, line: int, thread: int, text: bytes) -> tuple[int, int, int, int, int] | None:
        """Return op, old, new, size and log2 of the alignment if a call of malloc's family ends here."""
        if text.startswith(_ENDS):
            self.begun.pop(thread, None)
            return (Op.THREAD_EXIT, 0, 0, 0, 0) if thread in self.seen else None
        resumed, call = _RESUMED.fullmatch(text), _CALL.fullmatch(text)
        if resumed and _is_family(resumed[1]):
            return self._resumed(line, thread, resumed)
        if call and _is_family(call[1]):
            return self._begun(line, thread, call)
        if _NOISE.fullmatch(text) is None:
            self.source.bad(f"line {line}", f"expected a line of ltrace, got {shown(text)}")
        if _THROWN.match(text):
            self.begun.pop(thread, None)
        return None

    def _begun(self, line: int, thread: int, call: "re.Match[bytes]") -> tuple[int, int, int, int, int] | None:
        """Return the call that begins here if it has a result or needs none, and if no other call makes it."""
        name, arguments, result = call[1], call[2], call[3]
        outer = self.begun.get(thread, [])
        if outer and not (outer[-1][0].startswith(b"realloc") or _is_free(outer[-1][0]) == _is_free(name)):
            outer = []  # no operator new frees: it has thrown
            del self.begun[thread]
        if result is None:
            self.begun[thread] = [*outer, (name, arguments)]
        if outer or (result is None and not _is_free(name)):
            return None
        return self._call(line, name, arguments, result)

    def _resumed(self, line: int, thread: int, resumed: "re.Match[bytes]") -> tuple[int, int, int, int, int] | None:
        """Return the call that ends here, unless it is a free, which took place where it began."""
        if thread not in self.begun:
            return None
        name, arguments = self.begun[thread].pop()
        if name != resumed[1]:
            self.source.bad(f"line {line}", f"expected the end of {name.decode()}, got {shown(resumed[0])}")
        if self.begun[thread]:
            return None
        del self.begun[thread]
        return None if _is_free(name) else self._call(line, name, arguments, resumed[2])

    def _call(self, line: int, name: bytes, text: bytes, result: bytes) -> tuple[int, int, int, int, int] | None:
        fields = [field.strip() for field in text.split(b",")]
        wanted = _ARGUMENTS.get(name, 1 + (b"align_val_t" in name))
        if len(fields) < wanted:
            self.source.bad(f"line {line}", f"{name.decode()}: expected {wanted} arguments, got {shown(text)}")
        if _is_free(name):
            return Op.FREE, self._pointer(line, fields[0]), 0, 0, 0
        if name == b"posix_memalign":
            self.hidden += result == b"0"
            return None
        new = self._pointer(line, result)
        if new == 0 and name not in (b"realloc", b"reallocarray"):
            return None  # it failed: its arguments may be any numbers
        return self._birth(line, name, fields, new)

    def _birth(self, line: int, name: bytes, fields: list[bytes], new: int) -> tuple[int, int, int, int, int] | None:
        if name.startswith(b"realloc"):
            sizes = [int(field) if field.isdigit() else -1 for field in fields[1 : _ARGUMENTS[name]]]
            if new == 0 and 0 not in sizes:
                return None
            factors = [self.source.integer(line, field, "size") for field in fields[1 : _ARGUMENTS[name]]]
            size = self.source.product(line, factors[0], factors[1] if len(factors) > 1 else 1)
            return Op.REALLOC, self._pointer(line, fields[0]), new, size, 0
        first = self.source.integer(line, fields[0], "first argument")
        if name in (b"memalign", b"aligned_alloc"):
            return Op.ALIGNED, 0, new, self.source.integer(line, fields[1], "size"), align_log2(first)
        if name == b"calloc":
            size = self.source.product(line, first, self.source.integer(line, fields[1], "size"))
            return Op.CALLOC, 0, new, size, 0
        if b"align_val_t" in name:
            return Op.ALIGNED, 0, new, first, align_log2(self.source.integer(line, fields[1], "alignment"))
        return (Op.ALIGNED, 0, new, first, _PAGE_LOG2) if name.endswith(b"valloc") else (Op.MALLOC, 0, new, first, 0)

    def _pointer(self, line: int, text: bytes) -> int:
        return 0 if text in (b"nil", b"(nil)") else self.source.integer(line, text, "pointer", 16)


def _is_free(name: bytes) -> bool:
    return name == b"free" or name.startswith((b"_Zd", b"operator delete"))


def _is_family(name: bytes) -> bool:
    """Whether a function is one of malloc's family."""
    return name in _ARGUMENTS or name.startswith((b"_Zn", b"_Zd", b"operator "))


def _recognises(head: bytes) -> bool:
    found = _LINE.fullmatch(head.lstrip().partition(b"\n")[0].rstrip())
    return found is not None and any(kind.fullmatch(found[9]) for kind in (_CALL, _RESUMED, _NOISE))


FORMAT = Format(
    name="ltrace",
    what="the text of ltrace -f -tt",
    recognises=_recognises,
    read=read,
    inexact=("calls of the libraries are missing: ltrace shows those of the program's own code",),
)
