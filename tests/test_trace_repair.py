"""trace repair: whatever is damaged, the result is a sound trace of what was sound, with an account of the rest."""

from pathlib import Path

import numpy as np
import pytest
import zstandard
from edited_traces import TREE, Made, live_bytes, made, read, rows, write
from hypothesis import example, given, settings
from hypothesis import strategies as st
from traces import random_chunk

from heapsmith.model.errors import BadInput, CheckFailed
from heapsmith.model.trace.codec import COLUMNS, encode
from heapsmith.model.trace.edit.repair import repair
from heapsmith.model.trace.events import WITH_SITE, Chunk, op_mask
from heapsmith.model.trace.frames import CHUNK_TAG, Footer, Frame, Header, TraceFile, epilogue, frame_bytes, prologue

PART, EVENTS = 100, 1000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("repaired")


def frames_of(path: Path) -> list[Frame]:
    """The frames of a sound trace, the footer's last."""
    with TraceFile(path) as file:
        return list(file.frames())


def ten_chunks(path: Path) -> Path:
    chunk = random_chunk(EVENTS, 7, 3, cross_thread=0.2, live=60)
    numbers = np.random.default_rng(5).integers(0, TREE.innermost.size + 1, EVENTS)
    return write(path, Made(chunk, np.where(op_mask(WITH_SITE)[chunk.op], numbers, 0).astype(np.uint32), PART))


