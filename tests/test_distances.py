"""Reuse distances: those of brute force, over ends of the time axis and growth; misses of every size of cache."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heapsmith.model.compile.kernel import Ints, compiled, kernel, specialised
from heapsmith.model.memory import distances
from heapsmith.model.memory import listener_words as words
from heapsmith.model.memory.hardware import load_hardware
from heapsmith.model.memory.listener import Listener
from heapsmith.model.memory.touches import DISTANCES, room_for, touch

MACHINE = load_hardware()


@kernel
def play(listener: Ints, lines: Ints) -> int:
    """Touches of lines up to the first for which there might be no room; the index of that."""
    for index in range(len(lines)):
        if not room_for(listener, 64):
            return index
        touch(listener, int(lines[index]) * 64, 0)
    return len(lines)


PLAIN = specialised(play, SINK=DISTANCES)


def brute_force(lines: list[int]) -> tuple[list[int], int]:
    """The distances in order, and the cold misses, by a list in LRU order."""
    stack: list[int] = []
    found = []
    for line in lines:
        if line in stack:
            found.append(stack.index(line))
            stack.remove(line)
        stack.insert(0, line)
    return found, len(stack)


def histogram(found: list[int]) -> list[int]:
    buckets = np.searchsorted(distances.LOWEST, found, side="right") - 1
    return list(np.bincount(buckets, minlength=distances.BUCKETS).tolist())


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 12) | st.integers(0, 1 << 39), max_size=200))
def test_distances_are_those_of_brute_force(lines: list[int]) -> None:
    listener = Listener(MACHINE, DISTANCES)
    assert PLAIN(listener.array, np.array(lines, np.int64)) == len(lines)
    found, cold = brute_force(lines)
    result = listener.distances()
    assert (result.cold, result.accesses) == (cold, len(lines))
    assert result.histogram.tolist() == histogram(found)


@pytest.mark.parametrize("span", [50, 3000])
def test_the_time_axis_ends_and_the_tables_grow(span: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distances, "SPARE_LINES", 8)
    lines = np.random.default_rng(3).integers(0, span, 6000)
    listener = Listener(MACHINE, DISTANCES)
    run = compiled(play, SINK=DISTANCES)
    begin = grown = 0
    while begin < len(lines):
        begin += run(listener.array, lines[begin:])
        grown += begin < len(lines)
        listener.make_room(64)
    found, cold = brute_force(lines.tolist())
    result = listener.distances()
    assert grown > 1
    assert listener.array[words.AXIS_WORDS] < 6000 or span == 3000
    assert result.cold == cold
    assert result.histogram.tolist() == histogram(found)


def test_misses_are_those_of_a_fully_associative_cache() -> None:
    lines = np.random.default_rng(4).integers(0, 2500, 5000)
    listener = Listener(MACHINE, DISTANCES)
    compiled(play, SINK=DISTANCES)(listener.array, lines)
    found, cold = brute_force(lines.tolist())
    result = listener.distances()
    for size in (1, 2, 17, 1000, 1024, 1088, 2048, 2176, 1 << 20):
        assert result.misses(size) == cold + sum(distance >= size for distance in found)
    assert result.misses(1) <= result.accesses


def test_buckets_cover_every_distance_once() -> None:
    lowest = distances.LOWEST.tolist()
    assert len(lowest) == distances.BUCKETS
    assert lowest == sorted(set(lowest))
    for distance in (0, 1023, 1024, 1025, 1087, 1088, 2047, 2048, 2**30 + 12345, 2**40 - 1):
        bucket = distances.bucket_of(distance)
        assert lowest[bucket] <= distance
        assert bucket + 1 == len(lowest) or distance < lowest[bucket + 1]
