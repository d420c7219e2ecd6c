"""Tables of calls with named columns: the schema of CSV, JSON lines and Parquet (docs/other-tools.md, 'tables')."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from heapsmith.model.compile.kernel import Bytes, Ints
from heapsmith.model.errors import Missing
from heapsmith.model.trace.events import (
    BIRTHS,
    DEATHS,
    MAX_PROCESSORS,
    SIZED,
    UNKNOWN,
    WITH_ALIGNMENT,
    Op,
    op_mask,
)
from heapsmith.model.trace.imports.builder import MAX, Calls, align_log2
from heapsmith.model.trace.imports.callers import Callers
from heapsmith.model.trace.imports.format import NO_THREADS, NO_TIMES, About
from heapsmith.model.trace.imports.source import Source, first_line

OPS = [op.name.lower() for op in Op]
NUMBERS = ("thread", "pointer", "old_pointer", "size", "alignment", "time_ns", "processor")
_LIMITS = {"processor": (UNKNOWN, MAX_PROCESSORS - 1)}
"""What an absent or empty number counts as, and the most that one may be, where that is not 0 and MAX."""
CALLER = "caller"
_FEW, _SHOWN = 6, 30
"""The most names that a message has, and characters of each."""
REQUIRED = {"op", "pointer"}
_DEATH, _BIRTH, _SIZED, _ALIGNED = (op_mask(ops) for ops in (DEATHS, BIRTHS | {Op.REALLOC}, SIZED, WITH_ALIGNMENT))


def arrow() -> Any:
    """Return pyarrow; Missing without it."""
    try:
        import pyarrow
    except ImportError:
        raise Missing("tables of calls need the package pyarrow: pip install 'heapsmith[imports]'") from None
    return pyarrow


@contextmanager
def naming_rows(source: Source, before: int = 0) -> Iterator[None]:
    """Make pyarrow's errors BadInput with the row that they name; other errors are those of the source.

    before: how many rows of the file are before the one that pyarrow calls the first.
    """
    try:
        with source.naming():
            yield
    except (arrow().ArrowException, ValueError) as error:
        text = first_line(error)
        row = re.search(r"Row #(\d+): ", text)
        source.bad(f"row {before + int(row[1])}" if row else "the table", text.replace(row[0], "") if row else text)


def check_columns(source: Source, names: Sequence[str], about: About) -> None:
    """Note what the columns do not tell; BadInput without those that a trace needs, or with two of one name."""
    found = set(names)
    if not found >= REQUIRED:
        source.bad("columns", f"expected op and pointer among them, got {listed(found)}")
    if "life" in found:
        source.bad("columns", "expected a row for each call; these have one for each life of a block")
    if twice := [name for name in ("op", CALLER, *NUMBERS) if names.count(name) > 1]:
        source.bad("columns", f"expected one {twice[0]}, got {names.count(twice[0])}")
    about.processors = "processor" in found
    about.inexact += [what for name, what in (("time_ns", NO_TIMES), ("thread", NO_THREADS)) if name not in found]


def check_types(source: Source, schema: Any) -> None:
    """Raise BadInput for columns of a type that holds no words, or no whole numbers."""
    types = arrow().types
    words = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary, types.is_integer)
    numbers = (types.is_integer, types.is_floating, types.is_decimal, types.is_string, types.is_large_string)
    for field in schema:
        kind = field.type.value_type if types.is_dictionary(field.type) else field.type
        for names, allowed, said in ((("op", CALLER), words, "words"), (NUMBERS, numbers, "whole numbers")):
            if field.name in names and not any(is_kind(kind) for is_kind in (*allowed, types.is_null)):
                source.bad(f"column {field.name}", f"expected {said}, got {str(kind)[:_SHOWN]}")


def listed(names: Iterable[str]) -> str:
    """Return names of a file for a message: few of them, none whole that is long."""
    few = [name[:_SHOWN] for name in sorted(names)]
    return ", ".join([*few[:_FEW], *["..."] * (len(few) > _FEW)]) or "none"


def calls_of(source: Source, batch: Any, first_row: int, callers: Callers) -> Calls:
    """Return the calls of a batch of rows; an absent or empty number is 0, a processor unknown."""
    pa = arrow()
    import pyarrow.compute as pc

    ops = _operations(batch.column("op"))
    if (ops < 0).any():
        row = int(np.argmax(ops < 0))
        name = batch.column("op")[row].as_py()
        source.bad(f"row {first_row + row}", f"op: expected one of {', '.join(OPS)}, got {name!r}")
    columns = {name: np.full(len(ops), _LIMITS.get(name, (0, MAX))[0]) for name in NUMBERS}
    for name in columns.keys() & set(batch.schema.names):
        least, most = _LIMITS.get(name, (0, MAX))
        values = pc.fill_null(_integers(source, batch.column(name), first_row, name), least)
        values = values.to_numpy(zero_copy_only=False)
        if (wrong := (values < least) | (values > most)).any():
            row = int(np.argmax(wrong))
            source.bad(f"row {first_row + row}", f"{name}: expected a number from 0 to {most}, got {values[row]}")
        columns[name] = values
    op, sites = ops.astype(np.uint8), None
    if CALLER in batch.schema.names:
        words = _words(batch.column(CALLER))
        codes = pc.fill_null(words.indices, -1).to_numpy(zero_copy_only=False)
        sites = sites_of(op, columns["pointer"], codes, words.dictionary.cast(pa.string()).to_pylist(), callers)
    return calls_of_columns(op, columns, np.arange(first_row, first_row + len(op)), sites)


def _integers(source: Source, column: Any, first_row: int, name: str) -> Any:
    """Return a column as whole numbers; BadInput names the first row that has none."""
    pa = arrow()
    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid:
        first, end = 0, len(column)
        while end - first > 1:
            middle = (first + end) // 2
            try:
                column[first:middle].cast(pa.int64())
                first = middle
            except pa.ArrowInvalid:
                end = middle
        got = str(column[first].as_py())[:_SHOWN]
        source.bad(f"row {first_row + first}", f"{name}: expected a whole number from 0 to {MAX}, got {got!r}")


def calls_of_columns(op: Bytes, columns: Mapping[str, Ints], record: Ints, sites: Ints | None) -> Calls:
    """Return the calls of rows: a column for each of NUMBERS. What a row's operation does not have does not count."""
    aligned = np.flatnonzero(_ALIGNED[op])
    alignments, which = np.unique(columns["alignment"][aligned], return_inverse=True)
    log2 = np.zeros(len(op), np.int64)
    log2[aligned] = np.array([align_log2(int(alignment)) for alignment in alignments], np.int64)[which]
    old = np.where(_DEATH[op], columns["pointer"], np.where(op == Op.REALLOC, columns["old_pointer"], 0))
    return Calls(
        op,
        columns["thread"],
        old,
        np.where(_BIRTH[op], columns["pointer"], 0),
        np.where(_SIZED[op], columns["size"], 0),
        log2,
        columns["time_ns"],
        record,
        columns["processor"],
        sites,
    )


