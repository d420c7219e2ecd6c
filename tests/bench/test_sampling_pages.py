"""The tables of docs/lab/sampling.md on pins and on costs are those of their data, and wrong intervals are noticed."""

import msgspec
import numpy as np
import pytest

from heapsmith.bench.studies import pinned, sampling_cost
from heapsmith.bench.studies.pinned import Live
from heapsmith.bench.studies.sampling import PAGE
from heapsmith.tools.sampled import estimates


def heap(seed: int = 4) -> Live:
    """Two classes of 200 slabs each, whose blocks are of three sites; one of these has sparse slabs alone."""
    draw = np.random.default_rng(seed)
    count = 20_000
    size_class = draw.integers(0, 2, count)
    slab = size_class * 200 + draw.integers(0, 150, count)
    site = draw.integers(0, 2, count)
    sparse = draw.random(count) < 0.02
    slab[sparse], site[sparse] = size_class[sparse] * 200 + draw.integers(150, 200, int(sparse.sum())), 2
    stride = np.where(size_class == 0, 512, 640)
    return Live(site, size_class, slab, stride, stride - 8, np.full(400, 65_536))


def test_each_interval_of_a_site_holds_what_it_keeps() -> None:
    row = pinned.row("drawn", [heap()], range(10))
    assert pinned.faults([row]) == []
    assert row.pairs >= 40
    assert 0.1 < row.misplaced[0] < 0.9  # an even spread is wrong here


def test_intervals_without_the_place_of_blocks_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bounds of an even spread: the sparse site keeps more."""

    def even(slabs: pinned.Slabs, low: float, value: float, high: float) -> estimates.Estimate:
        each = float(slabs.unused.sum() / slabs.live.sum())
        return estimates.Estimate(each * value, each * low, each * high)

    monkeypatch.setattr(pinned.Slabs, "kept", even)
    assert (
        "intervals hold the truth; expected 95% at least"
        in pinned.faults([pinned.row("drawn", [heap()], range(10))]).pop()
    )


def test_the_table_of_pins_is_that_of_its_data() -> None:
    report = msgspec.json.decode(pinned.DATA.read_bytes(), type=pinned.Report)
    assert pinned.faults(report.rows) == []
    assert {one.program for one in report.rows} == set(pinned.NAMES)
    page = PAGE.read_text()
    assert pinned.made(report, page) == page
    assert pinned.made(msgspec.structs.replace(report, rows=report.rows[1:]), page) != page


def test_the_table_of_costs_is_that_of_its_data() -> None:
    report = msgspec.json.decode(sampling_cost.DATA.read_bytes(), type=sampling_cost.Report)
    assert {(one.program, one.arm) for one in report.rows} == {
        (program, arm) for program in sampling_cost.NAMES for arm in sampling_cost.ARMS
    }
    page = PAGE.read_text()
    assert sampling_cost.made(report, page) == page
    assert sampling_cost.made(sampling_cost.Report(report.rows[::-1]), page) != page
