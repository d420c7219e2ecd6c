"""The rules: each is kept by hand-made events that break it, and all of them by a second implementation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from traces import random_chunk

from heapsmith.model.trace.events import Rules, join
from heapsmith.model.trace.reader import Chunk, Op

Row = tuple[int, ...]
"""An event; without its last column the processor is unknown."""


def chunk_of(rows: list[Row]) -> Chunk:
    return Chunk.of(*(zip(*rows, strict=True) if rows else [()] * 6))


def first_bad(rows: list[Row]) -> int | None:
    """The page's rules, in sets: the index of the first event that breaks one."""
    seen: set[int] = set()
    live: set[int] = set()
    used: set[int] = set()
    before = 0
    for index, (op, thread, block, size, align_log2, time_ns, *told) in enumerate(rows):
        sound = op in list(Op) and time_ns >= before and set(range(thread)) <= seen
        sound &= -1 <= [*told, -1][0] < 8192
        if op == Op.THREAD_START:
            sound &= thread not in seen
        if op in (Op.THREAD_START, Op.THREAD_EXIT):
            sound &= block == 0
        elif op in (Op.MALLOC, Op.CALLOC, Op.ALIGNED):
            sound &= block not in live and (block in used or (used == live and block == len(used)))
            live.add(block)
            used.add(block)
        else:
            sound &= block in live
            if op != Op.REALLOC:
                live.discard(block)
        sound &= size == 0 if op in (Op.FREE, Op.THREAD_START, Op.THREAD_EXIT) else size >= (op == Op.REALLOC)
        sound &= align_log2 <= (62 if op in (Op.ALIGNED, Op.FREE_SIZED) else 0)
        if not sound:
            return index
        seen.add(thread)
        before = time_ns
    return None


BORN: list[Row] = [(Op.MALLOC, 0, 0, 8, 0, 5), (Op.MALLOC, 0, 1, 8, 0, 6), (Op.FREE, 0, 0, 0, 0, 7)]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ((8, 0, 0, 0, 0, 9), "operation 8 is not one of 0 to 7"),
        ((Op.MALLOC, 0, 0, 8, 0, 6), "time 6 ns is before"),
        ((Op.MALLOC, 2, 0, 8, 0, 9), "thread 2 appears before thread 1 has"),
        ((Op.THREAD_START, 0, 0, 0, 0, 9), "thread 0 starts after its first event"),
        ((Op.THREAD_EXIT, 0, 1, 0, 0, 9), "THREAD_EXIT with block 1"),
        ((Op.THREAD_EXIT, 0, 0, 1, 0, 9), "THREAD_EXIT with size 1"),
        ((Op.MALLOC, 0, 0, -1, 0, 9), "MALLOC with size -1"),
        ((Op.FREE, 0, 1, 0, 0, 9, 8192), "FREE on processor 8192; expected at most 8191"),
        ((Op.FREE, 0, 1, 8, 0, 9), "FREE with size 8"),
        ((Op.REALLOC, 0, 1, 0, 0, 9), "REALLOC with size 0"),
        ((Op.CALLOC, 0, 0, 8, 4, 9), "CALLOC with alignment 2^4"),
        ((Op.ALIGNED, 0, 0, 8, 63, 9), "ALIGNED with alignment 2^63"),
        ((Op.MALLOC, 0, 1, 8, 0, 9), "MALLOC of block 1, which is live"),
        ((Op.MALLOC, 0, 2, 8, 0, 9), "MALLOC of block 2; the next new block is 2, and 1 are free"),
        ((Op.MALLOC, 0, 3, 8, 0, 9), "MALLOC of block 3"),
        ((Op.MALLOC, 0, 2**32 - 1, 8, 0, 9), "MALLOC of block 4294967295"),
        ((Op.FREE, 0, 0, 0, 0, 9), "FREE of block 0, which is not live"),
        ((Op.REALLOC, 0, 0, 8, 0, 9), "REALLOC of block 0, which is not live"),
        ((Op.FREE_SIZED, 0, 2**32 - 1, 8, 0, 9), "FREE_SIZED of block 4294967295, which is not live"),
    ],
)
def test_a_broken_rule_is_named(row: Row, words: str) -> None:
    rules = Rules()
    assert rules.breach(chunk_of(BORN)) is None
    breach = rules.breach(join([chunk_of([(Op.REALLOC, 0, 1, 9, 0, 9)]), chunk_of([row])]))
    assert breach is not None
    assert breach.startswith("event 4: ")
    assert words in breach
    assert first_bad([*BORN, (Op.REALLOC, 0, 1, 9, 0, 9), row]) == 4


def test_state_is_that_of_the_events_so_far() -> None:
    rules = Rules()
    assert rules.breach(chunk_of([])) is None
    assert rules.breach(chunk_of([*BORN, (Op.THREAD_START, 1, 0, 0, 0, 8), (Op.CALLOC, 1, 0, 0, 0, 8)])) is None
    assert (rules.events, rules.blocks, rules.live, rules.threads) == (5, 2, 2, 2)


@settings(deadline=None)  # numba compiles during the first example
@given(st.data())
def test_breaches_are_those_of_the_page(data: st.DataObject) -> None:
    threads = data.draw(st.integers(1, 3))
    chunk = random_chunk(
        40, data.draw(st.integers(0, 10**6)), threads, cross_thread=0.3, live=data.draw(st.integers(1, 9))
    )
    rows: list[Row] = [tuple(row) for row in zip(*(c.tolist() for c in chunk), strict=True)]
    assert first_bad(rows) is None
    for _ in range(data.draw(st.integers(0, 2))):
        at, column = data.draw(st.integers(0, 39)), data.draw(st.integers(0, 6))
        row = list(rows[at])
        row[column] = data.draw(st.integers(0, 9) if column < 6 else st.sampled_from([-2, -1, 0, 8191, 8192]))
        rows[at] = tuple(row)
    bad = first_bad(rows)
    cut = data.draw(st.integers(0, 40))
    rules = Rules()
    breaches = [rules.breach(chunk_of(rows[:cut]))]
    if breaches == [None]:
        breaches.append(rules.breach(chunk_of(rows[cut:])))
    words = breaches[-1]
    assert (None if words is None else int(words.split()[1].rstrip(":"))) == bad


def test_columns_are_checked() -> None:
    with pytest.raises(ValueError, match="zip"):
        Chunk.of([0], [0], [0])
    with pytest.raises(ValueError, match="column size"):
        Chunk.of([0], [0], [0], [1, 2], [0], [0])
    with pytest.raises(OverflowError):
        Chunk.of([0], [-1], [0], [1], [0], [0])
    sound = Chunk.of([0], [0], [0], [1], [0], [0])
    with pytest.raises(ValueError, match="column block: expected uint32"):
        sound._replace(block=sound.block.astype(np.int64)).checked()


def test_parts_join_again() -> None:
    chunk = random_chunk(100, 4)
    again = join([chunk.part(0, 30), chunk.part(30, 30), chunk.part(30, 100)])
    assert all(np.array_equal(a, b) for a, b in zip(chunk, again, strict=True))
