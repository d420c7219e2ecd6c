"""The bytes of glibc in a replay: what its chunks, caches and arenas take at the peak of the live bytes."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from conftest import Answer
from replay_events import Event, write_trace
from traces import random_trace

from heapsmith.model.errors import CheckFailed
from heapsmith.model.trace.reader import Op
from heapsmith.tools.peers.peers import Library
from heapsmith.tools.replay.replay import GlibcBytes, ReplayTable, glibc_bytes, replay_once
from heapsmith.tools.replay.script import write_script

GLIBC = Library("glibc", None)


def test_bytes_of_glibc_are_those_of_its_chunks(tmp_path: Path, call: Callable[..., Answer]) -> None:
    """Of 300 chunks of 112 bytes five are freed, then a mapping of 74 pages makes the peak."""
    events: list[Event] = [(Op.MALLOC, 0, name, 100) for name in range(1, 301)]
    events += [(Op.FREE, 0, name, 0) for name in range(100, 105)]
    trace = write_trace(tmp_path / "t.hst", [*events, (Op.MALLOC, 0, 301, 300_000), (Op.FREE, 0, 301, 0)])
    command = ("replay", trace, "--lib", "glibc", "--rounds", 1, "--bytes")
    found = msgspec.json.decode(call(*command, "--json").out, type=ReplayTable).glibc_bytes
    assert found is not None
    assert (found.asked, found.rounding) == (295 * 100 + 300_000, 295 * 12)
    assert found.mapped_rounding == 74 * 4096 - 300_000
    assert 5 * 112 <= found.thread_caches < 5 * 112 + 4096
    assert found.resident is not None
    assert found.resident["asked"] == found.asked  # the replay writes to all of a block
    adds_up(found)
    assert f"{found.committed:,}" in call(*command).out


def adds_up(found: GlibcBytes | None) -> None:
    """The items are the committed bytes, and of none more is resident than it has."""
    assert found is not None
    *items, committed, resident = msgspec.structs.astuple(found)
    assert sum(items) == committed
    assert resident is not None
    assert all(0 <= there <= size for there, size in zip(resident.values(), items, strict=True))


@pytest.mark.parametrize(("threads", "cross_thread"), [(2, 0.0), (7, 0.4)])
def test_bytes_of_glibc_with_threads(tmp_path: Path, threads: int, cross_thread: float) -> None:
    """All threads stop where the trace peaks, in its order: what they have asked for is the peak."""
    trace = random_trace(tmp_path / "t.hst", 60_000, 3, threads, cross_thread=cross_thread, max_size=9000)
    facts = write_script(trace, tmp_path / "script")
    for _ in range(3):
        replayed = replay_once(tmp_path / "script", GLIBC, count_bytes=True)
        assert replayed.operations == facts.operations
        assert replayed.bytes is not None
        assert replayed.bytes.asked == facts.peak_live_bytes
        adds_up(replayed.bytes)
        assert replayed.bytes.resident is not None
        assert sum(replayed.bytes.resident.values()) < replayed.peak_rss_bytes


def test_bytes_of_an_arena_of_two_heaps(tmp_path: Path) -> None:
    """700 blocks of 100,000 bytes are more than a heap of 64 MiB; half of them are free at the peak."""
    events: list[Event] = [(Op.MALLOC, 0, 1, 64), (Op.MALLOC, 1, 2, 24), (Op.FREE, 1, 2, 0), (Op.THREAD_EXIT, 1, 0, 0)]
    events += [(Op.MALLOC, 2, name, 100_000) for name in range(10, 710)]
    events += [(Op.FREE, 2, name, 0) for name in range(10, 710, 2)] + [(Op.MALLOC, 0, 3, 40_000_000)]
    found = glibc_bytes(write_trace(tmp_path / "t.hst", events))
    adds_up(found)
    assert found.asked == 350 * 100_000 + 64 + 40_000_000
    assert found.bins > 349 * 100_000
    assert found.mapped_rounding == -(-(40_000_000 + 16) // 4096) * 4096 - 40_000_000
    assert found.arenas > 2 * 48


def test_a_trace_without_bytes_has_none_to_count(tmp_path: Path) -> None:
    with pytest.raises(CheckFailed, match="has no live bytes"):
        glibc_bytes(write_trace(tmp_path / "t.hst", []))
