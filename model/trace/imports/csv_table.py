"""CSV with named columns (docs/other-tools.md, 'tables')."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from heapsmith.model.trace.imports.builder import Calls
from heapsmith.model.trace.imports.columns import (
    CALLER,
    NUMBERS,
    REQUIRED,
    arrow,
    calls_of_batches,
    check_columns,
    naming_rows,
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
    """Yield the batches of blocks of whole rows, each below the names of the columns.

    Each block is copied to memory of pyarrow: a thread of pyarrow that reads a file of Python, or drops one, as the
    interpreter ends, aborts the process.
    """
    pa = arrow()
    from pyarrow import csv

    word = pa.dictionary(pa.int32(), pa.string())
    kinds = {"op": word, CALLER: word} | dict.fromkeys(NUMBERS, pa.int64())
    wanted = [name for name in kinds if name in _names(source.head)]
    convert = csv.ConvertOptions(column_types=kinds, include_columns=wanted)
    names, before = source.stream.readline(_BLOCK_BYTES), 0
    for rows in _blocks(source):
        block = names + rows
        copy = pa.allocate_buffer(len(block))
        np.frombuffer(copy, np.uint8)[:] = np.frombuffer(block, np.uint8)
        with naming_rows(source, before):
            options = csv.ReadOptions(use_threads=False, block_size=len(block) + 1)
            table = csv.read_csv(pa.BufferReader(copy), read_options=options, convert_options=convert)
        yield from table.to_batches()
        before += rows.count(b"\n")


def _blocks(source: Source) -> Iterator[bytes]:
    """Yield the lines that come, many at a time; BadInput for one that is longer than a block."""
    rest = b""
    while block := source.stream.read(_BLOCK_BYTES):
        rows, newline, after = block.rpartition(b"\n")
        if newline:
            yield rest + rows + newline
            rest = after
        elif rest:
            source.bad("the table", f"expected rows of at most {_BLOCK_BYTES:,} bytes")
        else:
            rest = after
    if rest:
        yield rest


FORMAT = Format(
    name="csv",
    what="CSV with named columns",
    recognises=lambda head: set(_names(head)) >= REQUIRED,
    read=read,
    inexact=(),
    record="row",
)
