"""The text that glibc's mtrace(3) writes."""

import re
from collections.abc import Iterator

from heapsmith.model.trace.events import Op
from heapsmith.model.trace.imports.builder import Calls, batches
from heapsmith.model.trace.imports.format import NO_THREADS, NO_TIMES, About, Format
from heapsmith.model.trace.imports.source import Source, shown

_NULL = b"(nil)"
_CALL = re.compile(rb"(?:@ .* )?([-+<>!]) (0x[0-9a-f]{1,16}|\(nil\))(?: (0x[0-9a-f]{1,16}|0))?")


def read(source: Source, about: About) -> Iterator[Calls]:
    """Yield the calls of the text; a realloc has two lines, `<` and `>`."""
    return batches(_rows(source))


def _rows(source: Source) -> Iterator[tuple[int, ...]]:
    old = -1  # of a realloc whose second line comes next
    for line, text in source.lines():
        if text in (b"= Start", b"= End"):
            continue
        found = _CALL.fullmatch(text)
        if found is None or (found[3] is None) != (found[1] in b"-<") or (found[1] == b">") != (old >= 0):
            source.bad(f"line {line}", f"expected a line of mtrace, `+ pointer size` or the like, got {shown(text)}")
        sign, pointer = found[1], 0 if found[2] == _NULL else source.integer(line, found[2], "pointer", 16)
        if sign == b"-":
            yield Op.FREE, 0, pointer, 0, 0, 0, 0, line
        elif sign == b"<":
            old = pointer
        elif sign != b"!" and pointer:  # sizes that no program gets are of calls that failed
            size = source.integer(line, found[3], "size", 16)
            yield Op.REALLOC if sign == b">" else Op.MALLOC, 0, max(old, 0), pointer, size, 0, 0, line
            old = -1


FORMAT = Format(
    name="mtrace",
    what="glibc's mtrace",
    recognises=lambda head: re.match(rb"= Start\n(?:@ |[-+<] )?", head) is not None,
    read=read,
    inexact=(NO_TIMES, NO_THREADS, "calloc and aligned allocations are malloc"),
)
