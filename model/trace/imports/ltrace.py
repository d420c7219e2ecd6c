"""The text that `ltrace -f -tt` writes."""

import re
from collections.abc import Iterator

from heapsmith.model.trace.events import Op
from heapsmith.model.trace.imports.builder import Calls, align_log2, batches
from heapsmith.model.trace.imports.format import NO_TIMES, About, Format
from heapsmith.model.trace.imports.source import Source, shown

_DAY_NS = 24 * 3600 * 10**9
_ARGUMENTS = {
    **{b"malloc": 1, b"valloc": 1, b"pvalloc": 1, b"calloc": 2, b"realloc": 2, b"reallocarray": 3},
    **{b"memalign": 2, b"aligned_alloc": 2, b"posix_memalign": 3, b"free": 1},
}
"""The arguments of the calls with these names; ltrace may print more than a function has."""
_PAGE_LOG2 = 12
_LINE = re.compile(rb"(?:(?:\[pid (\d+)\]|(\d+)) +)?(?:(\d\d):(\d\d):(\d\d)(?:\.(\d{6}))? )?(.*)")
_CALL = re.compile(rb"(?:\S+->)?(\w+)\(([^()]*?)(?: <unfinished \.\.\.>|\) += (\S+).*)")
_RESUMED = re.compile(rb"<\.\.\. (\w+) resumed> .*\) += (\S+).*")


def read(source: Source, about: About) -> Iterator[Calls]:
    """Yield the calls of the text; lines of other functions are passed over."""
    return batches(_Reader(source, about).rows())


class _Reader:
    """The state of reading: calls without a result so far, by thread, and the day of the last line."""

    def __init__(self, source: Source, about: About) -> None:
        self.source, self.about = source, about
        self.begun: dict[int, tuple[bytes, bytes]] = {}
        self.seen: set[int] = set()
        self.days_ns, self.last_ns = 0, 0
        self.hidden = 0

    def rows(self) -> Iterator[tuple[int, ...]]:
        """Yield the calls; a call takes place where its result is, a free where it begins."""
        for line, text in self.source.lines():
            found = _LINE.fullmatch(text)
            assert found is not None  # the last group takes anything
            thread = self.source.integer(line, found[1] or found[2] or b"0", "process")
            time_ns = self._time_ns(line, found)
            row = self._row(line, thread, found[7])
            if row is not None:
                self.seen.add(thread)
                op, old, new, size, alignment_log2 = row
                yield op, thread, old, new, size, alignment_log2, time_ns, line
        if self.hidden:
            self.about.inexact.append(
                f"{self.hidden:,} blocks of posix_memalign are missing: ltrace does not show them"
            )

    def _time_ns(self, line: int, found: "re.Match[bytes]") -> int:
        """Return the time of a line; the clock's day may end before the trace does."""
        if found[3] is None:
            if NO_TIMES not in self.about.inexact:
                self.about.inexact.append(NO_TIMES)
            return 0
        hours, minutes, seconds = (int(found[group]) for group in (3, 4, 5))
        time_ns = ((hours * 60 + minutes) * 60 + seconds) * 10**9 + int(found[6] or 0) * 1000
        if time_ns + self.days_ns < self.last_ns - _DAY_NS // 2:
            self.days_ns += _DAY_NS
        self.last_ns = time_ns + self.days_ns
        return self.last_ns

    def _row(self, line: int, thread: int, text: bytes) -> tuple[int, int, int, int, int] | None:
        """Return op, old, new, size and log2 of the alignment if a call of malloc's family ends here."""
        if text.startswith((b"+++ exited", b"+++ killed")):
            return (Op.THREAD_EXIT, 0, 0, 0, 0) if thread in self.seen else None
        resumed, call = _RESUMED.fullmatch(text), _CALL.fullmatch(text)
        if resumed:
            name, arguments = self.begun.pop(thread, (b"", b""))
            result = resumed[2]
            if name == b"":
                return None
            if name != resumed[1]:
                self.source.bad(f"line {line}", f"expected the end of {name.decode()}, got {shown(text)}")
        elif call and (call[1] in _ARGUMENTS or call[1].startswith((b"_Zn", b"_Zd"))):
            name, arguments, result = call[1], call[2], call[3]
            if name != b"free" and not name.startswith(b"_Zd") and result is None:
                self.begun[thread] = name, arguments
                return None
        else:
            return None
        return self._call(line, name, arguments, result)

    def _call(self, line: int, name: bytes, text: bytes, result: bytes) -> tuple[int, int, int, int, int] | None:
        fields = [field.strip() for field in text.split(b",")]
        wanted = _ARGUMENTS.get(name, 1 + (b"align_val_t" in name))
        if len(fields) < wanted:
            self.source.bad(f"line {line}", f"{name.decode()}: expected {wanted} arguments, got {shown(text)}")
        if name == b"free" or name.startswith(b"_Zd"):
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


FORMAT = Format(
    name="ltrace",
    what="the text of ltrace -f -tt",
    recognises=lambda head: (
        re.search(
            rb"^(?:(?:\[pid \d+\]|\d+) +)?(?:\d\d:\d\d:\d\d(?:\.\d{6})? )?(?:\S+->)?\w+\(.*(?:\) += |<unfinished)",
            head[:4096],
            re.M,
        )
        is not None
    ),
    read=read,
    inexact=("calls of the libraries are missing: ltrace shows those of the program's own code",),
)
