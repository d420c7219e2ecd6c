"""CSV with named columns (docs/other-tools.md, 'tables')."""

from collections.abc import Iterator
from typing import Any

from heapsmith.model.trace.imports.builder import Calls
from heapsmith.model.trace.imports.columns import (
    CALLER,
    NUMBERS,
    REQUIRED,
    arrow,
    calls_of_batches,
    check_columns,
)
from heapsmith.model.trace.imports.format import About, Format
from heapsmith.model.trace.imports.source import Source

_BLOCK_BYTES = 1 << 20


def read(source: Source, about: About) -> Iterator[Calls]:
    """Yield the calls of the rows; row 1 has the names of the columns."""
    check_columns(source, _names(source.head), about)
    return calls_of_batches(source, _batches(source), 2, about)


def _names(head: bytes) -> list[str]:
    line = head.partition(b"\n")[0].decode("utf-8", "backslashreplace").removeprefix("\ufeff")
    return [name.strip().strip('"') for name in line.strip().split(",") if name.strip()]


def _batches(source: Source) -> Iterator[Any]:
    pa = arrow()
    from pyarrow import csv

    word = pa.dictionary(pa.int32(), pa.string())
    kinds = {"op": word, CALLER: word} | dict.fromkeys(NUMBERS, pa.int64())
    wanted = [name for name in kinds if name in _names(source.head)]
    yield from csv.open_csv(
        source.stream,
        read_options=csv.ReadOptions(use_threads=False, block_size=_BLOCK_BYTES),
        convert_options=csv.ConvertOptions(column_types=kinds, include_columns=wanted),
    )


FORMAT = Format(
    name="csv",
    what="CSV with named columns",
    recognises=lambda head: set(_names(head)) >= REQUIRED,
    read=read,
    inexact=(),
    record="row",
)
