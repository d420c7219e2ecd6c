"""The bytes of glibc in a replay: what blocks, caches and free memory take at the peak of the live bytes."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from conftest import Answer
from replay_events import Event, write_trace
from traces import random_trace

from heapsmith.codegen.toolchain import compile_c
from heapsmith.model.errors import CheckFailed
from heapsmith.model.trace.reader import Op
from heapsmith.tools.peers.peers import Library
from heapsmith.tools.replay.replay import GlibcBytes, ReplayTable, glibc_bytes, replay_once
from heapsmith.tools.replay.script import write_script

GLIBC = Library("glibc", None)


def test_bytes_of_glibc_are_those_of_its_blocks(tmp_path: Path, call: Callable[..., Answer]) -> None:
    """Of 300 blocks of 112 bytes with their headers five are freed, then a mapping of 74 pages makes the peak."""
    events: list[Event] = [(Op.MALLOC, 0, name, 100) for name in range(1, 301)]
    events += [(Op.FREE, 0, name, 0) for name in range(100, 105)]
    trace = write_trace(tmp_path / "t.hst", [*events, (Op.MALLOC, 0, 301, 300_000), (Op.FREE, 0, 301, 0)])
    command = ("replay", trace, "--lib", "glibc", "--rounds", 1, "--bytes")
    found = msgspec.json.decode(call(*command, "--json").out, type=ReplayTable).glibc_bytes
    assert found is not None
    mapped = 74 * 4096 - 8  # of its header of 16 bytes the half is counted with what the C library has
    assert (found.asked, found.rounding) == (295 * 100 + 300_000, 295 * 12 + mapped - 300_000)
    assert 5 * 112 <= found.thread_caches < 5 * 112 + 4096
    adds_up(found)
    assert f"{found.committed:,}" in call(*command).out


@pytest.mark.parametrize(("kib", "row"), [(63, None), (64, 0), (100, 0), (511, 0), (512, 1), (4095, 1), (4096, 2)])
def test_a_share_of_large_blocks_is_touched_by_size(kib: int, row: int | None, tmp_path: Path) -> None:
    """A quarter of those of one row, all of the others: 48 MiB, in blocks that glibc maps or not."""
    count, mib = (48 << 10) // kib, 1 << 20
    events: list[Event] = [(Op.MALLOC, 0, name, kib << 10) for name in range(1, count + 1)]
    write_script(write_trace(tmp_path / "t.hst", events), tmp_path / "script")
    for of in range(4):
        touched = tuple(256 if of == each else 1024 for each in range(4))
        found = replay_once(tmp_path / "script", GLIBC, touched=touched).peak_rss_bytes
        assert (found < 16 * mib) == (of == row), (of, found)


def test_a_c_library_without_mallinfo2_tells_no_bytes(tmp_path: Path) -> None:
    """As glibc before 2.33, and musl."""
    (tmp_path / "older.c").write_text("void *dlsym(void *handle, const char *name) { return (void *)0; }\n")
    older = compile_c([tmp_path / "older.c"], tmp_path / "older.so", flags=["-O1", "-shared", "-fPIC"])
    write_script(random_trace(tmp_path / "t.hst", 500, seed=1), tmp_path / "script")
    assert replay_once(tmp_path / "script", Library("older", older), count_bytes=True).bytes is None


def adds_up(found: GlibcBytes | None) -> None:
    """The items are the committed bytes."""
    assert found is not None
    *items, committed = msgspec.structs.astuple(found)
    assert sum(items) == committed
    assert min(items) >= 0


@pytest.mark.thorough
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


def test_bytes_of_an_arena_of_two_heaps(tmp_path: Path) -> None:
    """700 blocks of 100,000 bytes are more than a heap of 64 MiB; half of them are free at the peak."""
    events: list[Event] = [(Op.MALLOC, 0, 1, 64), (Op.MALLOC, 1, 2, 24), (Op.FREE, 1, 2, 0), (Op.THREAD_EXIT, 1, 0, 0)]
    events += [(Op.MALLOC, 2, name, 100_000) for name in range(10, 710)]
    events += [(Op.FREE, 2, name, 0) for name in range(10, 710, 2)] + [(Op.MALLOC, 0, 3, 40_000_000)]
    found = glibc_bytes(write_trace(tmp_path / "t.hst", events))
    adds_up(found)
    assert found.asked == 350 * 100_000 + 64 + 40_000_000
    assert found.bins > 349 * 100_000


def test_a_trace_without_bytes_has_none_to_count(tmp_path: Path) -> None:
    with pytest.raises(CheckFailed, match="has no live bytes"):
        glibc_bytes(write_trace(tmp_path / "t.hst", []))
