"""Drafts: a size gets a class where that saves more memory than docs/tuning.md says of a class, and nowhere else."""

import numpy as np
import pytest

from heapsmith.model.constants import PAGE
from heapsmith.model.design.design import load
from heapsmith.model.search.draft import drafts
from heapsmith.model.search.size_classes import PRICE_UNIT, STEP, Histogram, block_price

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
    histogram = Histogram(live, live * DEFAULT.grain, live, live, 1 << 30, heaps, 10**9)
    (sizes,) = (
        draft.design.sizes
        for draft in drafts(DEFAULT, histogram, 250, "made")
        if (draft.design.slab_bytes, draft.design.sizes[-1]) == (DEFAULT.slab_bytes, DEFAULT.sizes[-1])
    )
    assert {*SAVES} & {*sizes} == {size for size, share in SAVES.items() if share > 1}
