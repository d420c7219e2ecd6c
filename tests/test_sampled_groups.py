"""A profile of many call stacks: each group has its own samples, which are not sought among all of them."""

import numpy as np
import pytest

from heapsmith.tools.sampled.profile import Compared, Grouped, profile
from heapsmith.tools.sampled.snapshot import SAMPLE, SITE, Snapshot
from heapsmith.tools.sites.grouping import Spot

pytestmark = pytest.mark.quick
GROUPS, SITES, SAMPLES, MEAN = 40, 200, 900, 512


def look(seed: int, sites: int, time_ns: int) -> Snapshot:
    """A look at a process; the samples and sites of an earlier one are among those of a later one."""
    draw = np.random.default_rng(seed)
    samples, table = np.zeros(SAMPLES, SAMPLE), np.zeros(sites, SITE)
    samples["block"], samples["number"] = np.arange(1, SAMPLES + 1) * 64, np.arange(SAMPLES)
    samples["bytes"], samples["mean"], samples["site"] = draw.integers(1, 5000, SAMPLES), MEAN, 0
    samples["site"] = draw.integers(0, sites, SAMPLES)
    table["samples"], table["sampled_bytes"] = 3, draw.integers(1, 9999, sites)
    table["allocated"]["blocks"], table["allocated"]["bytes"] = 9, draw.integers(10_000, 99_999, sites)
    return Snapshot(1, "d", time_ns, MEAN, SAMPLES, 0, 0, samples[draw.random(SAMPLES) < 0.7], table, "")


@pytest.mark.parametrize("has_first", [False, True])
def test_each_group_has_the_figures_of_its_own_samples(has_first: bool) -> None:
    """As those of a profile in which nothing else is."""
    last, first = look(1, SITES, 9), look(2, SITES // 2, 5) if has_first else None
    number = np.random.default_rng(3).integers(0, GROUPS, SITES)
    paths = [(Spot(f"f{one}", f"l{one}", "m"),) for one in range(GROUPS)]
    rows = {row.name: row for row in profile(Compared(last, first, Grouped("path", paths, number, []))).rows}
    assert len(rows) == GROUPS
    for group, path in enumerate(paths):
        alone = [
            one._replace(samples=one.samples[number[one.samples["site"]] == group], sites=one.sites.copy())
            for one in (last, first)
            if one
        ]
        for one in alone:
            one.sites[number[: len(one.sites)] != group] = np.zeros((), SITE)
        expected = profile(Compared(alone[0], alone[1] if has_first else None, Grouped("path", [path], number * 0, [])))
        found = rows[f"{path[0].name}"]
        assert found.samples == expected.rows[0].samples
        for field in ("live_bytes", "live_blocks", "allocated_bytes", *(["growth_bytes"] if has_first else [])):
            assert getattr(found, field).value == pytest.approx(getattr(expected.rows[0], field).value), field


def test_no_group_looks_through_all_rows() -> None:
    """What the groups read is each row once, in place."""
    last, number = look(1, SITES, 9), np.arange(SITES) % GROUPS
    compared = Compared(last, None, Grouped("path", [()] * GROUPS, number, []))
    for tables, rows in ((compared._samples, last.samples), (compared._sites, last.sites)):
        parts = [tables[0].of(group) for group in range(GROUPS)]
        assert sum(map(len, parts)) == len(rows)
        assert all(part.base is parts[0].base is not None for part in parts)
