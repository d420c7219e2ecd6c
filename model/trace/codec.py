"""Chunks to the bytes of a frame and back: column codes, byte planes, zstd (docs/trace.md 4)."""

import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import zstandard

from heapsmith.model.compile.cache import cached_njit
from heapsmith.model.trace.events import (
    BIRTHS,
    CHUNK_DTYPES,
    DEATHS,
    SIZED,
    WITH_ALIGNMENT,
    WITH_BLOCK,
    WITH_SITE,
    Chunk,
    Op,
    nowhere,
    op_mask,
)

ZSTD_LEVEL = 9
"""A tenth fewer bytes than level 6, a fifth fewer than level 3; 25 ns more per event than that."""
_SECTION = struct.Struct("<BI")  # bytes per code, compressed bytes

U8 = npt.NDArray[np.uint8]
I32 = npt.NDArray[np.int32]
U32 = npt.NDArray[np.uint32]
I64 = npt.NDArray[np.int64]


class Damage(Exception):
    """The bytes of a trace are damaged; the message says how."""


class Column(msgspec.Struct, frozen=True):
    """A column as the header describes it; only events with an operation in `ops` have values."""

    name: str
    dtype: str
    ops: list[int]
    code: str


def _column(name: str, ops: frozenset[Op], code: str) -> Column:
    return Column(name, CHUNK_DTYPES[name], sorted(map(int, ops)), code)


COLUMNS = [
    _column("op", frozenset(Op), "plain"),  # first: the decoder of the others needs it
    _column("thread", frozenset(Op), "plain"),
    _column("block", WITH_BLOCK, "births"),
    _column("size", SIZED, "plain"),
    _column("align_log2", WITH_ALIGNMENT, "plain"),
    _column("time_ns", frozenset(Op), "rise"),
]
PROCESSOR = _column("processor", frozenset(Op), "moves")
"""The column of traces that tell processors; other traces lack it."""
SITE = Column("site", "uint32", sorted(map(int, WITH_SITE)), "plain")
"""The column of traces with stacks; other traces lack it."""
FREE_SITE = Column("free_site", "uint32", sorted(map(int, DEATHS)), "plain")
"""The column of traces with the stacks of frees."""
_MOVE_THREADS = 4096
_KIND = np.where(op_mask(BIRTHS), 0, np.where(op_mask(DEATHS), 1, 2)).astype(np.uint8)  # else: neither


@cached_njit
def _births_encode(kind: U8, block: I64, slot: I32) -> I64:
    """Encode block numbers, births first. `slot`: scratch with an entry per block number.

    `slot` and `born` are a sparse set (Briggs and Torczon 1993), which needs no clearing between
    chunks.
    """
    codes = np.empty(block.size, np.int64)
    born, freed = np.empty(block.size, np.int64), np.empty(block.size, np.int64)
    births, held, fresh, last = 0, 0, 0, 0
    other = np.count_nonzero(kind == 0)
    for i in range(block.size):
        b = block[i]
        if kind[i] == 0:
            delta = b - (freed[held - 1] if held else fresh)
            codes[births] = (delta << 1) ^ (delta >> 63)
            if held and delta == 0:
                held -= 1
            else:
                fresh = b + 1
            slot[b] = births
            born[births] = b
            births += 1
        else:
            s, delta = slot[b], b - last
            known = 0 <= s < births and born[s] == b
            codes[other] = (births - 1 - s) << 1 if known else ((delta << 1) ^ (delta >> 63)) << 1 | 1
            other += 1
            if kind[i] == 1:
                freed[held] = b
                held += 1
        last = b
    return codes


@cached_njit
def _births_decode(kind: U8, codes: I64) -> I64:
    """Decode the result of _births_encode; no codes cause an access out of bounds."""
    block = np.empty(codes.size, np.int64)
    born, freed = np.empty(codes.size, np.int64), np.empty(codes.size, np.int64)
    births, held, fresh, last = 0, 0, 0, 0
    other = np.count_nonzero(kind == 0)
    for i in range(codes.size):
        if kind[i] == 0:
            code = codes[births]
            b = (freed[held - 1] if held else fresh) + ((code >> 1) ^ -(code & 1))
            if held and code == 0:
                held -= 1
            else:
                fresh = b + 1
            born[births] = b
            births += 1
        else:
            code = codes[other] >> 1
            ago = births - 1 - code
            b = last + ((code >> 1) ^ -(code & 1)) if codes[other] & 1 or ago < 0 or ago >= births else born[ago]
            other += 1
            if kind[i] == 1:
                freed[held] = b
                held += 1
        block[i] = b
        last = b
    return block


