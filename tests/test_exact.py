"""The exact parts of the search: what several traces, weights and other rules of blocks make of them."""

from pathlib import Path

import msgspec
import numpy as np
import pytest

from heapsmith.model.design.design import Design, load
from heapsmith.model.policy.front import array_stack as front_array_stack
from heapsmith.model.search import MOST_CLASSES
from heapsmith.model.search.exact import Exact
from heapsmith.model.search.source import Source
from heapsmith.model.trace.reader import Chunk, Op, TraceWriter

BASE = msgspec.structs.replace(load("default"), name="x", front=front_array_stack.Params(capacity=8))
HELD = 40


def written(path: Path, events: list[tuple[Op, int, int, int, int]]) -> Path:
    """A trace of (op, thread, block, size, log2 of the alignment)."""
    ops, threads, blocks, sizes, aligns = zip(*events, strict=True)
    with TraceWriter(path, command=["test"], source="test") as writer:
        writer.append(Chunk.of(ops, threads, blocks, sizes, aligns, range(len(events))))
    return path


def cycling(path: Path, size: int, turns: int) -> Path:
    """HELD of many blocks are freed and asked for again, turn by turn."""
    events = [(Op.MALLOC, 0, block, size, 0) for block in range(1000)]
    for _ in range(turns):
        events += [(Op.FREE, 0, block, 0, 0) for block in range(HELD)]
        events += [(Op.MALLOC, 0, block, size, 0) for block in range(HELD)]
    return written(path, events)


def capacity(design: Design, size: int) -> int:
    """The room of the front of a class."""
    return int(getattr(design.front_of(size), "capacity", 0))


@pytest.mark.parametrize(("weight", "better"), [(0.2, 64), (5.0, 80)])
def test_capacities_follow_the_weights_and_not_the_lengths(weight: float, better: int, tmp_path: Path) -> None:
    """The budget is for one of two sizes. The trace of 64 is ten times as long, which decides nothing."""
    long = Source(cycling(tmp_path / "long.hst", 64, 400))
    short = Source(cycling(tmp_path / "short.hst", 80, 40), weight)
    exact = Exact([long, short], BASE, MOST_CLASSES, 1.0)
    made, _ = exact.shares(BASE, HELD * 80 / exact.budget_bytes)
    other = {64: 80, 80: 64}[better]
    assert capacity(made, better) > capacity(made, other)


def test_a_block_that_idles_on_two_traces_is_charged_once(tmp_path: Path) -> None:
    path = cycling(tmp_path / "t.hst", 64, 40)
    one, two = (
        Exact([Source(path) for _ in range(count)], BASE, MOST_CLASSES, 1.0).curves(BASE)[0] for count in (1, 2)
    )
    for single, double in zip(one, two, strict=True):
        assert np.array_equal(double.misses, 2 * single.misses)
        assert np.array_equal(double.most, single.most)


def test_threads_have_heaps_by_the_rules_of_the_candidate(tmp_path: Path) -> None:
    """Under headers aligned blocks are large, so these threads have no heap; under a map of slabs they have one."""
    events = [(Op.MALLOC, 0, 0, 64, 0)]
    for thread in range(1, 4):
        events += [(Op.THREAD_START, thread, 0, 0, 0), (Op.ALIGNED, thread, thread, 64, 6)]
    source = Source(written(tmp_path / "t.hst", events))
    header = msgspec.structs.replace(BASE, classifier="header")
    assert header.why_not_valid() is None
    exact = Exact([source], header, MOST_CLASSES, 1.0)
    assert exact.histogram.heaps == 1
    assert sum(len(curve.most) for curve in exact.curves(BASE)[0]) == 4
    assert sum(len(curve.most) for curve in exact.curves(header)[0]) == 1
