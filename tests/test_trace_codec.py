"""The codec: any chunk comes back as it was, damaged bytes never pass or crash, and docs/trace.md says what is done."""

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from traces import random_chunk

from heapsmith.model.trace import codec as trace_codec
from heapsmith.model.trace.codec import COLUMNS, PROCESSOR, Column, Damage, decode, encode
from heapsmith.model.trace.events import CHUNK_DTYPES
from heapsmith.model.trace.reader import Chunk, Op

DOC = Path(__file__).parents[1] / "docs" / "trace.md"
BLOCKS = 5000


def encoded(chunk: Chunk, *, processors: bool = False) -> bytes:
    slot = np.full(BLOCKS, 3, np.int32)  # any content will do; this one looks like that of a chunk before
    return encode(chunk, slot, zstandard.ZstdCompressor(), further=[PROCESSOR] if processors else [])


def decoded(payload: bytes, events: int, columns: list[Column] = COLUMNS) -> Chunk:
    return decode(payload, events, columns, zstandard.ZstdDecompressor())


def same(one: Chunk, other: Chunk) -> bool:
    return all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in zip(one.checked(), other.checked(), strict=True))


@st.composite
def chunks(draw: st.DrawFn) -> Chunk:
    """Events that need obey no rule but that times rise and values are where the header says."""
    rows = draw(
        st.lists(
            st.tuples(
                st.sampled_from(Op),
                st.integers(0, 2**32 - 1) | st.integers(0, 3),
                st.integers(0, BLOCKS - 1) | st.integers(0, 4),
                st.integers(0, 2**63 - 1) | st.integers(0, 300),
                st.integers(0, 255),
                st.integers(0, 2**55) | st.integers(0, 99),
                st.integers(-1, 2**15 - 1) | st.integers(-1, 2),
            ),
            max_size=60,
        )
    )
    time_ns, columns = 0, []
    for op, thread, block, size, align_log2, step, processor in rows:
        time_ns += step
        stored = {c.name: op in c.ops for c in COLUMNS}
        columns.append(
            (
                *(op, thread, block * stored["block"], size * stored["size"]),
                *(align_log2 * stored["align_log2"], time_ns, processor),
            )
        )
    return Chunk.of(*(zip(*columns, strict=True) if columns else [()] * 6))


@settings(deadline=None)  # numba compiles during the first example
@given(chunks())
def test_any_chunk_comes_back(chunk: Chunk) -> None:
    payload = encoded(chunk, processors=True)
    assert same(decoded(payload, chunk.op.size, [*COLUMNS, PROCESSOR]), chunk)
    unknown = chunk._replace(processor=np.full(chunk.op.size, -1, np.int16))
    older = [*COLUMNS, Column("further", "int16", PROCESSOR.ops, "unheard of")]
    assert same(decoded(payload, chunk.op.size, older), unknown)  # as a reader does that does not know the column
    assert same(decoded(encoded(chunk), chunk.op.size), unknown)


def test_a_thread_that_stays_costs_nothing() -> None:
    zeros, ones = [0] * BLOCKS, np.arange(BLOCKS) % 2
    chunk = Chunk.of([Op.CALLOC] * BLOCKS, ones, range(BLOCKS), zeros, zeros, zeros, 3 + ones)
    assert len(encoded(chunk, processors=True)) - len(encoded(chunk)) < 60


@pytest.mark.parametrize("threads", [1, 5])
def test_a_trace_comes_back(threads: int) -> None:
    chunk = random_chunk(30_000, 3, threads, cross_thread=0.2)
    assert same(decoded(encoded(chunk), chunk.op.size), chunk)


def test_recycled_block_numbers_cost_nothing() -> None:
    rounds = 1000
    op = [Op.MALLOC, Op.MALLOC, Op.FREE, Op.FREE] * rounds
    payload = encoded(Chunk.of(op, [0] * len(op), [0, 1, 1, 0] * rounds, [24, 100, 0, 0] * rounds, [0] * len(op), op))
    assert len(payload) < 0.05 * len(op)


@settings(deadline=None)  # numba compiles during the first example
@given(st.integers(0, 10**6), st.integers(0, 255), st.integers(-3, 3))
def test_damaged_bytes_give_damage_or_as_many_events(place: int, byte: int, more: int) -> None:
    chunk = random_chunk(200, 1)
    payload = bytearray(encoded(chunk))
    payload[place % len(payload)] = byte
    try:
        result = decoded(bytes(payload), 200 + more)
    except Damage:
        return
    assert result.checked().op.size == 200 + more


@pytest.mark.parametrize("cut", [1, 3, 40])
def test_missing_bytes_are_damage(cut: int) -> None:
    payload = encoded(random_chunk(200, 1))
    for damaged in (payload[:-cut], payload + bytes(cut)):
        with pytest.raises(Damage):
            decoded(damaged, 200)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(-(2**63), 2**63 - 1) | st.integers(-9, 9)), max_size=20))
def test_any_codes_of_blocks_stay_in_bounds(rows: list[tuple[int, int]]) -> None:
    kind, codes = np.array([r[0] for r in rows], np.uint8), np.array([r[1] for r in rows], np.int64)
    with np.errstate(over="ignore"):
        blocks = trace_codec._births_decode.py_func(kind, codes)  # as Python, an index out of bounds raises
    assert blocks.shape == codes.shape


def test_an_unknown_operation_is_damage() -> None:
    payload = encoded(Chunk.of([6], [0], [0], [0], [0], [0]))  # like operation 8, it has no block, size or alignment
    first = struct.calcsize("<BI") + struct.unpack_from("<BI", payload)[1]  # ends the section of `op`
    forged = zstandard.ZstdCompressor().compress(bytes([8]))
    with pytest.raises(Damage, match="an operation that does not exist"):
        decoded(struct.pack("<BI", 1, len(forged)) + forged + payload[first:], 1)


def test_an_unknown_column_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    chunk = random_chunk(500, 2)
    site = Column("block_site", "uint32", [0, 1], "plain")
    later = [COLUMNS[0], site, *COLUMNS[1:]]

    class WithSite:
        def __getattr__(self, name: str) -> Any:
            return np.arange(500, dtype=np.uint32) if name == site.name else getattr(chunk, name)

    monkeypatch.setattr(trace_codec, "COLUMNS", later)
    payload = encoded(WithSite())  # type: ignore[arg-type]
    monkeypatch.undo()
    assert len(payload) > len(encoded(chunk))
    assert same(decoded(payload, 500, later), chunk)


def table(heading: str) -> list[list[str]]:
    """The cells of the first table of docs/trace.md whose header row begins with `heading`."""
    lines = DOC.read_text().splitlines()
    first = next(k for k, line in enumerate(lines) if line.startswith(heading))
    rows = []
    for line in lines[first + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip().strip("`") for cell in line.strip("|").split("|")])
    return rows


def test_the_page_says_how_columns_are_stored() -> None:
    numbers = {"all": list(range(8)), "0 to 5": list(range(6))}
    said = [
        (name, numbers.get(ops) or [int(n) for n in ops.split(",")], code)
        for name, ops, code in table("| column | ops")
    ]
    assert said == [(c.name, c.ops, c.code) for c in COLUMNS]
    assert table("| further column")[0] == ["processor` (int16)", "all", PROCESSOR.code]
    assert PROCESSOR.ops == numbers["all"]


def test_the_page_says_what_events_are() -> None:
    assert {name: dtype for name, dtype, _ in table("| column | dtype")} == CHUNK_DTYPES
    assert [(int(n), name) for n, name, _, _ in table("| op | name")] == [(op.value, op.name.lower()) for op in Op]
