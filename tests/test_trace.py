"""Trace files: what is written comes back, every damage is found and named, what precedes it is recovered."""

import io
import os
import re
import struct
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest
import zstandard
from traces import random_chunk, random_trace

from heapsmith.model.errors import BadInput, CheckFailed
from heapsmith.model.trace.codec import COLUMNS, encode
from heapsmith.model.trace.events import join
from heapsmith.model.trace.frames import CHUNK_TAG, epilogue, frame_bytes, prologue
from heapsmith.model.trace.reader import (
    CHUNK_EVENTS,
    Chunk,
    Footer,
    Header,
    Op,
    TraceReader,
    TraceWriter,
    print_events,
    salvage,
    verify,
)

EMPTY = Chunk.of(*[()] * 6)


def events_of(path: Path) -> Chunk:
    with TraceReader(path) as trace:
        return join([EMPTY, *trace])


def same(one: Chunk, other: Chunk) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one.checked(), other.checked(), strict=True))


def forge(path: Path, chunks: list[Chunk], footer: Footer, header: Header | None = None) -> Path:
    """A trace of any events and any footer: TraceWriter would refuse some."""
    data = prologue(header or Header(["forged"], "test", CHUNK_EVENTS, COLUMNS))
    for chunk in chunks:
        payload = encode(chunk, np.zeros(1000, np.int32), zstandard.ZstdCompressor())
        data += frame_bytes(CHUNK_TAG, payload, chunk.op.size)
    path.write_bytes(data + epilogue(footer, len(data)))
    return path


@pytest.mark.parametrize("piece", [1, 7, 100, 333, 5000])
def test_what_is_written_comes_back(tmp_path: Path, piece: int) -> None:
    chunk = random_chunk(2000, 7, 3, cross_thread=0.2, live=50)
    path = tmp_path / "t.hst"
    with TraceWriter(path, command=["ls", "-l"], source="test", chunk_events=100) as writer:
        for first in range(0, 2000, piece):
            writer.append(chunk.part(first, first + piece))
        footer = writer.close({"drops": 2, "foreign_frees": 3, "ticks": 1.5})
    with TraceReader(path) as trace:
        assert trace.header == Header(["ls", "-l"], "test", 100, COLUMNS)
        assert [c.op.size for c in trace] == [100] * 20
        assert trace.footer == footer
        assert same(join(list(trace)), chunk)  # a second time
    blocks = int(chunk.block.max()) + 1
    assert footer == Footer(2000, 20, 3, blocks, drops=2, foreign_frees=3, extra={"ticks": 1.5})
    report = verify(path)
    assert (report.events, report.chunks, report.threads, report.max_blocks) == (2000, 20, 3, blocks)
    births = np.isin(chunk.op, [Op.MALLOC, Op.CALLOC, Op.ALIGNED]).sum()
    assert report.live_at_end == births - np.isin(chunk.op, [Op.FREE, Op.FREE_SIZED]).sum()
    assert report.bytes_on_disk == path.stat().st_size
    assert os.listdir(tmp_path) == ["t.hst"]


def test_a_trace_may_be_empty(tmp_path: Path) -> None:
    with TraceWriter(tmp_path / "t.hst", command=[], source="test"):
        pass
    assert verify(tmp_path / "t.hst").events == 0
    assert same(events_of(tmp_path / "t.hst"), EMPTY)


def test_recorded_looking_events_take_few_bytes(tmp_path: Path) -> None:
    path = random_trace(tmp_path / "t.hst", 200_000, 1)
    assert path.stat().st_size / 200_000 < 2.7  # random sizes, orders and times: a program's trace is smaller


def test_memory_does_not_grow_with_events(tmp_path: Path) -> None:
    peaks = []
    for events in (100_000, 400_000):
        path = random_trace(tmp_path / "t.hst", events, 1, chunk_events=10_000)
        verify(path)
        tracemalloc.start()
        verify(path)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]


def test_an_abandoned_writer_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "t.hst"
    path.write_text("precious")
    writer = TraceWriter(path, command=[], source="test", chunk_events=10)
    writer.append(random_chunk(100, 1))
    assert len(os.listdir(tmp_path)) == 2
    with pytest.raises(KeyError), writer:
        {}["no such key"]
    assert os.listdir(tmp_path) == ["t.hst"]
    assert path.read_text() == "precious"


