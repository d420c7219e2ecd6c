"""Trace figures: by hand for a small trace, and against a second implementation for random ones."""

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from conftest import Answer
from traces import random_chunk

from heapsmith.model.trace.frames import Samples
from heapsmith.model.trace.reader import Chunk, Op, TraceWriter
from heapsmith.model.trace.stats import Bucket, Quantiles, SizeCount, SizeLive, TraceInfo, trace_info
from heapsmith.tools.common.units import amount


def info_of(path: Path, chunk: Chunk, chunk_events: int = 65536) -> TraceInfo:
    with TraceWriter(path, command=["prog", "-x"], source="test", chunk_events=chunk_events) as writer:
        writer.append(chunk)
    return trace_info(path)


def test_moves_of_threads_are_counted(tmp_path: Path) -> None:
    """Thread 1 goes from processor 5 to 2 and back, with an event between whose processor is unknown."""
    op, zeros = [Op.THREAD_START, Op.THREAD_START, *[Op.MALLOC] * 5], [0] * 7
    chunk = Chunk.of(op, [0, 1, 1, 0, 1, 1, 0], [0, 0, *range(5)], zeros, zeros, zeros, [3, 5, 2, 3, -1, 5, 3])
    with TraceWriter(tmp_path / "t.hst", command=[], source="test", chunk_events=4, processors=True) as writer:
        writer.append(chunk)
    info = trace_info(tmp_path / "t.hst")
    assert (info.processors, info.migrations) == (3, 2)


def test_figures_of_a_trace_made_by_hand(tmp_path: Path) -> None:
    rows = [
        (Op.MALLOC, 0, 0, 100, 0, 0),
        (Op.MALLOC, 0, 1, 30, 0, 10),
        (Op.FREE, 0, 1, 0, 0, 20),  # lived 1 event and 0 bytes
        (Op.ALIGNED, 0, 1, 30, 6, 30),
        (Op.THREAD_START, 1, 0, 0, 0, 40),
        (Op.REALLOC, 1, 0, 300, 0, 50),  # the peak of bytes: 330
        (Op.REALLOC, 1, 0, 300, 0, 60),
        (Op.REALLOC, 1, 0, 50, 0, 70),
        (Op.CALLOC, 1, 2, 0, 0, 80),  # the peak of blocks: 3
        (Op.FREE_SIZED, 1, 1, 31, 0, 90),  # by another thread, of another size; lived 6 events and 200 bytes
        (Op.THREAD_EXIT, 1, 0, 0, 0, 100),
    ]
    path = tmp_path / "t.hst"
    info = info_of(path, Chunk.of(*zip(*rows, strict=True)))
    disk = path.stat().st_size
    assert info == TraceInfo(
        path=str(path),
        command=["prog", "-x"],
        source="test",
        events=11,
        events_by_op={
            "malloc": 2,
            "calloc": 1,
            "realloc": 3,
            "aligned": 1,
            "free": 1,
            "free_sized": 1,
            "thread_start": 1,
            "thread_exit": 1,
        },
        threads=2,
        processors=0,
        migrations=0,
        duration_ns=100,
        allocated_bytes=100 + 30 + 30 + 200,
        distinct_sizes=5,
        top_sizes=[SizeCount(30, 2), SizeCount(300, 2), SizeCount(0, 1), SizeCount(50, 1), SizeCount(100, 1)],
        size_histogram=[
            Bucket(0, 0, 1),
            Bucket(1, 1, 0),
            Bucket(2, 3, 0),
            Bucket(4, 7, 0),
            Bucket(8, 15, 0),
            Bucket(16, 31, 2),
            Bucket(32, 63, 1),
            Bucket(64, 127, 1),
            Bucket(128, 255, 0),
            Bucket(256, 511, 2),
        ],
        peak_live_bytes=330,
        peak_live_bytes_event=5,
        top_sizes_at_peak=[SizeLive(300, 1, 300), SizeLive(30, 1, 30)],
        peak_live_blocks=3,
        peak_live_blocks_event=8,
        live_bytes_at_end=50,
        live_blocks_at_end=2,
        lifetime_bytes=Quantiles(0, 255, 255),
        lifetime_events=Quantiles(1, 7, 7),
        cross_thread_frees=1,
        reallocs_growing=1,
        reallocs_shrinking=1,
        reallocs_same=1,
        alignments={64: 1},
        sized_free_mismatches=1,
        drops=0,
        foreign_frees=0,
        salvaged=None,
        inexact=[],
        edits=[],
        sample_rate=1.0,
        samples=None,
        bytes_on_disk=disk,
        bytes_per_event=disk / 11,
    )
    assert msgspec.json.decode(msgspec.json.encode(info), type=TraceInfo) == info