@cached_njit
def _moves_encode(thread: U32, processor: npt.NDArray[np.int16]) -> I64:
    """Encode processors: 0 where one stays that of the last event of its thread, modulo _MOVE_THREADS."""
    codes = np.zeros(thread.size, np.int64)
    last = np.full(_MOVE_THREADS, -1, np.int64)
    for i in range(thread.size):
        own = thread[i] % _MOVE_THREADS
        if processor[i] != last[own]:
            last[own] = processor[i]
            codes[i] = last[own] + 2
    return codes


@cached_njit
def _moves_decode(thread: U32, codes: I64) -> npt.NDArray[np.int16]:
    """Decode the result of _moves_encode; other codes become processors that break a rule."""
    processor = np.empty(thread.size, np.int16)
    last = np.full(_MOVE_THREADS, -1, np.int16)
    for i in range(thread.size):
        own = thread[i] % _MOVE_THREADS
        if codes[i] != 0:
            last[own] = min(codes[i] - 2, 32767) if codes[i] > 0 else 32767
        processor[i] = last[own]
    return processor


# Conversions of a column's values to codes and back; `op` is the operation of each value's event.
_CODES: dict[str, tuple[Callable[[I64, U8, I32], I64], Callable[[I64, U8], I64]]] = {
    "plain": (lambda values, op, slot: values, lambda codes, op: codes),
    "rise": (lambda values, op, slot: np.diff(values, prepend=0), lambda codes, op: np.cumsum(codes)),
    "births": (
        lambda values, op, slot: _births_encode(_KIND[op], values, slot),
        lambda codes, op: _births_decode(_KIND[op], codes),
    ),
}


def encode(
    chunk: Chunk, slot: I32, zstd: zstandard.ZstdCompressor, site: U32 | None = None, further: Sequence[Column] = ()
) -> bytes:
    """Return the payload of a chunk's frame.

    slot: scratch with an entry per block number. site: of each event. further: the columns behind those that each
    trace has.
    """
    given: list[tuple[Column, npt.NDArray[Any]]] = [(column, getattr(chunk, column.name)) for column in COLUMNS]
    sections = [_section_of(column, values, chunk.op, slot, zstd) for column, values in given]
    for column in further:
        if column == PROCESSOR:
            sections.append(section(_moves_encode(chunk.thread, chunk.processor), zstd))
        elif site is not None:
            sections.append(_section_of(column, site, chunk.op, slot, zstd))
    return b"".join(sections)


def _section_of(column: Column, values: npt.NDArray[Any], op: U8, slot: I32, zstd: zstandard.ZstdCompressor) -> bytes:
    mask = op_mask(column.ops)
    own = _gather(values.astype(np.int64), mask, op)
    return section(_CODES[column.code][0](own, _gather(op, mask, op), slot), zstd)


def section(codes: I64, zstd: zstandard.ZstdCompressor) -> bytes:
    """Return codes, none below 0, as width, length and compressed byte planes."""
    planes = _planes(codes)
    data = zstd.compress(planes.tobytes())
    return _SECTION.pack(planes.shape[0], len(data)) + data


def _planes(codes: I64) -> U8:
    """Return bytes of codes as a (width, codes) array, lowest plane first, no zero plane on top."""
    width = (int(codes.max(initial=0)).bit_length() + 7) // 8
    return codes.astype("<i8", copy=False).view(np.uint8).reshape(-1, 8)[:, :width].T


