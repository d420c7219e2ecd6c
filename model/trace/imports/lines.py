"""Files that Python reads call by call, most of them texts with a call per line: the calls as columns."""

from collections.abc import Callable, Iterator

import numpy as np

from heapsmith.model.errors import BadInput
from heapsmith.model.trace.events import CHUNK_EVENTS
from heapsmith.model.trace.imports.builder import ROW, Calls
from heapsmith.model.trace.imports.source import LINE_BYTES, Source

Row = tuple[int, ...]
"""A call: a number for each column of ROW, and its site where the file tells it."""


def calls_by_line(
    source: Source, row_of: Callable[[int, bytes], Row | None], longest: int = LINE_BYTES
) -> Iterator[Calls]:
    """Yield the calls of a text; those before a bad line, then its BadInput.

    row_of: returns the call of a line, or None, from its number and its text without white space at the ends.
    """
    rows = (row_of(line, text) for line, text in source.lines(longest))
    return calls_of_rows(row for row in rows if row is not None)


def calls_of_rows(rows: Iterator[Row]) -> Iterator[Calls]:
    """Yield the calls as columns; those before a BadInput, then this."""
    held: list[Row] = []
    bad = None
    try:
        for row in rows:
            held.append(row)
            if len(held) == CHUNK_EVENTS:
                yield _columns(held)
                held = []
    except BadInput as error:
        bad = error
    if held:
        yield _columns(held)
    if bad is not None:
        raise bad


def _columns(rows: list[Row]) -> Calls:
    columns = np.ascontiguousarray(np.array(rows, np.int64).T)
    calls = Calls(columns[0].astype(np.uint8), *columns[1 : len(ROW)])
    return calls if len(columns) == len(ROW) else calls._replace(site=columns[-1])