@pytest.mark.parametrize("chunk_events", [1, 1000])
def test_a_writer_refuses_what_breaks_the_rules(tmp_path: Path, chunk_events: int) -> None:
    twice = Chunk.of([4, 0, 0], [0] * 3, [0] * 3, [0, 8, 8], [0] * 3, [1, 2, 3])
    path = tmp_path / "t.hst"
    with (
        pytest.raises(BadInput, match=re.escape(f"{path}: not written: chunk 0: event 0: FREE of block 0")),
        TraceWriter(path, command=[], source="test", chunk_events=chunk_events) as writer,
    ):
        writer.append(twice)
    assert os.listdir(tmp_path) == []


def test_where_no_trace_can_be_written(tmp_path: Path) -> None:
    for path, words in ((tmp_path, "it is a directory"), (tmp_path / "no" / "t.hst", "No such file or directory")):
        with pytest.raises(BadInput, match=re.escape(f"{path}: cannot write the trace: {words}")):
            TraceWriter(path, command=[], source="test")
    with pytest.raises(ValueError, match="chunk_events"):
        TraceWriter(tmp_path / "t.hst", command=[], source="test", chunk_events=0)


def test_a_full_disk_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = TraceWriter(tmp_path / "t.hst", command=[], source="test", chunk_events=1000)
    with open("/dev/full", "wb", buffering=0) as full:
        monkeypatch.setattr(writer, "_file", full)
        with pytest.raises(BadInput, match="cannot write the trace: No space left on device"), writer:
            writer.append(random_chunk(1000, 1))
    assert os.listdir(tmp_path) == []


def not_a_trace(path: Path) -> None:
    path.write_text("1 2 3\n")


def other_version(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:8] + struct.pack("<I", 2) + b"something new")


def other_column(path: Path) -> None:
    columns = [*COLUMNS[:-1], msgspec.structs.replace(COLUMNS[-1], code="plain")]
    path.write_bytes(prologue(Header([], "test", 10, columns)))


def no_header(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:50])


def bad_header(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[30] ^= 1
    path.write_bytes(data)


def foreign_header(path: Path) -> None:
    text = b'{"command": 1}'
    path.write_bytes(path.read_bytes()[:12] + struct.pack("<II", len(text), zlib.crc32(text)) + text)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (not_a_trace, "not a heapsmith trace"),
        (other_version, "a trace of version 2; expected version 1"),
        (other_column, "header: expected a column Column(name='time_ns'"),
        (no_header, "truncated in the header"),
        (bad_header, "the header does not match its checksum"),
        (foreign_header, "header: Expected `array`, got `int`"),
        (Path.unlink, "cannot read the trace: No such file or directory"),
        (lambda path: (path.unlink(), path.mkdir()), "Is a directory"),
        (lambda path: (path.unlink(), os.mkfifo(path), os.open(path, os.O_RDWR)), "must be a regular file"),
    ],
)
def test_what_is_no_trace(tmp_path: Path, change: Callable[[Path], None], words: str) -> None:
    path = random_trace(tmp_path / "t.hst", 50, 1)
    change(path)
    for read in (TraceReader, verify, lambda p: salvage(p, tmp_path / "out.hst")):
        with pytest.raises(BadInput, match=f"^{re.escape(str(path))}: .*{re.escape(words)}"):
            read(path)
    assert os.listdir(tmp_path) in (["t.hst"], [])


def small(path: Path) -> tuple[Path, list[int]]:
    """A trace of 5 chunks and the offset at which each ends, the last of them that of the footer's frame."""
    random_trace(path, 95, 11, chunk_events=20)
    with TraceReader(path) as trace:
        return path, [frame.end for frame in trace.file.frames()]


