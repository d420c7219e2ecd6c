"""The text that glibc's mtrace(3) writes."""

import re
from collections.abc import Iterator

import numpy as np

from heapsmith.model.trace.events import Op
from heapsmith.model.trace.imports.builder import Calls
from heapsmith.model.trace.imports.format import NO_THREADS, NO_TIMES, About, Format
from heapsmith.model.trace.imports.lines import Row, calls_by_line
from heapsmith.model.trace.imports.mappings import tree_of
from heapsmith.model.trace.imports.source import Source, shown
from heapsmith.model.trace.imports.stacked import named_code
from heapsmith.model.trace.stacks import CallTree

_NULL = b"(nil)"
_CALL = re.compile(
    rb"(?:@ (?:(?P<file>.*?):?(?P<function>\(.*\))?\[0x(?P<caller>[0-9a-fA-F]{1,15})\]|.*) )?"
    rb"(?P<sign>[-+<>!]) (?P<pointer>0x[0-9a-fA-F]{1,16}|\(nil\))(?: (?P<size>0x[0-9a-fA-F]{1,16}|0))?"
)


def read(source: Source, about: About) -> Iterator[Calls]:
    """Yield the calls of the text."""
    reader = _Reader(source, about)
    about.tree = reader.tree
    return calls_by_line(source, reader.row)


class _Reader:
    """The callers and their sites, and between the two lines of a realloc the block that it `takes`."""

    def __init__(self, source: Source, about: About) -> None:
        self.source, self.about = source, about
        self.takes: int | None = None
        self.names: dict[int, str] = {}  # of callers, by address
        self.sites: dict[int, int] = {}  # likewise

    def row(self, line: int, text: bytes) -> Row | None:
        """Return the call of a line, if it is one; a realloc has two lines, `<` and `>`."""
        found = _CALL.fullmatch(text)
        if text in (b"= Start", b"= End"):
            return None
        wrong = found is None or (found["size"] is None) != (found["sign"] in b"-<")
        if found is None or wrong or (found["sign"] == b">") != (self.takes is not None):
            self.source.bad(
                f"line {line}", f"expected a line of mtrace, `+ pointer size` or the like, got {shown(text)}"
            )
        sign = found["sign"]
        pointer = 0 if found["pointer"] == _NULL else self.source.integer(line, found["pointer"], "pointer", 16)
        if sign == b"-":
            return Op.FREE, 0, pointer, 0, 0, 0, 0, line, 0
        if sign == b"<":
            self.takes = pointer
        elif sign != b"!" and pointer:  # sizes that no program gets are of calls that failed
            size = self.source.integer(line, found["size"], "size", 16)
            old, self.takes = self.takes or 0, None
            site = self._site(int(found["caller"], 16), found) if found["caller"] else 0
            return Op.REALLOC if sign == b">" else Op.MALLOC, 0, old, pointer, size, 0, 0, line, site
        return None

    def _site(self, address: int, found: re.Match[bytes]) -> int:
        """Return the site of a caller, which is named as in backtrace_symbols(3)."""
        if address not in self.sites:
            name = found["file"] + (found["function"] or b"[%#x]" % address)
            self.names[address] = name.decode("utf-8", "backslashreplace")
            self.sites[address] = len(self.sites) + 1
        return self.sites[address]

    def tree(self) -> CallTree:
        """Return the callers, each the only frame of a stack."""
        count = len(self.sites)
        tree = tree_of(np.full(count, -1), np.array([*self.sites], np.int64), np.arange(count), ())
        if found := named_code(tree, self.names.get):
            self.about.extra["perf_map"] = found
        return tree


FORMAT = Format(
    name="mtrace",
    what="glibc's mtrace",
    recognises=lambda head: re.match(rb"= Start\n(?:@ |[-+<] )?", head) is not None,
    read=read,
    inexact=(NO_TIMES, NO_THREADS, "calloc and aligned allocations are malloc"),
)
