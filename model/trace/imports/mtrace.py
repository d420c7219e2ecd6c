"""The text that glibc's mtrace(3) writes."""

import re
from collections.abc import Iterator

from heapsmith.model.compile.kernel import compiled, hit_path, kernel
from heapsmith.model.trace.events import Op
from heapsmith.model.trace.imports import stacked
from heapsmith.model.trace.imports.builder import Calls
from heapsmith.model.trace.imports.format import NO_THREADS, NO_TIMES, About, Format
from heapsmith.model.trace.imports.source import Source, shown
from heapsmith.model.trace.imports.stacked import Stacked, frame_of, has_room, make_room, place, site_of, with_sites
from heapsmith.model.trace.imports.text import (
    NEWLINE,
    SPACE,
    Row,
    begins,
    columns,
    keeps,
    passes,
    prefixed,
    put,
    scan,
)
from heapsmith.model.trace.stacks import CallTree

_NULL = b"(nil)"
_CALL = re.compile(
    rb"(?:@ (?:(?P<file>.*?):?(?P<function>\(.*\))?\[0x(?P<caller>[0-9a-fA-F]{1,15})\]|.*) )?"
    rb"(?P<sign>[-+<>!]) (?P<pointer>0x[0-9a-fA-F]{1,16}|\(nil\))(?: (?P<size>0x[0-9a-fA-F]{1,16}|0))?"
)
MALLOC, REALLOC, FREE = int(Op.MALLOC), int(Op.REALLOC), int(Op.FREE)
PLACE, BIRTH, DEATH, BEFORE, AFTER, OPEN, CLOSE = b"@+-<>[]"
ZERO = ord("0")
NEW, WRONG = -1, -2


class _Mtrace(Stacked):
    """The state of a text; `between` is 1 between the two lines of a realloc, of which the first has `taken`."""


@hit_path
def caller(state: _Mtrace) -> int:
    """The site of a caller, `file:(function)[address] ` at `at`; NEW, or WRONG if it is another text."""
    while state.data[state.at] != OPEN and state.data[state.at] != NEWLINE:
        state.at += 1
    if not passes(state, OPEN):
        return WRONG
    address = prefixed(state)
    if address <= 0 or not passes(state, CLOSE) or not passes(state, SPACE):
        return WRONG
    frame = int(state.children[place(state.children, state.addresses, state.outer, address, 0)])
    return int(state.sites[frame]) if frame != 0 else NEW


@hit_path
def size_of(state: _Mtrace) -> int:
    """The number at `at`, 0 without 0x, or -1."""
    if state.data[state.at] == ZERO and state.data[state.at + 1] == NEWLINE:
        state.at += 1
        return 0
    return prefixed(state)


@hit_path
def call(state: _Mtrace, sign: int, site: int) -> int:
    """Take `pointer`, or `pointer size`, behind a sign; return 0 if it is another text."""
    pointer = prefixed(state)
    if pointer <= 0:
        return 0
    if sign in (DEATH, BEFORE):
        if not passes(state, NEWLINE):
            return 0
        if sign == DEATH:
            state.site[state.calls] = 0
            put(state, FREE, 0, pointer, 0, 0)
        else:
            state.between, state.taken = 1, pointer
        return 1
    if not passes(state, SPACE):
        return 0
    size = size_of(state)
    if size < 0 or site == NEW or not passes(state, NEWLINE):
        return 0
    state.site[state.calls] = site
    if sign == AFTER:
        put(state, REALLOC, 0, state.taken, pointer, size)
    else:
        put(state, MALLOC, 0, 0, pointer, size)
    state.between = 0
    return 1


@kernel
def one_line(state: _Mtrace) -> int:
    """Take the next line; return 0 if it is not a usual one."""
    site = 0
    if passes(state, PLACE):
        site = caller(state) if passes(state, SPACE) else WRONG
    if site == WRONG:
        return 0
    sign = int(state.data[state.at])
    if sign == AFTER and state.between == 0:
        return 0
    if sign != AFTER and (state.between != 0 or sign not in (BIRTH, DEATH, BEFORE)):
        return 0
    state.at += 1
    if not passes(state, SPACE):
        return 0
    return call(state, sign, site)


@kernel
def take(state: _Mtrace) -> None:
    """Take usual lines (text.scan)."""
    while begins(state) and keeps(state, one_line(state)):
        pass


fast_take = compiled(take)


def read(source: Source, about: About) -> Iterator[Calls]:
    """Yield the calls of the text."""
    reader = _Reader(source, about)
    about.tree = reader.tree
    for calls in scan(source, reader.state, fast_take, reader.line):
        yield with_sites(reader.state, calls)


class _Reader:
    """Reads all lines; the kernels read most of them."""

    def __init__(self, source: Source, about: About) -> None:
        self.source, self.about = source, about
        self.state = _Mtrace(**columns("between", "taken", *stacked.SCALARS), **stacked.tables(_Mtrace))
        self.names: dict[int, str] = {}  # of callers, by address

    def line(self, line: int, text: bytes) -> Row | None:
        """Return the call of a line, if it is one; a realloc has two lines, `<` and `>`."""
        state, found = self.state, _CALL.fullmatch(text)
        if text in (b"= Start", b"= End"):
            return None
        wrong = found is None or (found["size"] is None) != (found["sign"] in b"-<")
        if found is None or wrong or (found["sign"] == b">") != (state.between == 1):
            self.source.bad(
                f"line {line}", f"expected a line of mtrace, `+ pointer size` or the like, got {shown(text)}"
            )
        sign = found["sign"]
        pointer = 0 if found["pointer"] == _NULL else self.source.integer(line, found["pointer"], "pointer", 16)
        state.site[state.calls] = 0
        if sign == b"-":
            return Op.FREE, 0, pointer, 0, 0, 0, 0, line
        if sign == b"<":
            state.between, state.taken = 1, pointer
        elif sign != b"!" and pointer:  # sizes that no program gets are of calls that failed
            size = self.source.integer(line, found["size"], "size", 16)
            old, state.between = state.taken * state.between, 0
            if found["caller"]:
                state.site[state.calls] = self._site(int(found["caller"], 16), found)
            return Op.REALLOC if sign == b">" else Op.MALLOC, 0, old, pointer, size, 0, 0, line
        return None

    def _site(self, address: int, found: re.Match[bytes]) -> int:
        """Return the site of a caller, which the kernels know from now on; named as in backtrace_symbols(3)."""
        name = found["file"] + (found["function"] or b"[%#x]" % address)
        self.names.setdefault(address, name.decode("utf-8", "backslashreplace"))
        if not has_room(self.state, 1):
            make_room(self.state)
        return site_of(self.state, frame_of(self.state, address, 0))

    def tree(self) -> CallTree:
        """Return the callers, each the only frame of a stack."""
        tree = stacked.tree(self.state, ())
        if found := stacked.named_code(tree, self.names.get):
            self.about.extra["perf_map"] = found
        return tree


FORMAT = Format(
    name="mtrace",
    what="glibc's mtrace",
    recognises=lambda head: re.match(rb"= Start\n(?:@ |[-+<] )?", head) is not None,
    read=read,
    inexact=(NO_TIMES, NO_THREADS, "calloc and aligned allocations are malloc"),
)
