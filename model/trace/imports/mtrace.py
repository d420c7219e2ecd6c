"""The text that glibc's mtrace(3) writes."""

import re
from collections.abc import Iterator

from heapsmith.model.compile.kernel import compiled, hit_path, kernel
from heapsmith.model.trace.events import Op
from heapsmith.model.trace.imports.builder import Calls
from heapsmith.model.trace.imports.format import NO_THREADS, NO_TIMES, About, Format
from heapsmith.model.trace.imports.source import Source, shown
from heapsmith.model.trace.imports.text import (
    NEWLINE,
    SPACE,
    Row,
    Text,
    begins,
    columns,
    keeps,
    passes,
    prefixed,
    put,
    scan,
)

_NULL = b"(nil)"
_CALL = re.compile(rb"(?:@ .* )?([-+<>!]) (0x[0-9a-fA-F]{1,16}|\(nil\))(?: (0x[0-9a-fA-F]{1,16}|0))?")
MALLOC, REALLOC, FREE = int(Op.MALLOC), int(Op.REALLOC), int(Op.FREE)
PLACE, BIRTH, DEATH, BEFORE, AFTER = b"@+-<>"
ZERO = ord("0")


class _Mtrace(Text):
    """The state of a text; `between` is 1 between the two lines of a realloc, of which the first has `taken`."""


@hit_path
def size_of(state: _Mtrace) -> int:
    """The number at `at`, 0 without 0x, or -1."""
    if state.data[state.at] == ZERO and state.data[state.at + 1] == NEWLINE:
        state.at += 1
        return 0
    return prefixed(state)


@hit_path
def call(state: _Mtrace, sign: int) -> int:
    """Take `pointer`, or `pointer size`, behind a sign; return 0 if it is another text."""
    pointer = prefixed(state)
    if pointer <= 0:
        return 0
    if sign in (DEATH, BEFORE):
        if not passes(state, NEWLINE):
            return 0
        if sign == DEATH:
            put(state, FREE, 0, pointer, 0, 0)
        else:
            state.between, state.taken = 1, pointer
        return 1
    if not passes(state, SPACE):
        return 0
    size = size_of(state)
    if size < 0 or not passes(state, NEWLINE):
        return 0
    if sign == AFTER:
        put(state, REALLOC, 0, state.taken, pointer, size)
    else:
        put(state, MALLOC, 0, 0, pointer, size)
    state.between = 0
    return 1


@kernel
def one_line(state: _Mtrace) -> int:
    """Take the next line; return 0 if it is not a usual one."""
    if passes(state, PLACE):
        if not passes(state, SPACE):
            return 0
        while state.data[state.at] != SPACE and state.data[state.at] != NEWLINE:
            state.at += 1
        if not passes(state, SPACE):
            return 0
    sign = int(state.data[state.at])
    if sign == AFTER and state.between == 0:
        return 0
    if sign != AFTER and (state.between != 0 or sign not in (BIRTH, DEATH, BEFORE)):
        return 0
    state.at += 1
    if not passes(state, SPACE):
        return 0
    return call(state, sign)


@kernel
def take(state: _Mtrace) -> None:
    """Take usual lines (text.scan)."""
    while begins(state) and keeps(state, one_line(state)):
        pass


fast_take = compiled(take)


def read(source: Source, about: About) -> Iterator[Calls]:
    """Yield the calls of the text; a realloc has two lines, `<` and `>`."""
    state = _Mtrace(**columns("between", "taken"))
    return scan(source, state, fast_take, lambda line, text: _line(source, state, line, text))


def _line(source: Source, state: _Mtrace, line: int, text: bytes) -> Row | None:
    """Return the call of a line, if it is one."""
    if text in (b"= Start", b"= End"):
        return None
    found = _CALL.fullmatch(text)
    if found is None or (found[3] is None) != (found[1] in b"-<") or (found[1] == b">") != (state.between == 1):
        source.bad(f"line {line}", f"expected a line of mtrace, `+ pointer size` or the like, got {shown(text)}")
    sign, pointer = found[1], 0 if found[2] == _NULL else source.integer(line, found[2], "pointer", 16)
    if sign == b"-":
        return Op.FREE, 0, pointer, 0, 0, 0, 0, line
    if sign == b"<":
        state.between, state.taken = 1, pointer
    elif sign != b"!" and pointer:  # sizes that no program gets are of calls that failed
        size = source.integer(line, found[3], "size", 16)
        old, state.between = state.taken * state.between, 0
        return Op.REALLOC if sign == b">" else Op.MALLOC, 0, old, pointer, size, 0, 0, line
    return None


FORMAT = Format(
    name="mtrace",
    what="glibc's mtrace",
    recognises=lambda head: re.match(rb"= Start\n(?:@ |[-+<] )?", head) is not None,
    read=read,
    inexact=(NO_TIMES, NO_THREADS, "calloc and aligned allocations are malloc"),
)