def figures(chunk: Chunk) -> dict[str, Any]:
    """The same figures by dictionaries, event by event."""
    live: dict[int, tuple[int, int, int, int]] = {}  # block -> size, clock, event and thread of birth
    requests: Counter[int] = Counter()
    counts: Counter[str] = Counter()
    bytes_lived, events_lived = [], []
    clock, best, best_blocks = 0, (0, 0, Counter[int]()), (0, 0)
    for i, (op, thread, block, size, *_) in enumerate(zip(*(c.tolist() for c in chunk), strict=True)):
        if op in (Op.MALLOC, Op.CALLOC, Op.ALIGNED):
            clock += size
            live[block] = (size, clock, i, thread)
            requests[size] += 1
        elif op == Op.REALLOC:
            old, *birth = live[block]
            live[block] = (size, *birth)  # type: ignore[assignment]
            clock += max(0, size - old)
            requests[size] += 1
            counts["growing" if size > old else "shrinking" if size < old else "same"] += 1
        elif op in (Op.FREE, Op.FREE_SIZED):
            _, then, event, owner = live.pop(block)
            bytes_lived.append(clock - then)
            events_lived.append(i - event)
            counts["cross"] += thread != owner
        total = sum(b[0] for b in live.values())
        if total > best[0]:
            best = (total, i, Counter(b[0] for b in live.values()))
        best_blocks = max(best_blocks, (len(live), -i))
    return {
        "allocated_bytes": clock,
        "distinct_sizes": len(requests),
        "top_sizes": [SizeCount(s, n) for s, n in sorted(requests.items(), key=lambda e: (-e[1], e[0]))[:10]],
        "peak_live_bytes": best[0],
        "peak_live_bytes_event": best[1],
        "top_sizes_at_peak": [
            SizeLive(s, n, s * n) for s, n in sorted(best[2].items(), key=lambda e: (-e[0] * e[1], e[0]))[:10] if s * n
        ],
        "peak_live_blocks": best_blocks[0],
        "peak_live_blocks_event": -best_blocks[1],
        "live_bytes_at_end": sum(b[0] for b in live.values()),
        "live_blocks_at_end": len(live),
        "lifetime_bytes": Quantiles(*(quantile(bytes_lived, q, clock) for q in (0.5, 0.9, 0.99))),
        "lifetime_events": Quantiles(*(quantile(events_lived, q, chunk.op.size - 1) for q in (0.5, 0.9, 0.99))),
        "cross_thread_frees": counts["cross"],
        "reallocs_growing": counts["growing"],
        "reallocs_shrinking": counts["shrinking"],
        "reallocs_same": counts["same"],
        "sized_free_mismatches": 0,
    }


def quantile(values: list[int], share: float, most: int) -> int:
    """The end of the power-of-two bucket that holds the least value which `share` of them do not exceed, or `most`."""
    values = sorted(values)
    least = next(v for k, v in enumerate(values, 1) if k >= share * len(values))
    return min((1 << least.bit_length()) - 1, most)


@pytest.mark.parametrize("seed", range(12))
def test_figures_of_random_traces(tmp_path: Path, seed: int) -> None:
    chunk = random_chunk(1500, seed, 1 + seed % 4, max_size=10 ** (1 + seed % 6), cross_thread=0.2, live=10 * seed + 1)
    info = info_of(tmp_path / "t.hst", chunk, chunk_events=(1, 10, 100, 1000, 65536)[seed % 5])
    for name, value in figures(chunk).items():
        assert getattr(info, name) == value, name
    assert sum(b.requests for b in info.size_histogram) == sum(
        info.events_by_op[o] for o in ("malloc", "calloc", "realloc", "aligned")
    )
    assert sum(info.alignments.values()) == info.events_by_op["aligned"]


def test_many_distinct_sizes(tmp_path: Path) -> None:
    sizes = [7 * k for k in range(5000)]
    chunk = Chunk.of([0] * 5000, [0] * 5000, range(5000), sizes, [0] * 5000, [0] * 5000)
    info = info_of(tmp_path / "t.hst", chunk, chunk_events=50)
    assert info.distinct_sizes == 5000
    assert [s.size for s in info.top_sizes_at_peak] == [7 * k for k in range(4999, 4989, -1)]
    assert info.live_bytes_at_end == info.peak_live_bytes == sum(sizes)


def test_an_empty_trace_has_figures_too(tmp_path: Path) -> None:
    info = info_of(tmp_path / "t.hst", Chunk.of(*[()] * 6))
    assert (info.events, info.distinct_sizes, info.size_histogram, info.peak_live_bytes) == (0, 0, [], 0)
    assert info.lifetime_bytes == info.lifetime_events == Quantiles(0, 0, 0)


def test_no_block_lives_longer_than_the_trace(tmp_path: Path) -> None:
    ops, blocks = [0, 0, 0, 0, 0, 4], [0, 1, 2, 3, 4, 0]
    info = info_of(tmp_path / "t.hst", Chunk.of(ops, [0] * 6, blocks, [9] * 5 + [0], [0] * 6, range(6)))
    assert info.lifetime_events == Quantiles(5, 5, 5)
    assert info.lifetime_bytes == Quantiles(45, 45, 45)


def test_an_empty_trace_is_shown_without_events(tmp_path: Path, call: Callable[..., Answer]) -> None:
    info_of(tmp_path / "t.hst", Chunk.of(*[()] * 6))
    lines = [" ".join(line.split()) for line in call("trace", "info", tmp_path / "t.hst").out.splitlines()]
    assert {"events 0", "peak live 0 B", "lifetime, events no block was freed"} <= set(lines)


@pytest.mark.parametrize(("resident", "rest"), [(30 << 20, "; 29.9 MiB or more are not live blocks"), (4096, "")])
def test_resident_bytes_that_no_block_explains(
    tmp_path: Path, call: Callable[..., Answer], resident: int, rest: str
) -> None:
    with TraceWriter(tmp_path / "t.hst", command=["x"], source="test") as writer:
        writer.append(Chunk.of([Op.MALLOC], [0], [0], [100 << 10], [0], [0]))
        writer.close({"samples": Samples([], [(0, resident)], resident, [])})
    (line,) = re.findall("^peak resident +(.*)$", call("trace", "info", tmp_path / "t.hst").out, re.MULTILINE)
    assert line.partition(", but")[0] == amount(resident) + rest


def test_progress_is_told(tmp_path: Path) -> None:
    info_of(tmp_path / "t.hst", random_chunk(100, 1), chunk_events=40)
    seen: list[tuple[str, int, int]] = []
    trace_info(tmp_path / "t.hst", progress=lambda *step: seen.append(step))
    assert seen == [("events", 40, 100), ("events", 80, 100), ("events", 100, 100)]
