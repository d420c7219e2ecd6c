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


def all_plain(patch: pytest.MonkeyPatch) -> None:
    """Nothing is compiled."""
    for name in ("slot_of", "_bits", "_within", "_add", "_follow", "_rehash", "_restrict", "_count_unit", "_count"):
        patch.setattr(held_pages, name, plain_of(getattr(held_pages, name)))


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
            all_plain(patch)
            patch.setattr(held_pages, "LARGE_PAGES", 70)
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


def fed(pages: HeldPages, *blocks: tuple[int, int]) -> None:
    """Births at these addresses and of these sizes."""
    zeros, numbers = [0] * len(blocks), range(len(blocks))
    chunk = Chunk.of([Op.MALLOC] * len(blocks), zeros, numbers, [size for _, size in blocks], zeros, numbers)
    pages.feed(chunk, np.array([address for address, _ in blocks]))


@pytest.mark.parametrize("plain", [True, False])
def test_the_cost_of_a_large_block_or_area_is_bounded(plain: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A block of 64 GiB in an area of 16 TiB: places of the table that are asked for, and its memory."""
    if plain:
        all_plain(monkeypatch)
    asked, place = [0], held_pages.slot_of

    def counted(*values: Any) -> int:
        asked[0] += 1
        return place(*values)

    if plain:
        monkeypatch.setattr(held_pages, "slot_of", counted)
    pages, tib = HeldPages(), 1 << 40
    fed(pages, *[(tib + number % 3 * PAGE, 64 << 30) for number in range(50)], (0, 1), (9 * tib, MIB))
    area = Area(0, 16 * tib, 16 * tib)
    most = (64 << 30) + 2 * PAGE
    assert pages.resident_in(area) == most + PAGE + MIB
    assert pages.resident_in(Area(tib - MIB, tib + MIB, 2 * MIB)) == MIB
    pages.only_in([Area(0, tib + (1 << 30), 0), Area(tib + (2 << 30), tib + (2 << 30) + MIB, 0)])
    assert pages.resident_in(area) == PAGE + (1 << 30) + MIB
    assert (0 < asked[0] < 100) == plain
    assert sum(column.nbytes for column in pages.held()) < 1 << 16


def test_a_table_of_blocks_that_move_does_not_grow() -> None:
    """Each place is mapped no more when the next block comes."""
    pages = HeldPages()
    for number in range(300):
        fed(pages, (number << 30, 60 * MIB))
        pages.only_in([Area(number << 30, (number + 1) << 30, 0)])
        assert pages.resident_in(Area(0, 1 << 46, 1 << 46)) == 60 * MIB
    assert pages.held().keys.size <= held_pages._FIRST_PLACES


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
