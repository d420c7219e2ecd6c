"""Fronts: what dominates, the exact volume against a count of cells, gains, favour and limits."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heapsmith.model.errors import BadInput
from heapsmith.model.search.choice import WEIGHTS, Favour, Limits, chosen, parse_limits, scores, weights_of
from heapsmith.model.search.outcome import OBJECTIVES, Outcome
from heapsmith.model.search.pareto import Floats, Volume, hypervolume, nondominated, spread

pytestmark = pytest.mark.quick

CELLS = 5


def points_of(rows: list[tuple[int, ...]]) -> Floats:
    return np.array(rows, np.float64).reshape(len(rows), -1)


grids = st.integers(1, 4).flatmap(
    lambda n: st.lists(st.tuples(*[st.integers(0, CELLS + 1)] * n), min_size=1, max_size=9)
)


@settings(max_examples=80, deadline=None)
@given(grids)
def test_the_volume_is_a_count_of_cells(rows: list[tuple[int, ...]]) -> None:
    """Between whole numbers, the volume is the number of unit cells that some point dominates."""
    points = points_of(rows)
    count = sum(
        any(all(of <= at for of, at in zip(row, cell, strict=True)) for row in rows)
        for cell in product(range(CELLS), repeat=points.shape[1])
    )
    assert hypervolume(points, np.full(points.shape[1], float(CELLS))) == count


@settings(max_examples=60, deadline=None)
@given(grids)
def test_the_front_is_what_none_dominates(rows: list[tuple[int, ...]]) -> None:
    points = points_of(rows)
    kept = nondominated(points)
    for index, row in enumerate(rows):
        beaten = any(other != row and all(a <= b for a, b in zip(other, row, strict=True)) for other in rows)
        assert beaten == (row not in {rows[one] for one in kept})
        assert index not in kept or rows.index(row) == index
    reference = np.full(points.shape[1], float(CELLS))
    assert hypervolume(points[kept], reference) == hypervolume(points, reference)


def test_gains_are_shares_of_the_volume_that_is_left() -> None:
    points = np.array([[0.5, 0.5], [0.25, 0.75], [0.75, 0.25], [0.6, 0.6]])
    volume = Volume(np.zeros(2), np.ones(2), 1)
    assert volume.gains(points) == pytest.approx([0.25, 0.1875, 0.1875, 0.16], abs=0.02)
    volume.cover(points[[0]])
    assert volume.gains(points) == pytest.approx([0, 0.0625, 0.0625, 0], abs=0.02)
    assert list(spread(points, np.ones(2), 3)) in ([0, 1, 2], [0, 2, 1])


def test_weights_are_whole_and_favour_what_they_say() -> None:
    for weights in WEIGHTS.values():
        assert len(weights) == len(OBJECTIVES)
        assert sum(weights) == pytest.approx(1)
    points = np.array([[0.8, 1.0, 1.0, 1.0], [1.0, 0.82, 0.82, 0.82], [0.93, 0.9, 0.9, 0.9], [1.0, 1.0, 1.0, 1.0]])
    everything = np.full(4, np.inf)
    assert [chosen(points, everything, WEIGHTS[favour]) for favour in ("time", "memory", "balanced")] == [0, 1, 0]
    assert scores(points[[3]], WEIGHTS["balanced"]) == pytest.approx([1])
    assert chosen(points, Limits(time=1.0, rss=0.95).ratios([], []), WEIGHTS["time"]) == 2
    assert chosen(points, Limits(time=0.5).ratios([], []), WEIGHTS["time"]) is None


def test_limits_are_factors_or_bytes() -> None:
    assert parse_limits(None, None) == Limits()
    assert parse_limits("1.05x", "0.9x") == Limits(1.05, 0.9)
    assert parse_limits(None, "200M") == Limits(rss_bytes=200 << 20)
    assert parse_limits(None, "1.5G").rss_bytes == 3 << 29
    assert parse_limits(None, "200M", "2us") == Limits(rss_bytes=200 << 20, p999_ns=2000)
    assert parse_limits(None, None, "1.5ms").p999_ns == 1.5e6
    assert Limits(p999_ns=2000).allow_p999([900, 2000])
    assert not Limits(p999_ns=2000).allow_p999([900, 2001])
    assert Limits(time=1.0).ratios([], [])[1] == 1.01


@pytest.mark.parametrize(("share", "most"), [(0.5, 1.01), (0.1, 1.02), (0.001, 1.05)])
def test_time_may_grow_more_where_malloc_is_little_of_the_run(share: float, most: float) -> None:
    known = {"design": "x", "hash": "", "allocator_ns_per_op": 10.0, "operations": 100, "run_ns": int(1000 / share)}
    base = Outcome(**{field: 0 for field in Outcome.__struct_fields__} | known)
    assert Limits().ratios([base], [1.0])[0] == pytest.approx(most)


@pytest.mark.parametrize(
    ("favour", "most"), [("balanced", [1.01, 1.01]), ("time", [1.01, 1.05]), ("memory", [1.05, 1.01])]
)
def test_a_favour_may_pay_with_what_it_does_not_want(favour: Favour, most: list[float]) -> None:
    base = Outcome(**{field: 0 for field in Outcome.__struct_fields__} | {"design": "x", "hash": ""})
    found = Limits().ratios([base], [1.0], favour)
    assert found[:3].tolist() == [*most, most[1]]
    assert Limits(time=0.9, rss=0.8).ratios([base], [1.0], favour)[:2].tolist() == [0.9, 0.8]


def test_balanced_counts_time_as_a_part_of_the_run() -> None:
    """Time weighs four fifths of the usual where malloc is a fifth of the run, and the rest in proportion."""
    known = {"design": "x", "hash": "", "allocator_ns_per_op": 10.0, "operations": 100}
    untimed, of_a_fifth, too_short, rare = (
        Outcome(**{field: 0 for field in Outcome.__struct_fields__} | known | {"run_ns": ns})
        for ns in (0, 5000, 100, 40_000)
    )
    for favour, usual in WEIGHTS.items():
        assert weights_of(favour, [untimed], [1.0]) == pytest.approx(usual)
    assert weights_of("time", [of_a_fifth], [1.0]) == pytest.approx(WEIGHTS["time"])
    assert weights_of("balanced", [of_a_fifth], [1.0]) * 0.9 == pytest.approx([0.4, 0.25, 0.24, 0.01])
    assert weights_of("balanced", [of_a_fifth, untimed], [3.0, 1.0]) * 0.925 == pytest.approx([0.425, 0.25, 0.24, 0.01])
    assert weights_of("memory", [too_short], [1.0])[0] == pytest.approx(0.2)
    assert weights_of("memory", [rare], [1.0]) * 0.82 == pytest.approx([0.02, 0.4, 0.38, 0.02])


@pytest.mark.parametrize(
    ("time", "rss", "message"),
    [
        ("fast", None, r"max time: 'fast'; expected a factor of the base's \('1.05x'\)"),
        ("0x", None, "max time: '0x'"),
        ("1.0", None, "max time: '1.0'"),
        (None, "0M", "max rss: 0M is no memory"),
        (None, "-1x", r"max rss: '-1x'; expected bytes \('200M'\) or a factor"),
        (None, "200T", "max rss: '200T'"),
    ],
)
def test_limits_that_are_none(time: str | None, rss: str | None, message: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=message):
        parse_limits(time, rss)