def test_a_truncated_trace_names_the_chunk_and_is_salvaged_up_to_it(tmp_path: Path) -> None:
    path, ends = small(tmp_path / "t.hst")
    data, whole, out = path.read_bytes(), events_of(path), tmp_path / "out.hst"
    with TraceReader(path) as trace:
        first, footer = trace.file.first_frame, trace.footer
    for cut in sorted({*range(first, len(data), 7), *ends, *(end - 1 for end in ends), len(data) - 1}):
        path.write_bytes(data[:cut])
        chunks = sum(end <= cut for end in ends[:-1])
        with pytest.raises(BadInput) as caught:
            TraceReader(path)
        message = str(caught.value)
        assert message.startswith(f"{path}: ")
        assert "--salvage" in message
        assert re.search(f"chunk {chunks}: truncated|footer: truncated|trailer: missing", message)
        if chunks == 0:
            with pytest.raises(CheckFailed, match=r"no event precedes the damage, .*\(chunk 0: truncated\)"):
                salvage(path, out)
            assert not out.exists()
            continue
        report = salvage(path, out)
        assert report.damage is not None
        assert report.damage in message
        assert (report.chunks, report.events) == (chunks, min(20 * chunks, 95))
        assert report.bytes_lost == cut - max([first, *(end for end in ends if end <= cut)])
        assert same(events_of(out), whole.part(0, report.events))
    with TraceReader(out) as trace:
        assert trace.footer == msgspec.structs.replace(footer, salvaged="trailer: missing")
        assert trace.header.command == ["random", "11"]


