"""Text with a call per line, which Python reads: the calls as columns."""

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
    rows: list[Row] = []
    bad = None
    try:
        for line, text in source.lines(longest):
            row = row_of(line, text)
            if row is not None:
                rows.append(row)
            if len(rows) == CHUNK_EVENTS:
                yield _columns(rows)
                rows = []
    except BadInput as error:
        bad = error
    if rows:
        yield _columns(rows)
    if bad is not None:
        raise bad


def _columns(rows: list[Row]) -> Calls:
    columns = np.ascontiguousarray(np.array(rows, np.int64).T)
    calls = Calls(columns[0].astype(np.uint8), *columns[1 : len(ROW)])
    return calls if len(columns) == len(ROW) else calls._replace(site=columns[-1])
