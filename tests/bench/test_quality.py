"""Validation: errors and rankings of predictions, against scipy where its tau says the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from heapsmith.bench.validate.quality import Comparison, qualities, signs, tau_of
from heapsmith.model.design.design import changed, load


def _cells(pairs: list[tuple[float, float]], spread: float = 0.0, trace: str = "t") -> list[Comparison]:
    return [Comparison(trace, f"d{i}", "ns", p, m, spread) for i, (p, m) in enumerate(pairs)]


@given(st.lists(st.integers(1, 10**6), min_size=2, max_size=20, unique=True), st.randoms(use_true_random=False))
def test_without_ties_it_is_kendalls(measured: list[int], random: object) -> None:
    predicted = list(measured)
    random.shuffle(predicted)  # type: ignore[attr-defined]
    expected = kendalltau(predicted, measured).statistic
    assert tau_of(_cells(list(zip(predicted, measured, strict=True)))) == pytest.approx(expected)


def test_pairs_within_the_spread_do_not_count() -> None:
    order = [(2.0, 100.0), (1.0, 104.0), (3.0, 200.0)]
    assert tau_of(_cells(order)) == pytest.approx(1 / 3)
    assert tau_of(_cells(order, spread=0.1)) == 1  # 100 and 104 are one
    assert tau_of(_cells(order, spread=9)) is None


def test_quality_by_quantity_and_trace() -> None:
    good, bad = [(1.0, 1.0), (2.0, 2.0), (3.0, 3.0)], [(3.0, 1.0), (2.0, 2.0), (1.0, 3.0)]
    cells = _cells(good, trace="a") + _cells(bad, trace="b") + [Comparison("a", "d", "RSS", 5, 4)]
    ns, rss = qualities(cells)
    assert (ns.quantity, ns.cells, ns.tau, ns.least_tau) == ("ns", 6, 0, -1)
    assert ns.worst[0].trace == "b"
    assert (rss.quantity, rss.tau, rss.errors.median) == ("RSS", None, 0.25)


def test_signs_of_changes_of_one_field() -> None:
    base = load("default")
    lean = changed(base, "lean", {"slab_choice": "scan"})
    other = changed(base, "other", {"slab_choice": "address_ordered"})
    both = changed(base, "both", {"slab_choice": "scan", "transfer_bytes": 0})
    times = {
        "default": (10.0, 10.0, 0.02),
        "lean": (11.0, 12.0, 0.02),
        "other": (9.0, 10.2, 0.0),
        "both": (9.0, 8.0, 0.3),
    }
    cells = [Comparison("t", name, "ns", *figures) for name, figures in times.items()]
    found = {(one.base, one.design): one for one in signs(cells, [base, lean, other, both], ("ns",))}
    assert set(found) == {("default", "lean"), ("lean", "other"), ("lean", "both")}  # 2 % is no clear effect
    assert [one.field for one in found.values()] == ["slab_choice", "slab_choice", "transfer_bytes"]
    assert [(one.is_clear, one.is_right) for one in found.values()] == [(True, True), (True, True), (True, True)]
    assert found["default", "lean"].measured == pytest.approx(1.2)
    noisy = [*cells[:1], Comparison("t", "lean", "ns", 9.0, 12.0, 0.5)]
    [one] = signs(noisy, [base, lean], ("ns",))
    assert (one.is_clear, one.is_right) == (False, False)
    assert not list(signs(cells, [base, lean], ("other",)))
