"""Parquet with named columns (docs/other-tools.md, 'tables')."""

from collections.abc import Iterator
from typing import Any

from heapsmith.model.errors import BadInput
from heapsmith.model.trace.events import CHUNK_EVENTS
from heapsmith.model.trace.imports.builder import Calls
from heapsmith.model.trace.imports.columns import (
    CALLER,
    NUMBERS,
    arrow,
    calls_of_batches,
    check_columns,
    check_types,
    naming_rows,
)
from heapsmith.model.trace.imports.format import About, Format
from heapsmith.model.trace.imports.source import Source

_MAGIC = b"PAR1"


def read(source: Source, about: About) -> Iterator[Calls]:
    """Yield the calls of the rows, counted from 1."""
    if str(source.path) == "-":
        raise BadInput(f"{source.name}: Parquet cannot be read from a pipe")
    arrow()
    from pyarrow.parquet import ParquetFile, read_schema

    with naming_rows(source):
        schema: Any = read_schema(source.path)
        check_columns(source, schema.names, about)
        check_types(source, schema)
        wanted = [name for name in ("op", CALLER, *NUMBERS) if name in schema.names]
        file: Any = ParquetFile(source.path, pre_buffer=False, read_dictionary=["op"])  # not ahead, all of the file
        batches = file.iter_batches(CHUNK_EVENTS, columns=wanted, use_threads=False)
    return calls_of_batches(source, batches, 1, about)


FORMAT = Format(
    name="parquet",
    what="Parquet with named columns",
    recognises=lambda head: head.startswith(_MAGIC),
    read=read,
    inexact=(),
    record="row",
)