def broken(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


@settings(max_examples=6, deadline=None)
@given(of=made(ties=True))
def test_a_sound_trace_stays_as_it_is(folder: Path, of: Made) -> None:
    path = write(folder / "a.hst", of)
    found = repair(path, folder / "out.hst")
    assert (found.damage, found.changes, found.events_lost, found.bytes_lost) == ([], 0, 0, 0)
    assert rows(read(folder / "out.hst")) == rows(read(path))


@settings(max_examples=12, deadline=None)
@given(share=st.floats(0, 1))
@example(share=0)
def test_of_a_truncated_trace_the_whole_chunks_stay(folder: Path, share: float) -> None:
    path = ten_chunks(folder / "t.hst")
    frames = frames_of(path)
    first = frames[0].offset
    data = path.read_bytes()
    cut = first + round(share * (len(data) - first - 1))
    if cut < frames[0].end:
        (folder / "out.hst").write_bytes(b"older")
        with pytest.raises(CheckFailed, match=r"cut\.hst: no event is sound, so no trace is written"):
            repair(broken(folder / "cut.hst", data[:cut]), folder / "out.hst")
        assert (folder / "out.hst").read_bytes() == b"older"
        return
    found = repair(broken(folder / "cut.hst", data[:cut]), folder / "out.hst")
    whole = [frame for frame in frames[:-1] if frame.end <= cut]
    assert (found.chunks, found.events) == (len(whole), PART * len(whole))
    kept = [row[:6] for row in rows(read(folder / "out.hst"))]
    assert kept == [row[:6] for row in rows(read(path))[: found.events]]
    assert found.footer == (frames[-1].end <= cut)
    assert found.damage


@pytest.mark.parametrize("lost", [0, 4, 9])
def test_a_chunk_with_a_wrong_checksum_is_left_out_and_what_follows_stays(folder: Path, lost: int) -> None:
    path = ten_chunks(folder / "t.hst")
    frame = frames_of(path)[lost]
    data = bytearray(path.read_bytes())
    data[frame.end - 1] ^= 0xFF
    found = repair(broken(folder / "flipped.hst", bytes(data)), folder / "out.hst")
    assert (found.chunks, found.chunks_lost, found.events_lost, found.bytes_lost) == (9, 1, PART, 0)
    assert found.damage == [f"chunk {lost}: checksum mismatch; {PART} events are lost"]
    assert found.footer
    after, whole = read(folder / "out.hst"), read(path)
    before = PART * lost
    assert [row[:6] for row in rows(after, slice(0, before))] == [row[:6] for row in rows(whole, slice(0, before))]
    dropped = found.frees_of_unknown + found.late_starts
    assert after.chunk.op.size == EVENTS - PART + found.frees_put_in - dropped
    assert after.stacks[-1] == whole.stacks[-1]
    assert lost == 9 or found.frees_put_in + found.frees_of_unknown + found.reallocs_of_unknown > 0
    with TraceFile(folder / "out.hst") as file:
        footer = file.footer(file.footer_frame())
    assert footer.drops == PART
    assert footer.salvaged == found.damage[0]
    assert footer.lines("edits") == [f"repair: {PART} events in 1 chunks and 0 bytes lost"]


def test_behind_a_damaged_head_the_next_frame_is_found(folder: Path) -> None:
    path = ten_chunks(folder / "t.hst")
    frames = frames_of(path)
    data = bytearray(path.read_bytes())
    data[frames[3].offset + 5] ^= 0x40  # the length
    data[frames[6].offset] ^= 0x01  # the tag
    found = repair(broken(folder / "heads.hst", bytes(data)), folder / "out.hst")
    assert (found.chunks, found.chunks_lost) == (8, 0)
    assert found.bytes_lost == sum(frames[number].end - frames[number].offset for number in (3, 6))
    assert len(found.damage) == 2
    read(folder / "out.hst")


@settings(max_examples=25, deadline=None)
@given(places=st.lists(st.tuples(st.floats(0, 1), st.integers(1, 255)), min_size=1, max_size=6))
def test_any_damage_gives_a_sound_trace(folder: Path, places: list[tuple[float, int]]) -> None:
    path = ten_chunks(folder / "t.hst")
    first = frames_of(path)[0].offset
    data = bytearray(path.read_bytes())
    for share, bits in places:
        data[first + int(share * (len(data) - first - 1))] ^= bits
    found = repair(broken(folder / "any.hst", bytes(data)), folder / "out.hst")
    after = read(folder / "out.hst")
    assert after.chunk.op.size == found.events
    assert min(live_bytes(after.chunk), default=0) >= 0


def test_events_that_break_rules_are_mended_and_counted(folder: Path) -> None:
    """A file with right checksums of a writer that did not know the rules."""
    wrong = Chunk.of(
        # a birth; its double; a double free; a realloc and a free of unknown blocks; a late start
        [0, 1, 4, 4, 2, 4, 6, *[0, 2, 6, 7, 0, 5]],  # then a realloc to nothing
        [0, 0, 0, 0, 0, 0, 0, *[1, 0, 5, 1, 1, 1]],
        [7, 7, 7, 7, 3, 9, 0, *[1, 1, 0, 0, 2, 1]],
        [8, 9, 0, 0, 50, 0, 0, *[1, 0, 0, 0, 64, 3]],
        [0] * 13,
        [5, 6, 7, 7, 8, 9, 9, *[4, 4, 9, 9, 9, 12]],  # back at the second chunk
    )
    slots, zstd = np.zeros(64, np.int32), zstandard.ZstdCompressor()
    parts = [wrong.part(0, 7), wrong.part(7, 13)]
    frames = [frame_bytes(CHUNK_TAG, encode(part, slots, zstd), part.op.size) for part in parts]
    body = b"".join([prologue(Header(["made"], "test", 64, COLUMNS)), *frames])
    path = broken(folder / "rules.hst", body + epilogue(Footer(13, 2, 6, 10, foreign_frees=3), len(body)))
    found = repair(path, folder / "out.hst")
    after = read(folder / "out.hst").chunk
    assert after.op.tolist() == [0, 4, 1, 4, 0, 0, 6, 7, 0, 5]
    assert after.size.tolist() == [8, 0, 9, 0, 50, 1, 0, 0, 64, 3]
    assert after.time_ns.tolist() == [0, 1, 1, 2, 3, 3, 4, 4, 4, 7]
    counts = (found.frees_put_in, found.frees_of_unknown, found.reallocs_of_unknown, found.late_starts, found.invalid)
    assert counts == (1, 2, 1, 1, 1)
    assert found.backsteps == 1
    assert found.changes == 7
    assert found.damage == []


def test_without_a_sound_header_nothing_is_written(folder: Path) -> None:
    data = bytearray(ten_chunks(folder / "t.hst").read_bytes())
    data[40] ^= 1
    with pytest.raises(BadInput, match="the header does not match its checksum"):
        repair(broken(folder / "header.hst", bytes(data)), folder / "none.hst")
    assert not (folder / "none.hst").exists()
