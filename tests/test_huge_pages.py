"""Huge pages in the model: which blocks lie on them."""

from pathlib import Path

import msgspec
from traces import trace_of

from heapsmith.model.design.design import load
from heapsmith.model.memory.application import Application
from heapsmith.model.memory.hardware import load_hardware
from heapsmith.model.predict.simulate import simulate

DEFAULT = load("default")


def test_a_huge_block_lies_on_huge_pages_where_all_runs_do(tmp_path: Path) -> None:
    mib = 1 << 20
    trace = trace_of(tmp_path / "t.hst", [4 * mib])
    fields = [
        {"thp": "always"},
        {"thp_runs_from_bytes": 0},
        {"thp_runs_from_bytes": 2 * mib},
        {"thp": "never"},
    ]
    designs = [
        msgspec.structs.replace(DEFAULT, name=str(index), huge_bytes=2 * mib, **one) for index, one in enumerate(fields)
    ]
    hardware = msgspec.structs.replace(load_hardware(), zeroing_caches=False)  # plain Python would zero huge pages
    rows = simulate(trace, designs, hardware=hardware, application=Application(births="all")).rows
    assert [row.counters.totals["huge_map"] for row in rows] == [1] * 4
    huge = [row.touches.faults_2m for row in rows if row.touches]
    small = [row.touches.faults_4k for row in rows if row.touches]
    assert [frames >= 2 for frames in huge] == [True, True, False, False]
    assert [pages >= 4 * mib // 4096 for pages in small] == [False, False, True, True]


def test_runs_lie_on_huge_pages_where_the_program_fills_them(tmp_path: Path) -> None:
    """docs/machine-rooms.md, 'thp': from thp_runs_from_bytes on, if samples tell 7/8 of large blocks of each size."""
    mib = 1 << 20
    trace = trace_of(tmp_path / "t.hst", [mib] * 8)
    design = msgspec.structs.replace(DEFAULT, thp_runs_from_bytes=4 * mib)
    always = msgspec.structs.replace(DEFAULT, thp_runs_from_bytes=0)
    hardware = msgspec.structs.replace(load_hardware(), zeroing_caches=False)  # plain Python would zero huge pages
    frames, committed = [], set()
    for share, births in ((1.0, "all"), (0.875, "pages"), (0.87, "all"), (1.0, "ends")):
        program = Application(births=births, touched=(1.0, share, 1.0, 1.0))  # type: ignore[arg-type]
        first, second = simulate(trace, [design, always], hardware=hardware, application=program).rows
        assert first.touches is not None
        assert second.touches is not None
        frames.append((first.touches.faults_2m, second.touches.faults_2m))
        committed.add(first.counters.totals["committed"])
    assert frames == [(2, 4), (2, 4), (0, 4), (0, 4)]
    assert len(committed) == 1  # which no look changes


def test_a_class_with_a_region_of_its_own_fills_small_pages_first(tmp_path: Path) -> None:
    """docs/machine-rooms.md, 'thp': what other classes mapped in their regions is no evidence for this one."""
    blocks = [64 * at for at in range(1, 13)]
    traces = [trace_of(tmp_path / "one.hst", blocks), trace_of(tmp_path / "many.hst", [64] * 80_000)]
    fields = {"sizes": blocks, "thp_slabs_from_bytes": 1 << 21, "superslab_bytes": 1 << 21, "populate": "off"}
    span = msgspec.structs.replace(DEFAULT, name="span", **fields)
    regions = msgspec.structs.replace(span, name="regions", classifier="class_region", empties="dedicated")
    committed = [
        [row.counters.totals["committed_peak"] for row in simulate(trace, [span, regions]).rows] for trace in traces
    ]
    assert max(committed[0]) < 1 << 20
    assert committed[1][0] == committed[1][1] == 3 << 21  # one class: each superslab but the first is huge
