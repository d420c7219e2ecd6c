"""Plans: the numbers that follow from a design, each held against its definition."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heapsmith.model.design import Design, builtin_names, load
from heapsmith.model.plan import RECIPROCAL_SHIFT, make_plan, reciprocal
from heapsmith.model.policy import front_two_level


@pytest.mark.parametrize("name", builtin_names())
def test_every_small_size_has_the_first_class_that_holds_it(name: str) -> None:
    plan = make_plan(load(name))
    for size in range(plan.small_limit + 1):
        row = plan.classes[plan.size_class[(size + plan.bias + plan.grain - 1) // plan.grain]]
        assert row.usable >= size
        assert row.index == 0 or plan.classes[row.index - 1].usable < size
        assert size == 0 or row.smallest_request <= size <= row.smallest_request + row.worst_internal_bytes


@pytest.mark.parametrize("name", builtin_names())
def test_blocks_fit_their_slab_and_slots_their_heap(name: str) -> None:
    plan = make_plan(load(name))
    for row in plan.classes:
        payload_end = row.first + (row.blocks - 1) * row.stride + row.usable
        assert payload_end <= plan.slab_bytes < payload_end + row.stride + plan.header_bytes
        assert row.bitmap_words * 64 >= row.blocks
        assert row.list_base == row.slot_base + row.front.capacity
    assert plan.slots_per_heap == plan.classes[-1].list_base + plan.classes[-1].front.list_capacity


@given(st.integers(1, 1 << 18), st.integers(0, (1 << 21) - 1))
@settings(max_examples=2000)
def test_the_reciprocal_divides(eighths: int, offset: int) -> None:
    stride = eighths * 8
    assert (offset * reciprocal(stride)) >> RECIPROCAL_SHIFT == offset // stride


def test_the_reciprocal_divides_where_it_is_hardest() -> None:
    for stride in range(8, 1 << 16, 8):
        multiplier = reciprocal(stride)
        for offset in range(stride - 1, 1 << 21, max(stride, 1 << 14)):
            edge = offset - offset % stride
            for near in (edge - 1, edge, edge + stride - 1):
                if 0 <= near < 1 << 21:
                    assert (near * multiplier) >> RECIPROCAL_SHIFT == near // stride


def test_a_byte_bound_holds_and_a_spill_fits_after_a_flush() -> None:
    design = Design("x", [16, 4096, 32768], front=front_two_level.Params())
    for row in make_plan(design).classes:
        front = row.front
        assert front.capacity == 1 or front.capacity * row.stride <= 65_536
        assert front.spill <= front.flush <= front.list_capacity
        assert front.promote <= front.capacity
        assert front.refill <= front.capacity
