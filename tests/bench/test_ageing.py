"""The ageing gate: passes are sound, their blocks outlive them, a heap ages without a difference, growth is found."""

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from traces import random_chunk, random_trace

from heapsmith.bench.common.command import run
from heapsmith.bench.soak.ageing import AGES, GROWTH, LEAST_PASSES, Ageing, Segment, age, main, read
from heapsmith.model.design.design import load
from heapsmith.model.errors import BadInput
from heapsmith.model.trace.events import BIRTHS, DEATHS, Op
from heapsmith.model.trace.writer import TraceWriter

PASSES = 2 * max(AGES) + 3


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 99), st.integers(1, 3))
def test_passes_are_sound(seed: int, threads: int) -> None:
    """Each birth names a dead block and all else a live one; after the oldest age all passes end alike."""
    aged = Ageing(random_chunk(400, seed, threads), seed)
    live: dict[int, int] = {}
    sums, time, started = [], -1, set[int]()
    for number in range(PASSES):
        events = aged.events(number)
        assert time < int(events.time_ns[0])
        assert (np.diff(events.time_ns) >= 0).all()
        time = int(events.time_ns[-1])
        for op, thread, block, size in zip(*(column.tolist() for column in events[:4]), strict=True):
            if op == Op.THREAD_START:
                assert thread not in started
                started.add(thread)
            elif op in BIRTHS:
                assert block not in live
                live[block] = size
            else:
                assert op == Op.REALLOC or op in DEATHS
                assert block in live
                live.pop(block) if op in DEATHS else live.update({block: size})
        sums.append((len(live), sum(live.values())))
    assert len(set(sums[max(AGES) :])) == 1
    assert sums[0][0] < sums[max(AGES)][0]


def test_growth_and_differences_fail() -> None:
    good = Segment("d", "h", "t", 1, 27, 100, 1.0, 1, 1, [1, 100, 101], GROWTH, None)
    assert good.passed
    assert not msgspec.structs.replace(good, drift=GROWTH + 1e-6).passed


@pytest.mark.big
def test_thirty_seconds(tmp_path: Path) -> None:
    """The short form; what is done is not done again."""
    trace, log = random_trace(tmp_path / "t.hst", 200_000, seed=1, threads=2), tmp_path / "log.json"
    words = ["--events", "4e7", "--segment", "20000000", "--trace", str(trace), "--log", str(log)]
    assert run(main, words) == 0
    before = read(log)
    assert [(one.seed, one.passes >= LEAST_PASSES, one.difference) for one in before] == [
        (1, True, None),
        (2, True, None),
    ]
    assert run(main, words) == 0
    assert read(log) == before


@pytest.mark.big
def test_a_heap_that_grows_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver's process is made to have another 2 % each pass."""
    grown = iter(range(10**9))
    trace = random_trace(tmp_path / "t.hst", 5000, seed=2)
    monkeypatch.setattr("heapsmith.codegen.driver.Driver.rss_bytes", lambda self: 10**6 + 20_000 * next(grown))
    found = age(load("default"), trace, 1)
    assert found.difference is None
    assert found.drift > GROWTH
    assert not found.passed


def test_mistakes(tmp_path: Path) -> None:
    empty = tmp_path / "none.hst"
    with TraceWriter(empty, command=["t"], source="test"):
        pass
    with pytest.raises(BadInput, match="no events, so nothing ages"):
        age(load("default"), empty, 1)
    log = tmp_path / "log.json"
    log.write_text(json.dumps({"no": "segments"}))
    with pytest.raises(BadInput, match=r"log\.json: no log of segments"):
        read(log)
