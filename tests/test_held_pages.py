"""Which pages held blocks: against a plain set, over a growing table, and at the times of looks at a process."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heapsmith.model.trace.events import Chunk, Op
from heapsmith.tools.common.smaps import PAGE, Area, Look
from heapsmith.tools.record import held_pages
from heapsmith.tools.record.held_pages import HeldPages
from heapsmith.tools.record.resident import ResidentByKind

MIB = 1 << 20
SPACE = 400
"""Pages of the address space of these tests."""
births = st.tuples(st.integers(0, SPACE * PAGE - 1), st.integers(0, 130 * PAGE))
areas = st.lists(st.integers(0, SPACE + 140), min_size=2, max_size=8, unique=True).map(sorted)


def plain_of(function: Any) -> Any:
    """A function before it was compiled."""
    return function.__dict__.get("_function") or function.py_func


@pytest.mark.parametrize("plain", [True, False])
@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(births, areas), min_size=1, max_size=6),
    st.lists(st.booleans(), min_size=SPACE + 140, max_size=SPACE + 140),
)
def test_held_pages_against_a_set(
    plain: bool, steps: list[tuple[tuple[int, int], list[int]]], bits: list[bool]
) -> None:
    pages, held = HeldPages(), set[int]()
    base, present = 1 << 34, np.array(bits)
    with pytest.MonkeyPatch.context() as patch:
        if plain:
            for name in ("_place", "_bits", "_follow", "_rehash", "_restrict", "_count"):
                patch.setattr(held_pages, name, plain_of(getattr(held_pages, name)))
        for number, ((offset, size), edges) in enumerate(steps):
            chunk = Chunk.of([Op.MALLOC], [0], [number], [size], [0], [number])
            pages.feed(chunk, np.array([base * PAGE + offset]))
            held |= set(range(offset // PAGE, (offset + max(size, 1) - 1) // PAGE + 1))
            spans = list(zip(edges[::2], edges[1::2], strict=False))
            pages.only_in([Area((base + first) * PAGE, (base + end) * PAGE, 0) for first, end in spans])
            held &= {page for first, end in spans for page in range(first, end)}
            for first, end in spans:
                area = Area((base + first) * PAGE, (base + end) * PAGE, (end - first) * PAGE)
                assert pages.resident_in(area) == PAGE * len(held & set(range(first, end)))
                of = present[first:end]
                some = area._replace(resident=PAGE * int(of.sum()), present=of)
                assert pages.resident_in(some) == PAGE * sum(of[page - first] for page in held if first <= page < end)
    assert pages.live == sum(size for (_, size), _ in steps)


def test_a_table_of_pages_grows() -> None:
    pages = HeldPages()
    size, count = 3 * MIB, 300
    zeros = [0] * count
    chunk = Chunk.of([Op.MALLOC] * count, zeros, range(count), [size] * count, zeros, range(count))
    address = np.arange(count) * size
    pages.feed(chunk, address)
    assert pages.resident_in(Area(0, count * size, 1 << 40)) == count * size
    copy = HeldPages(pages.held())
    gone = Chunk.of([Op.FREE] * count, zeros, range(count), zeros, zeros, range(count))
    pages.feed(gone, address)
    assert (pages.live, copy.live) == (0, 0)
    assert copy.resident_in(Area(0, count * size, 1 << 40)) == count * size


def test_a_look_is_joined_with_the_events_of_its_time() -> None:
    """By hand: a block of a page each millisecond, looks at 1.5 and 3.5 ms."""
    area = Area(0, 10 * PAGE, 10 * PAGE)
    joined = ResidentByKind(
        [Look(100_000_000 + time, 100_000_000 + time, 0, [area], *[0] * 7) for time in (1_500_000, 3_500_000)]
    )
    for part in (range(3), range(3, 6)):
        few = [0] * len(part)
        chunk = Chunk.of([Op.MALLOC] * len(part), few, part, [PAGE] * len(part), few, [one * 10**6 for one in part])
        joined.feed(chunk, np.array(part) * PAGE, 10**8)
    kinds = joined.kinds()
    assert kinds is not None
    assert (kinds.time_ns, kinds.live) == ([1_500_000, 3_500_000], [2 * PAGE, 4 * PAGE])
    assert (kinds.malloc, kinds.mappings) == ([2 * PAGE, 4 * PAGE], [8 * PAGE, 6 * PAGE])
    assert ResidentByKind().kinds() is None