def decode(payload: bytes, events: int, columns: Sequence[Column], zstd: zstandard.ZstdDecompressor) -> Chunk:
    """Return the chunk of `events` events in a frame's payload, without columns that are unknown.

    `columns`: the header's list, which begins with `op`. Raises Damage if the payload does not fit.
    """
    values: dict[str, npt.NDArray[Any]] = {}
    moves: I64 | None = None
    for column, (width, data) in _sections(payload, columns):
        if column in COLUMNS:
            op = values["op"] if values else np.zeros(events, np.uint8)
            values[column.name] = _column_values(column, width, data, op, zstd)
        elif column == PROCESSOR:
            moves = _codes("column processor", width, data, events, zstd)
    if values["op"].max(initial=0) >= len(Op):
        raise Damage("an operation that does not exist")
    processor = nowhere(events) if moves is None else _moves_decode(values["thread"], moves)
    return Chunk(**values, processor=processor)


def decode_site(payload: bytes, op: U8, columns: Sequence[Column], zstd: zstandard.ZstdDecompressor) -> U32:
    """Return the sites of a payload that `decode` takes: its columns `site` and `free_site`, 0 where it has none."""
    found = np.zeros(op.size, np.uint32)
    for column, (width, data) in _sections(payload, columns):
        if column in (SITE, FREE_SITE):
            found |= _column_values(column, width, data, op, zstd)
    return found


def _sections(payload: bytes, columns: Sequence[Column]) -> Iterator[tuple[Column, tuple[int, bytes]]]:
    """Yield each column with the width and the compressed bytes of its section."""
    at = 0
    for column in columns:
        if len(payload) < at + _SECTION.size:
            raise Damage(f"column {column.name} is missing")
        width, length = _SECTION.unpack_from(payload, at)
        at += _SECTION.size + length
        yield column, (width, payload[at - length : at])
    if at != len(payload):
        raise Damage(f"{len(payload)} bytes where the columns have {at}")


def open_section(name: str, data: bytes, count: int, zstd: zstandard.ZstdDecompressor) -> I64:
    """Return the `count` codes of a section that stands alone; Damage names it."""
    if len(data) < _SECTION.size:
        raise Damage(f"{name} is missing")
    return _codes(name, _SECTION.unpack_from(data)[0], data[_SECTION.size :], count, zstd)


def _codes(name: str, width: int, data: bytes, count: int, zstd: zstandard.ZstdDecompressor) -> I64:
    try:
        if width > 8 or zstandard.get_frame_parameters(data).content_size != width * count:
            raise Damage(f"{name} does not hold {count} values")
        return _join_planes(np.frombuffer(zstd.decompress(data), np.uint8).reshape(width, count))
    except zstandard.ZstdError as error:
        raise Damage(f"{name}: {error}") from None


def _column_values(
    column: Column, width: int, data: bytes, op: U8, zstd: zstandard.ZstdDecompressor
) -> npt.NDArray[Any]:
    """Return a value per event of `op`, 0 if the event has no value."""
    mask = op_mask(column.ops)
    codes = _codes(f"column {column.name}", width, data, _count(mask, op), zstd)
    if codes.size == op.size:
        values = _CODES[column.code][1](codes, op)
    else:
        values = _spread(_CODES[column.code][1](codes, _gather(op, mask, op)), mask, op)
    return values.astype(column.dtype, copy=False)


@cached_njit
def _join_planes(planes: U8) -> I64:
    """Do the inverse of _planes."""
    codes = np.zeros(planes.shape[1], np.int64)
    for k in range(planes.shape[0]):
        for i in range(codes.size):
            codes[i] |= np.int64(planes[k, i]) << (8 * k)
    return codes


@cached_njit
def _count(mask: npt.NDArray[np.bool_], op: U8) -> int:
    """Return the number of events whose operation is in `mask`."""
    count = 0
    for i in range(op.size):
        count += mask[op[i]]
    return count


@cached_njit
def _gather(column: npt.NDArray[Any], mask: npt.NDArray[np.bool_], op: U8) -> npt.NDArray[Any]:
    """Return the values of `column` for the events whose operation is in `mask`."""
    values = np.empty(column.size, column.dtype)
    j = 0
    for i in range(op.size):
        values[j] = column[i]
        j += mask[op[i]]
    return values[:j]


@cached_njit
def _spread(values: I64, mask: npt.NDArray[np.bool_], op: U8) -> I64:
    """Do the inverse of _gather, with 0 for all other events."""
    out = np.zeros(op.size, np.int64)
    j = 0
    for i in range(op.size):
        if mask[op[i]]:
            out[i] = values[j]
            j += 1
    return out
