"""A trace as tables: a row per event, as imports read it (docs/other-tools.md, 'tables'), and a row per life."""

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np

from heapsmith.model.trace.events import SIZED, WITH_BLOCK, Chunk, Op, op_mask
from heapsmith.model.trace.exports.format import Followed, without
from heapsmith.model.trace.exports.lives import BlockLives, Ended
from heapsmith.model.trace.imports.columns import OPS, arrow
from heapsmith.model.trace.stacks import SitedChunk

Rows = Literal["events", "lives", "sites"]

_BLOCK, _SIZED = op_mask(WITH_BLOCK), op_mask(SIZED)


def sites_of(chunk: Chunk) -> Any:
    """Return the column `site` of a chunk: null where the site is unknown; None for a trace without stacks."""
    return _column(chunk.site, "uint32", chunk.site == 0) if isinstance(chunk, SitedChunk) else None


def _column(values: Any, kind: str, absent: Any = None) -> Any:
    """Return an Arrow array of this type, with null where `absent` is true."""
    pa = arrow()
    return pa.array(values.astype(kind, copy=False), mask=absent)


def op_names(op: Any) -> Any:
    """Return an Arrow array of the names of operations."""
    pa = arrow()
    return pa.DictionaryArray.from_arrays(pa.array(op.astype(np.int8)), OPS).dictionary_decode()


def table(columns: dict[str, Any]) -> Any:
    """Return a batch of the columns that there are."""
    return arrow().RecordBatch.from_pydict({name: column for name, column in columns.items() if column is not None})


def event_rows(source: Followed) -> Iterator[Any]:
    """Yield batches with a row per event; a block is named by its number and one.

    A block number is used again only when its block is dead, so it is a pointer in the sense of
    docs/other-tools.md, 'tables'. A trace without times, threads or processors has no such columns.
    """
    absent, first = without(source.reader), 0
    has_processors = source.reader.header.has_processors
    for chunk in _some(source):
        name, has_block = chunk.block.astype(np.int64) + 1, _BLOCK[chunk.op]
        align = chunk.align_log2.astype(np.int64)
        columns = {
            "event": _column(np.arange(first, first + chunk.op.size), "int64"),
            "op": op_names(chunk.op),
            "pointer": _column(name, "int64", ~has_block),
            "old_pointer": _column(name, "int64", chunk.op != Op.REALLOC),
            "size": _column(chunk.size, "int64", ~_SIZED[chunk.op]),
            "alignment": _column(np.int64(1) << align, "int64", align == 0),
            "thread": _column(chunk.thread, "uint32"),
            "time_ns": _column(chunk.time_ns, "int64"),
            "processor": _column(chunk.processor, "int16", chunk.processor < 0) if has_processors else None,
            "site": sites_of(chunk),
        }
        yield table({name: column for name, column in columns.items() if name not in absent})
        first += chunk.op.size


def life_rows(source: Followed) -> Iterator[Any]:
    """Yield batches with a row per life of a block, in order of death, at last those that live at the end.

    Memory is 88 bytes per block number.
    """
    reader = source.reader
    absent, has_sites = without(reader), reader.header.has_sites
    lives = BlockLives(reader.footer.max_blocks)
    for chunk in source:
        yield _life_batch(lives.feed(chunk), absent, has_sites=has_sites)
    yield _life_batch(lives.alive(), absent, has_sites=has_sites)


def _life_batch(ended: Ended, absent: set[str], *, has_sites: bool) -> Any:
    lives = ended.columns
    is_alive = ended.death_event < 0
    align = lives["align_log2"]
    columns = {
        "life": _column(lives["life"], "int64"),
        "pointer": _column(ended.block + 1, "int64"),
        "op": op_names(lives["op"]),
        "size": _column(lives["size"], "int64"),
        "last_size": _column(lives["last_size"], "int64"),
        "alignment": _column(np.int64(1) << align, "int64", align == 0),
        "reallocs": _column(lives["reallocs"], "int64"),
        "birth_event": _column(lives["event"], "int64"),
        "death_event": _column(ended.death_event, "int64", is_alive),
        "birth_ns": _column(lives["time_ns"], "int64"),
        "death_ns": _column(ended.death_ns, "int64", is_alive),
        "birth_thread": _column(lives["thread"], "uint32"),
        "death_thread": _column(ended.death_thread, "uint32", is_alive),
        "site": _column(lives["site"], "uint32", lives["site"] == 0) if has_sites else None,
    }
    gone = {"time_ns": ("birth_ns", "death_ns"), "thread": ("birth_thread", "death_thread")}
    left_out = {name for what in absent for name in gone[what]}
    return table({name: column for name, column in columns.items() if name not in left_out})


def _some(source: Followed) -> Iterator[Chunk]:
    """Yield the chunks, or an empty chunk for a trace without events: a table has its columns even then."""
    if source.reader.footer.events == 0:
        yield Chunk.of(*[[]] * len(Chunk._fields))
    yield from source