def sites_of(op: Bytes, pointer: Ints, codes: Ints, names: Sequence[str | None], callers: Callers) -> Ints:
    """Return the site of each row: that of its caller, names[code], if the row returned a block; else 0."""
    callers.are_told()
    has = _BIRTH[op] & (pointer != 0) & (codes >= 0)
    sites = np.zeros(len(names) + 1, np.int64)
    for code in np.unique(codes[has]).tolist():
        sites[code] = callers.site(names[code] or "")
    return np.where(has, sites[codes], 0)


def _operations(names: Any) -> Any:
    """Return the number of each operation in a column of names, -1 for other names and for none."""
    pa = arrow()
    import pyarrow.compute as pc

    column = _words(names)
    known = pc.fill_null(pc.index_in(column.dictionary.cast(pa.string()), value_set=pa.array(OPS)), -1)
    numbers = np.append(known.to_numpy(zero_copy_only=False), -1)
    return numbers[pc.fill_null(column.indices, -1).to_numpy(zero_copy_only=False)]


def _words(column: Any) -> Any:
    """Return a column of words as numbers of different ones."""
    pa = arrow()
    return column if pa.types.is_dictionary(column.type) else column.cast(pa.string()).dictionary_encode()


def calls_of_batches(source: Source, batches: Iterator[Any], row: int, about: About) -> Iterator[Calls]:
    """Yield the calls of batches, the first of which begins at `row`."""
    callers = Callers(about)
    while True:
        with naming_rows(source):
            batch = next(batches, None)
            if batch is None:
                return
            calls = calls_of(source, batch, row, callers)
        if calls.op.size:
            yield calls
        row += calls.op.size
