"""Drafts: a size gets a class where that saves more memory than docs/tuning.md says of a class, and nowhere else."""

import msgspec
import numpy as np
import pytest

from heapsmith.model.constants import PAGE
from heapsmith.model.design.design import ClassFront, load
from heapsmith.model.policy.front import linked_list as front_linked_list
from heapsmith.model.search.draft import SLAB_BYTES, SMALL_LIMITS, Sizes, best_sizes, request_weights, with_sizes
from heapsmith.model.search.size_classes import PRICE_UNIT, STEP, Histogram, Rules, block_price

DEFAULT = load("default")
SAVES = {192: 0.6, 256: 1.6, 320: 0.8, 384: 1.25, 448: 0.9, 512: 1.1, 576: 0.4}
"""By size, what a class of its own saves over the class of the next step, in costs of a class."""


def saves_per_block(size: int) -> float:
    """Bytes at the peak that a block costs less in a class of this size than in one of the next step."""
    more, less = (block_price(stride, DEFAULT.slab_bytes, 0) for stride in (size + STEP, size))
    return (more - less) / PRICE_UNIT


@pytest.mark.parametrize("heaps", [1, 2, 5])
def test_a_class_has_to_save_half_a_page_and_another_for_each_heap(heaps: int) -> None:
    """Of its slab, half a page is not carved on average, and of each heap's refill half a page is not used."""
    cost = PAGE / 2 + heaps * PAGE / 2
    live = np.zeros(DEFAULT.sizes[-1] // DEFAULT.grain + 2, np.int64)
    live[[(size + STEP) // DEFAULT.grain for size in (128, *SAVES)]] = 100_000
    for size, share in SAVES.items():
        live[size // DEFAULT.grain] = share * cost / saves_per_block(size)
    histogram = Histogram(live, live * DEFAULT.grain, live, live, 1 << 30, heaps)
    found = best_sizes(histogram, Rules.of(DEFAULT), DEFAULT.slab_bytes, DEFAULT.sizes[-1], 250)
    assert isinstance(found, Sizes)
    assert found.sizes[-1] == DEFAULT.sizes[-1]
    assert {*SAVES} & {*found.sizes} == {size for size, share in SAVES.items() if share > 1}


def some_histogram() -> Histogram:
    """700 live blocks of 144 bytes, 300 of 64, 400 of 160 at another time, and allocations of 64 and 1600."""
    live, most, allocations = (np.zeros(2050, np.int64) for _ in range(3))
    live[[4, 9]], most[[4, 9, 10]], allocations[[4, 100]] = (300, 700), (300, 700, 400), (10, 30)
    return Histogram(live, live * 16, most, allocations, 120_000, 1)


def test_every_slab_size_serves_what_it_can_and_keeps_the_rest() -> None:
    for slab_bytes in SLAB_BYTES:
        for limit in (32_768, *SMALL_LIMITS):
            found = best_sizes(some_histogram(), Rules.of(DEFAULT), slab_bytes, limit, 48)
            assert isinstance(found, Sizes)
            assert found.sizes[-1] == min(slab_bytes, limit)
            assert {64, 144} <= set(found.sizes)
            design = with_sizes(DEFAULT, found.sizes, slab_bytes)
            assert design.why_not_valid() is None
            assert (design.release, design.thp, design.front) == (DEFAULT.release, DEFAULT.thp, DEFAULT.front)


def test_each_class_keeps_the_front_that_served_its_size() -> None:
    few = front_linked_list.Params(capacity=40)
    base = msgspec.structs.replace(DEFAULT, class_front=[ClassFront([64, 128], few)])
    design = with_sizes(base, [48, 64, 96, 128, 256], 65_536)
    assert [isinstance(design.front_of(size), type(few)) for size in design.sizes] == [False, True, False, True, False]


def test_more_classes_only_while_they_pay() -> None:
    few, many = some_histogram(), some_histogram()
    many.live[33:40] = 5000
    one, other = (best_sizes(of, Rules.of(DEFAULT), 65_536, 32_768, 48) for of in (few, many))
    assert isinstance(one, Sizes)
    assert isinstance(other, Sizes)
    assert len(one.sizes) < len(other.sizes) <= 48
    assert other.next_saves < other.class_bytes <= other.last_saves


def test_weights_are_whole_and_in_proportion() -> None:
    largest_price = PRICE_UNIT * 65_536
    weight, unit = request_weights(some_histogram(), 128, largest_price)
    assert int(weight.sum()) * largest_price < 1 << 62
    assert weight[0] == 0
    assert all(weight[1:] > 0)
    assert weight[9] / unit == pytest.approx(0.7 * 700 + 0.25 * 700, rel=1e-4)
    assert weight[10] / unit == pytest.approx(0.25 * 400, rel=1e-4)
    assert weight[100] / unit == pytest.approx(0.05 * 1000 * 30 / 40, rel=1e-4)
