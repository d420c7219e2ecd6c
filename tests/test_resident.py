"""Resident pages: exact far apart, on small and huge pages; tables are used again, and room is said truly."""

from typing import Any

import numpy as np
import pytest

from heapsmith.model.compile.kernel import specialised
from heapsmith.model.memory import listener_words as words
from heapsmith.model.memory import resident, touches
from heapsmith.model.memory.hardware import load_hardware
from heapsmith.model.memory.layout import APPLICATION, REGION
from heapsmith.model.memory.listener import Listener
from heapsmith.model.memory.resident import FRAME, PAGE
from heapsmith.model.memory.touches import CACHES

MACHINE = load_hardware()
TOUCH: Any = specialised(touches.touch, SINK=CACHES)
GONE: Any = specialised(touches.gone, SINK=CACHES)
ON_HUGE: Any = specialised(touches.on_huge, SINK=CACHES)
POPULATED: Any = specialised(touches.populated, SINK=CACHES)
TICK: Any = specialised(touches.tick, SINK=CACHES)
ROOM_FOR: Any = specialised(touches.room_for, SINK=CACHES)
TOP = (1 << 46) - PAGE


def fresh() -> Listener:
    listener = Listener(MACHINE)
    assert ROOM_FOR(listener.array, 0)
    return listener


def test_pages_are_told_apart_wherever_they_are() -> None:
    listener = fresh()
    drawn = np.random.default_rng(5).integers(0, TOP, 60) // PAGE * PAGE
    pages = np.unique(np.append(drawn[drawn // REGION != APPLICATION // REGION], [0, TOP]))
    for _ in range(2):
        for page in pages.tolist():
            TOUCH(listener.array, page + 100, 1)
    TOUCH(listener.array, APPLICATION, 1)  # what a replay has beside its blocks is resident from the start
    counts = listener.counts()
    assert counts.faults_4k == len(pages)
    assert counts.resident_bytes == counts.resident_peak == len(pages) * PAGE
    for page in pages.tolist():
        GONE(listener.array, page, PAGE)
    TOUCH(listener.array, TOP, 1)
    counts = listener.counts()
    assert counts.faults_4k == len(pages) + 1
    assert counts.resident_bytes == PAGE
    assert counts.resident_peak == len(pages) * PAGE


def test_a_page_that_is_read_first_faults_again_when_it_is_written() -> None:
    listener = fresh()
    TOUCH(listener.array, 0, 0)
    assert (listener.counts().faults_4k, listener.counts().resident_bytes) == (2, PAGE)


def test_populated_pages_do_not_fault_again() -> None:
    listener = fresh()
    TOUCH(listener.array, PAGE, 1)
    POPULATED(listener.array, 0, 4 * PAGE)
    for page in range(5):
        TOUCH(listener.array, page * PAGE, 1)
    counts = listener.counts()
    assert (counts.faults_4k, counts.populated, counts.resident_bytes) == (5, 3, 5 * PAGE)
    ON_HUGE(listener.array, FRAME, FRAME)
    POPULATED(listener.array, FRAME, 2 * PAGE)
    counts = listener.counts()
    assert (counts.faults_2m, counts.populated, counts.resident_bytes) == (1, 3, FRAME + 5 * PAGE)


def test_only_whole_pages_go_back() -> None:
    listener = fresh()
    for page in range(4):
        TOUCH(listener.array, page * PAGE, 1)
    GONE(listener.array, 1, 3 * PAGE)
    assert listener.counts().resident_bytes == 2 * PAGE
    GONE(listener.array, PAGE, PAGE - 1)
    assert listener.counts().resident_bytes == 2 * PAGE


def test_a_huge_page_is_one_fault_and_a_part_of_it_can_go() -> None:
    listener = fresh()
    ON_HUGE(listener.array, FRAME - PAGE, 3 * FRAME)  # frames 1 and 2
    TOUCH(listener.array, 0, 1)
    TOUCH(listener.array, FRAME + 5 * PAGE, 1)
    TOUCH(listener.array, 2 * FRAME - 1, 1)
    counts = listener.counts()
    assert (counts.faults_4k, counts.faults_2m, counts.tlb1_misses) == (1, 1, 2)
    assert counts.resident_bytes == PAGE + FRAME
    GONE(listener.array, FRAME + PAGE + 64, 0)  # no whole page: nothing comes apart
    assert listener.array[words.WHOLE_FRAMES] == 1
    GONE(listener.array, FRAME, 500 * PAGE)
    assert listener.counts().resident_bytes == 13 * PAGE
    TOUCH(listener.array, FRAME, 1)  # small pages of the frame are resident
    TOUCH(listener.array, 2 * FRAME - 1, 1)
    counts = listener.counts()
    assert (counts.faults_4k, counts.faults_2m, counts.resident_bytes) == (2, 1, 14 * PAGE)
    GONE(listener.array, 0, 1 << 46)
    TOUCH(listener.array, FRAME, 1)
    counts = listener.counts()
    assert (counts.faults_2m, counts.resident_bytes) == (2, FRAME)
    assert counts.resident_peak == PAGE + FRAME


def test_what_was_small_stays_small_until_it_is_gone() -> None:
    listener = fresh()
    TOUCH(listener.array, 0, 1)
    ON_HUGE(listener.array, 0, FRAME)
    TOUCH(listener.array, PAGE, 1)
    assert listener.counts().faults_4k == 2
    GONE(listener.array, 0, 2 * PAGE)
    TOUCH(listener.array, PAGE, 1)
    assert listener.counts().faults_2m == 1


def test_tables_are_used_again() -> None:
    listener = fresh()
    lefts = [words.LEAVES_LEFT, words.NODES_LEFT]
    before = listener.array[lefts].tolist()
    size = len(listener.array)
    for place in range(200):
        for part in range(2):
            TOUCH(listener.array, (place << 32) + part * FRAME, 0)
        GONE(listener.array, place << 32, 2 * FRAME)
    assert listener.counts().resident_bytes == 0
    assert listener.array[lefts].tolist() == before
    assert listener.array[words.LEAVES_USED] == 2
    assert listener.array[words.NODES_USED] == 1
    listener.make_room(0)
    assert len(listener.array) == size


def test_room_is_made_for_what_is_announced() -> None:
    listener = fresh()
    for size in (1 << 30, 1 << 36):
        begin = size << 4
        while not ROOM_FOR(listener.array, size):
            listener.make_room(size)
        for frame in range(begin, begin + size, 64 * FRAME):
            TOUCH(listener.array, frame, 1)
        assert listener.counts().faults_4k * 64 * FRAME >= size
    assert not ROOM_FOR(listener.array, 1 << 44)


def test_what_fits_nowhere_is_noticed() -> None:
    listener = fresh()
    for place in range(resident.SPARE_NODES + 2):
        TOUCH(listener.array, place << 31, 0)
    with pytest.raises(RuntimeError, match="more than it was given room for"):
        listener.counts()


def test_the_average_is_over_time() -> None:
    listener = fresh()
    assert listener.counts().resident_average == 0
    for page, passed in enumerate((5, 0, 2)):
        TOUCH(listener.array, page * PAGE, 0)
        TICK(listener.array, passed)
    listener.elapse(3)
    assert listener.counts().resident_average == (1 * 5 + 3 * (2 + 3)) * PAGE / 10
