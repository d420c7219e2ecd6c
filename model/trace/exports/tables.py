"""Tables of a trace in Parquet, CSV and JSON lines, written batch by batch (docs/other-tools.md)."""

from collections.abc import Callable, Iterable
from itertools import chain
from pathlib import Path
from typing import IO, Any

import msgspec

from heapsmith.model.errors import BadInput
from heapsmith.model.files import staged
from heapsmith.model.trace.exports.format import opened
from heapsmith.model.trace.imports.columns import arrow

_ROW_GROUP = 1 << 20
"""Rows of a group of Parquet; readers take groups whole."""


def write_table(out: Path, name: str, batches: Iterable[Any]) -> int:
    """Write batches of rows of one schema, at least one batch, to `out` in the format; return the rows.

    Raises BadInput if the file cannot be written, Missing without pyarrow.
    """
    arrow()
    rest = iter(batches)
    first = next(rest)  # a failure before the first row leaves no file
    return TABLES[name](out, first.schema, chain((first,), rest))


def _parquet(out: Path, schema: Any, batches: Iterable[Any]) -> int:
    if out.suffix == ".gz":
        raise BadInput(f"{out}: Parquet has its own compression; expected a name without .gz")
    from pyarrow.parquet import ParquetWriter

    rows, waiting = 0, []
    with staged(out) as path, ParquetWriter(path, schema, compression="zstd") as writer:
        for batch in batches:
            waiting.append(batch)
            if sum(len(one) for one in waiting) >= _ROW_GROUP:
                rows += _write_group(writer, waiting)
        rows += _write_group(writer, waiting)
    return rows


def _write_group(writer: Any, waiting: list[Any]) -> int:
    if not waiting:
        return 0
    group = arrow().Table.from_batches(waiting)
    writer.write_table(group, row_group_size=_ROW_GROUP)
    waiting.clear()
    return len(group)


def _csv(out: Path, schema: Any, batches: Iterable[Any]) -> int:
    from pyarrow import csv

    rows = 0
    with opened(out) as file, csv.CSVWriter(file, schema, write_options=csv.WriteOptions(quoting_style="needed")) as to:
        for batch in batches:
            to.write_batch(batch)
            rows += len(batch)
    return rows


def _json_lines(out: Path, schema: Any, batches: Iterable[Any]) -> int:
    encoder, rows = msgspec.json.Encoder(), 0
    with opened(out) as file:
        for batch in batches:
            rows += _write_lines(file, encoder, batch)
    return rows


def _write_lines(file: IO[bytes], encoder: msgspec.json.Encoder, batch: Any) -> int:
    rows = batch.to_pylist()
    file.write(encoder.encode_lines([{k: v for k, v in row.items() if v is not None} for row in rows]))
    return len(rows)


TABLES: dict[str, Callable[[Path, Any, Iterable[Any]], int]] = {
    "parquet": _parquet,
    "csv": _csv,
    "jsonl": _json_lines,
}
"""The formats that hold any rows, by the suffix of their files."""