@pytest.mark.thorough
def test_no_changed_byte_goes_unseen(tmp_path: Path) -> None:
    path, ends = small(tmp_path / "t.hst")
    data, whole, out = path.read_bytes(), events_of(path), tmp_path / "out.hst"
    rng = np.random.default_rng(1)
    for place in range(len(data)):
        changed = bytearray(data)
        changed[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(changed)
        with pytest.raises(BadInput, match=re.escape(str(path))):
            verify(path)
        if place >= ends[0] and place % 5 == 0:
            report = salvage(path, out)
            assert report.chunks == sum(end <= place for end in ends[:-1])
            assert same(events_of(out), whole.part(0, report.events))


@pytest.mark.parametrize(("before", "words"), [(0, "trailer: missing"), (16, "trailer: does not lead to the footer")])
def test_bytes_too_many_are_damage(tmp_path: Path, before: int, words: str) -> None:
    path, _ = small(tmp_path / "t.hst")
    data = path.read_bytes()
    path.write_bytes(data[: len(data) - before] + b"more" + data[len(data) - before :])
    with pytest.raises(BadInput, match=words):
        TraceReader(path)
    assert salvage(path, tmp_path / "out.hst").events == 95


def test_a_checksum_mismatch_names_its_chunk(tmp_path: Path) -> None:
    path, ends = small(tmp_path / "t.hst")
    data = bytearray(path.read_bytes())
    data[ends[2] + 40] ^= 4
    path.write_bytes(data)
    with pytest.raises(BadInput, match=r"t\.hst: chunk 3: checksum mismatch; `heapsmith trace repair`"):
        verify(path)


def test_salvaging_a_whole_trace_copies_it(tmp_path: Path) -> None:
    path, _ = small(tmp_path / "t.hst")
    report = salvage(path, tmp_path / "out.hst")
    assert (report.damage, report.bytes_lost, report.events) == (None, 0, 95)
    assert (tmp_path / "out.hst").read_bytes() == path.read_bytes()


ONE = Chunk.of([0, 4], [0, 0], [0, 0], [8, 0], [0, 0], [0, 1])


@pytest.mark.parametrize(
    ("second", "footer", "words"),
    [
        (Chunk.of([4], [0], [0], [0], [0], [2]), Footer(3, 2, 1, 1), "chunk 1: event 2: FREE of block 0, which is not"),
        (
            Chunk.of([0, 0], [0, 0], [0, 0], [1, 1], [0, 0], [2, 2]),
            Footer(4, 2, 1, 1),
            "chunk 1: event 3: MALLOC of bl",
        ),
        (Chunk.of([0], [0], [0], [8], [0], [0]), Footer(3, 2, 1, 1), "chunk 1: event 2: time 0 ns is before"),
        (ONE._replace(time_ns=ONE.time_ns + 1), Footer(4, 2, 1, 0), "chunk 0: more blocks or threads than the footer"),
        (ONE._replace(time_ns=ONE.time_ns + 1), Footer(4, 2, 0, 1), "chunk 0: more blocks or threads than the footer"),
        (ONE._replace(time_ns=ONE.time_ns + 1), Footer(5, 2, 1, 1), "footer: events, blocks and threads are (4, 1, 1)"),
        (ONE._replace(time_ns=ONE.time_ns + 1), Footer(4, 2, 1, 3), "footer: events, blocks and threads are (4, 1, 1)"),
    ],
)
def test_events_that_break_the_rules(tmp_path: Path, second: Chunk, footer: Footer, words: str) -> None:
    path = forge(tmp_path / "t.hst", [ONE, second], footer)
    with pytest.raises(BadInput, match=re.escape(f"{path}: {words}")):
        verify(path)
    if words.startswith("chunk 1"):
        assert salvage(path, tmp_path / "out.hst").events == 2
        assert same(events_of(tmp_path / "out.hst"), ONE)


def test_a_chunk_larger_than_the_header_allows(tmp_path: Path) -> None:
    path = forge(tmp_path / "t.hst", [ONE], Footer(2, 1, 1, 1), Header([], "test", 1, COLUMNS))
    with pytest.raises(BadInput, match="chunk 0: 2 events; expected at most 1"):
        verify(path)


def test_events_as_text(tmp_path: Path) -> None:
    rows = [
        (Op.MALLOC, 0, 0, 24, 0, 0),
        (Op.ALIGNED, 0, 1, 4096, 6, 41),
        (Op.THREAD_START, 1, 0, 0, 0, 60),
        (Op.FREE, 1, 0, 0, 0, 95),
        (Op.CALLOC, 1, 0, 0, 0, 95),
        (Op.REALLOC, 0, 0, 80, 0, 99),
        (Op.FREE_SIZED, 0, 1, 4096, 6, 100),
        (Op.THREAD_EXIT, 1, 0, 0, 0, 101),
    ]
    with TraceWriter(tmp_path / "t.hst", command=[], source="test", chunk_events=3) as writer:
        writer.append(Chunk.of(*zip(*rows, strict=True)))
    out = io.StringIO()
    assert print_events(tmp_path / "t.hst", out) == 8
    assert out.getvalue() == (
        "0 0 0 malloc 0 24 -\n"
        "1 41 0 aligned 1 4096 64\n"
        "2 60 1 thread_start - - -\n"
        "3 95 1 free 0 - -\n"
        "4 95 1 calloc 0 0 -\n"
        "5 99 0 realloc 0 80 -\n"
        "6 100 0 free_sized 1 4096 64\n"
        "7 101 1 thread_exit - - -\n"
    )


def test_a_part_as_text_is_that_part_of_the_whole(tmp_path: Path) -> None:
    path, _ = small(tmp_path / "t.hst")
    whole = io.StringIO()
    print_events(path, whole)
    lines = whole.getvalue().splitlines()
    assert [int(line.split()[0]) for line in lines] == list(range(95))
    for first, count in ((0, 1), (19, 2), (20, 20), (30, 45), (94, 9), (95, 1), (200, 5), (7, 0), (50, None)):
        out = io.StringIO()
        stop = None if count is None else first + count
        assert print_events(path, out, first, count) == len(lines[first:stop])
        assert out.getvalue().splitlines() == lines[first:stop]


def test_a_part_ends_with_the_trace(tmp_path: Path) -> None:
    path, _ = small(tmp_path / "t.hst")
    with TraceReader(path) as trace:
        assert [sum(chunk.op.size for chunk in trace.part(first, 1000)) for first in (0, 94, 95, 400)] == [95, 1, 0, 0]


def test_print_reads_only_the_chunks_it_needs(tmp_path: Path) -> None:
    path, ends = small(tmp_path / "t.hst")
    data = bytearray(path.read_bytes())
    data[ends[0] + 40] ^= 1
    path.write_bytes(data)
    assert print_events(path, io.StringIO(), 40, 20) == 20
    with pytest.raises(BadInput, match="chunk 1: checksum mismatch"):
        print_events(path, io.StringIO(), 39, 20)
