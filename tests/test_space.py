"""The space of the search: every row and number of the tables is in reach, legally, and nothing fixed changes."""

import random
import re
from itertools import permutations, product

import msgspec
import pytest
from covering import soon

from heapsmith.model import policy
from heapsmith.model.design.choices import row_of
from heapsmith.model.design.design import Design, builtin_names, load
from heapsmith.model.errors import Refusal
from heapsmith.model.search import space
from heapsmith.model.search.space import (
    FIXED,
    PAGES,
    PROCESSORS,
    crossed,
    drawn,
    free_numbers,
    neighbours,
    numbers_of,
    paged,
    steps,
)

pytestmark = pytest.mark.quick

DEFAULT = load("default")
SOME = ("default", "owner", "two-level", "region")


def of_base(name: str) -> Design:
    return msgspec.structs.replace(load(name), name="x", about="")


@pytest.mark.parametrize("name", soon(builtin_names(), SOME))
def test_neighbours_are_legal_and_keep_what_is_fixed(name: str) -> None:
    base = of_base(name)
    found = list(neighbours(base, base.sizes[:3], huge_pages=False))
    assert len({one.hash() for one in found} - {base.hash()}) > 60
    for one in found:
        assert one.why_not_valid() is None
        assert one.sizes == base.sizes
        for field in {*FIXED, *PAGES, *PROCESSORS, "grain", "slab_span_bytes", "run_span_bytes"}:
            assert getattr(one, field) == getattr(base, field)


def test_single_choices_lead_to_every_row_of_every_table() -> None:
    """Other fields follow where a row needs them; what needs certain sizes comes with a built-in design."""
    found = list(neighbours(DEFAULT, DEFAULT.sizes[:1], huge_pages=True, processors=True))
    for field in policy.NAMED:
        if field in FIXED:
            continue
        rows = {one.row(field).NAME for one in found} | {DEFAULT.row(field).NAME}
        if field == "front":
            rows |= {row_of(one.front_of(16)).NAME for one in found}
        priced = {row.NAME for row in policy.TABLES[field] if not hasattr(row, "UNPRICED")}
        assert priced - rows <= {"shift", "computed", "grouped", "owned_slab", "list_over", "bump_over"}, field
        assert rows <= priced, field


def test_policies_for_large_blocks_are_in_reach() -> None:
    found = list(neighbours(DEFAULT, DEFAULT.sizes[:1], huge_pages=True))
    for field in ("release", "run_cache_bytes", "huge_bytes", "huge_cache", "populate", "thp"):
        assert any(getattr(one, field) != getattr(DEFAULT, field) for one in found), field


def test_rows_of_pages_alone_and_together() -> None:
    found = [(one.row("release").NAME, one.thp) for one in paged(DEFAULT, huge_pages=True)]
    assert len(set(found)) == len(found) == 3 * 3 - 1
    assert {("keep", "grown"), ("budget", "system"), ("keep", "never")} <= set(found)
    kept = [(one.row("release").NAME, one.thp) for one in paged(DEFAULT, huge_pages=False)]
    assert kept == [("delay", "grown"), ("keep", "grown")]


@pytest.mark.slow
def test_a_refusal_is_a_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has the fields that its words name, the first at their begin."""
    design, seen = load("default"), set[str]()
    for field, other in permutations([name for name in policy.NAMED if name != "front"], 2):
        for value, beside in product(space.choices(field), space.choices(other)):
            refusal = msgspec.structs.replace(design, **{field: value, other: beside}).why_not_valid()
            if refusal is not None:
                assert {*refusal.fields} <= {*Design.__struct_fields__}
                assert re.match(r"\w+", refusal.words)[0] == refusal.fields[0]  # type: ignore[index]
                seen |= {*refusal.fields}
    assert len(seen) > 10

    released = design.release

    def refuse(design: Design) -> Refusal | None:
        return Refusal("remote and ownership: no.", ("release",)) if design.release == released else None

    monkeypatch.setattr(policy.row("foreign", "next"), "why_not_with", refuse, raising=False)
    found = space.legal(design, thp="never")
    assert found is not None
    assert msgspec.structs.replace(found, release=design.release, thp=design.thp) == design


def test_numbers_change_one_at_a_time() -> None:
    cached = msgspec.structs.replace(DEFAULT, run_cache_bytes=262_144)
    assert {0, 65_536, 1_048_576} <= {one.run_cache_bytes for one in neighbours(cached, [], huge_pages=False)}
    found = list(neighbours(DEFAULT, [], huge_pages=False))
    for name in free_numbers(huge_pages=False):
        values = {getattr(one, name) for one in found if getattr(one, name) != getattr(DEFAULT, name)}
        assert values, name
    release = {one.release for one in found if isinstance(one.release, type(DEFAULT.release))}
    assert {one.slab_budget_bytes for one in release} == {0, 1 << 18, 1 << 20, 1 << 22}  # type: ignore[attr-defined]


def test_steps_of_each_type() -> None:
    assert steps(100, 64, int) == [400, 25, 0]
    assert steps(0, 64, int) == [64]
    assert steps(1.5, 1.5, float) == [6.0, 0.375]
    assert steps(None, None, int | None) == []
    assert list(numbers_of("word")) == []


def test_draws_are_legal_repeat_and_differ() -> None:
    first, again = ([drawn(DEFAULT, random.Random(seed), huge_pages=False) for seed in range(12)] for _ in range(2))
    assert first == again
    assert len({one.hash() for one in first}) == 12
    assert all(one.why_not_valid() is None for one in first)


def test_a_mixture_takes_each_choice_from_one_of_two() -> None:
    one, other = of_base("default"), of_base("lean")
    found = [mixed for seed in range(20) if (mixed := crossed(one, other, random.Random(seed))) is not None]
    assert {mixed.hash() for mixed in found} - {one.hash(), other.hash()}
    for mixed in found:
        assert mixed.why_not_valid() is None
        for name in Design.__struct_fields__:
            assert getattr(mixed, name) in (getattr(one, name), getattr(other, name)), name
