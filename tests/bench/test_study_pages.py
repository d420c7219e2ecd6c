"""Pages made of the figures of studies: each part is that of its file, has all rows, and other figures are noticed."""

from pathlib import Path
from statistics import geometric_mean, median
from types import ModuleType
from typing import Any

import msgspec
import pytest

from heapsmith.bench.studies import (
    as_set,
    by_size,
    from_profile,
    lifetimes,
    newer_glibc,
    pinned,
    public_suite,
    real_programs,
    recording_bytes,
    recording_floor,
    results,
    sampling,
    sampling_cost,
    services,
    sized_free,
)
from heapsmith.bench.suite.results import BenchReport
from heapsmith.model.errors import CheckFailed
from heapsmith.model.policy.sampling import common
from heapsmith.tools.peers.peers import AS_SET, PEERS

KINDS = {
    as_set: as_set.Data,
    lifetimes: lifetimes.Data,
    newer_glibc: newer_glibc.Data,
    sampling: sampling.Report,
    sampling_cost: sampling_cost.Report,
    pinned: pinned.Report,
    from_profile: from_profile.Report,
    public_suite: public_suite.Data,
    real_programs: BenchReport,
    recording_bytes: recording_bytes.Report,
    recording_floor: recording_floor.Report,
    results: BenchReport,
    services: services.Report,
    sized_free: sized_free.Report,
}


def figures(study: ModuleType) -> Any:
    return study.PART.read(KINDS[study])


@pytest.mark.parametrize("study", KINDS, ids=lambda study: study.PART.script.stem)
def test_the_page_is_that_of_its_figures(study: ModuleType, tmp_path: Path) -> None:
    of = figures(study)
    study.PART.put(study.made(of), check=True)
    less = study.made(msgspec.structs.replace(of, rows=of.rows[:-1]))
    with pytest.raises(CheckFailed, match=f"its table is not that of {study.PART.script.stem}; run bench.studies"):
        study.PART.put(less, check=True)
    copy = study.PART._replace(page=tmp_path / "page.md")
    copy.page.write_text(study.PART.page.read_text())
    copy.put(less)
    copy.put(less, check=True)
    copy.put(study.made(of))
    assert copy.page.read_text() == study.PART.page.read_text()


@pytest.mark.parametrize("study", [as_set, by_size, lifetimes, newer_glibc])
def test_a_check_measures_nothing(study: ModuleType) -> None:
    assert study.main(check=True) == 0


def test_the_figures_have_all_rows() -> None:
    assert set(as_set.COLUMNS) <= AS_SET.keys() | PEERS.keys()
    assert len(figures(newer_glibc).rows) >= 6
    assert {one.program for one in figures(newer_glibc).rows} <= {*newer_glibc.NAMES}
    assert tuple(one.row for one in figures(lifetimes).rows) == lifetimes.ROWS
    assert len({one.benchmark for one in figures(public_suite).rows if one.procs == 2}) >= 12
    assert len({one.program for one in figures(sampling).rows}) >= 20
    assert {one.program for one in figures(pinned).rows} == {*pinned.NAMES}
    assert {(one.program, one.arm) for one in figures(sampling_cost).rows} == {
        (program, arm) for program in sampling_cost.NAMES for arm in sampling_cost.ARMS
    }
    assert {one.program for one in figures(sampling_cost).samples} == {*sampling_cost.NAMES}
    assert round(median(one.each for one in figures(sampling_cost).samples), -2) == common.TAKEN
    assert {round(one.free_sized - one.trusting_free) for one in figures(sized_free).rows} == {3}  # as the prose says
    assert {(one.program, one.way) for one in figures(from_profile).rows} == {
        (program, way) for program in from_profile.NAMES for way in from_profile.WAYS
    }


@pytest.mark.parametrize("study", [sampling, pinned])
def test_the_figures_have_no_faults(study: ModuleType) -> None:
    assert study.faults(figures(study).rows) == []


def test_the_text_on_the_bytes_of_traces_has_the_figures() -> None:
    rows = figures(recording_bytes).rows
    shares = [100 * one.part(recording_bytes.SHARED) / one.heaptrack_bytes for one in rows]
    longer = [one.program for one in rows if one.part(("block", "time_ns")) > one.heaptrack_bytes]
    assert (len(rows), len(longer)) == (9, 6)
    page = " ".join(recording_bytes.PART.page.read_text().split())
    assert f"takes {min(shares):.0f} to {max(shares):.0f} % of its bytes in each of the nine" in page
    assert "more than all of heaptrack's file in six of the nine" in page


def mean_peak(malloc: str, procs: int = 2, least_kib: float = 0) -> str:
    """A malloc's geometric mean of peaks in the public suite, as the prose of pages has it."""
    rows = [row for row in figures(public_suite).rows if row.procs == procs]
    parts = [row.part(malloc) for row in rows if row.under["glibc"].peak_kib >= least_kib]
    return f"{geometric_mean(parts):.2f}".removeprefix("0")


def test_the_text_on_mimalloc_3_has_the_figures() -> None:
    page = " ".join(public_suite.PART.page.read_text().split())
    plain, small, neither = "mimalloc3", "mimalloc3, no huge pages", "mimalloc3, neither"
    large = public_suite.LARGE_KIB
    for said in (
        f"Here it takes {mean_peak(plain)} of the peaks of this suite",
        f"the mean falls from {mean_peak(plain)} to {mean_peak(small)}",
        f"the mean is {mean_peak(plain, 2, large)}, and {mean_peak(small, 2, large)} without huge pages",
        f"the means are {mean_peak(neither)} of all and {mean_peak(neither, 2, large)} of the large",
        f"takes {mean_peak(plain, 16)} of its peak, {mean_peak(small, 16)} without huge pages, and "
        f"{mean_peak(neither, 16)} without the delay too",
    ):
        assert said in page
