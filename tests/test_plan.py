"""Plans: the numbers that follow from a design, each held against its definition."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from heapsmith.model.design.class_plan import RECIPROCAL_SHIFT, reciprocal
from heapsmith.model.design.design import Design, builtin_names, load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.policy.front import two_level as front_two_level
from heapsmith.model.policy.hardening import checks as hardening_checks
from heapsmith.model.policy.hardening import full as hardening_full
from heapsmith.model.policy.hardening import off as hardening_off
from heapsmith.model.policy.lookup import computed as lookup_computed
from heapsmith.model.policy.lookup import shared_table as lookup_shared
from heapsmith.model.policy.release import budget as release_budget
from heapsmith.model.policy.release import keep as release_keep
from heapsmith.model.policy.rounding import larger as rounding_larger

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("name", builtin_names())
def test_every_small_size_has_the_first_class_that_holds_it(name: str) -> None:
    plan = make_plan(load(name))
    for size in range(plan.small_limit + 1):
        row = plan.classes[plan.size_class[(size + plan.bias + plan.grain - 1) // plan.grain]]
        assert row.usable >= size
        assert row.index == 0 or plan.classes[row.index - 1].usable < size
        assert size == 0 or row.smallest_request <= size <= row.smallest_request + row.worst_internal_bytes


def computed(size: int, bias: int, first: int, steps: int) -> int:
    """The class of docs/machine-rooms.md, 'lookup', computed."""
    last = max(size + bias, 1) - 1
    log2 = max(last, first * steps).bit_length() - 1
    return (log2 - (first * steps).bit_length() + 1) * steps + (last >> (log2 - steps.bit_length() + 1))


@pytest.mark.parametrize(("first", "steps", "header"), [(16, 4, False), (32, 1, True), (32, 2, False), (16, 8, False)])
def test_a_size_lookup_changes_no_class(first: int, steps: int, header: bool) -> None:
    sizes = [lookup_computed.size_of(first, steps, index) for index in range(20)]
    assert sizes[: 2 * steps] == [first * (1 + index) for index in range(2 * steps)][:20]
    small = {"sizes": [size for size in sizes if size <= 32_768], "classifier": "header" if header else "slab_map"}
    looked_up = make_plan(Design("x", **small))
    plans = [
        make_plan(Design("x", **small, size_lookup=lookup))
        for lookup in (lookup_computed.Params(steps), lookup_shared.Params(first))
    ]
    assert [plan.size_class for plan in plans] == [looked_up.size_class] * 2
    assert plans[0].size_table == []
    assert plans[0].direct_limit == plans[1].direct_limit == 0
    size_table = plans[1].size_table
    for size in range(looked_up.small_limit + 1):
        cls = looked_up.size_class[-(-(size + looked_up.bias) // looked_up.grain)]
        assert computed(size, looked_up.bias, first, steps) == cls
        assert size_table[-(-(size + looked_up.bias) // first)] == cls


@pytest.mark.parametrize("name", builtin_names())
def test_blocks_fit_their_slab_and_slots_their_heap(name: str) -> None:
    plan = make_plan(load(name))
    for row in plan.classes:
        payload_end = row.first + (row.blocks - 1) * row.stride + row.usable
        assert payload_end + plan.tail_bytes <= plan.slab_bytes < payload_end + row.stride + plan.header_bytes + 15
        assert row.usable + plan.bias == row.stride
        assert row.bitmap_words * 64 >= row.blocks or plan.design.freed_blocks
        assert row.list_base == row.slot_base + row.room
    last = plan.classes[-1]
    assert plan.slots_per_heap == last.list_base + last.front.slots_below + last.front.guard_slots


def test_hardening_in_numbers() -> None:
    off, checks, full = (
        make_plan(Design("x", [48, 64], hardening=hardening))
        for hardening in (hardening_off.Params(), hardening_checks.Params(), hardening_full.Params(quarantine=5))
    )
    assert (off.tail_bytes, off.guard_slabs, off.quarantine, off.encode_links) == (0, 0, 0, 0)
    assert (checks.tail_bytes, checks.guard_slabs, checks.quarantine, checks.encode_links) == (0, 0, 0, 1)
    assert (full.tail_bytes, full.guard_slabs, full.quarantine, full.encode_links) == (8, 1, 5, 1)
    assert [row.usable for row in full.classes] == [40, 56]
    assert [row.smallest_request for row in full.classes] == [1, 41]
    assert full.small_limit == 56
    assert [plan.hardening for plan in (off, checks, full)] == ["off", "checks", "full"]


@pytest.mark.parametrize(
    ("fields", "guard_slabs"),
    [
        ({"superslab_bytes": 65_536}, 0),
        ({"superslab_bytes": 131_072}, 1),
        ({"thp": "always"}, 0),
        ({"thp": "grown"}, 1),
        ({"thp": "never"}, 1),
    ],
)
def test_a_guard_slab_needs_another_slab_and_no_huge_page(fields: dict[str, Any], guard_slabs: int) -> None:
    assert make_plan(Design("x", [16], hardening=hardening_full.Params(), **fields)).guard_slabs == guard_slabs


def test_full_hardening_with_a_header() -> None:
    plan = make_plan(Design("x", [32, 48], classifier="header", hardening=hardening_full.Params()))
    assert (plan.header_bytes, plan.tail_bytes, plan.bias) == (8, 8, 16)
    assert [(row.first, row.usable) for row in plan.classes] == [(16, 16), (16, 32)]
    assert plan.size_class == [0, 0, 0, 1]  # by (request + 31) / 16


def test_release_and_spans() -> None:
    plan = make_plan(Design("x", [16], release=release_budget.Params(10, 20, 30, "free"), run_cache_bytes=8192))
    assert (plan.slab_budget_bytes, plan.run_budget_bytes, plan.most_budget_bytes) == (10, 20, 30)
    assert plan.release_lazily == 1
    assert plan.numbers["run_cache_bytes"] == 8192
    assert (plan.regions, plan.region_bytes, plan.slab_span_bytes) == (1, 1 << 38, 1 << 38)
    assert plan.slab_classes_bytes == plan.span_slabs == 1 << 22
    region = Design("x", [16, 32, 48], classifier="class_region", empties="dedicated", release=release_keep.Params())
    plan = make_plan(region)
    assert (plan.regions, plan.region_bytes, plan.slab_span_bytes) == (3, 1 << 36, 3 << 36)
    assert plan.slab_classes_bytes == 0
    assert make_plan(region).release_lazily == 0


@pytest.mark.thorough
@given(st.integers(1, 1 << 18), st.integers(0, (1 << 21) - 1))
@settings(max_examples=2000)
@pytest.mark.slow
def test_the_reciprocal_divides(eighths: int, offset: int) -> None:
    stride = eighths * 8
    assert (offset * reciprocal(stride)) >> RECIPROCAL_SHIFT == offset // stride


@pytest.mark.slow
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


@pytest.mark.parametrize("factor", [1, 1.25, 1.5, 2])
def test_classes_at_most_the_factor_larger_lend(factor: float) -> None:
    sizes = [16, 32, 48, 64, 80, 96, 112, 128, 160, 8192, 12_288]
    design = replace(load("rounding"), sizes=sizes, rounding=rounding_larger.Params(factor=factor))
    for size, found in zip(sizes, rounding_larger.class_numbers(design), strict=True):
        assert found["lend_end"] == sum(other <= factor * size for other in sizes)
        assert found["lend_mask"] + 1 == min(size & -size, 4096)
