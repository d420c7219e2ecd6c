"""Huge pages for tuned designs: what is tried, what first touches cost, and when they outweigh memory."""

from pathlib import Path

import msgspec
import pytest
from test_tune import BASES, DEFAULT, an_outcome, base_with
from traces import trace_of

from heapsmith.model.design.design import Design
from heapsmith.model.memory.application import Application
from heapsmith.model.memory.hardware import load_hardware
from heapsmith.model.policy.hardening import full as hardening_full
from heapsmith.model.predict.simulate import simulate
from heapsmith.model.search.huge_pages import HUGE_TOUCH_NS, TOUCH_NS, page_variants, touch_ns
from heapsmith.model.search.tune import tune


@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
def test_spans_on_huge_pages_are_legal_and_differ(base: Design) -> None:
    for thp, count in (("grown", 3), ("system", 1), ("never", 0), ("always", 0)):
        one = msgspec.structs.replace(base, thp=thp)
        made = page_variants(one)
        assert len({design.hash() for design in (one, *made)}) == 1 + len(made)
        assert len(made) == count
        for design in made:
            assert design.why_not_valid() is None
            assert (design.sizes, design.thp) == (base.sizes, "grown")
            assert 0 in (design.thp_slabs_from_bytes, design.thp_runs_from_bytes)


@pytest.mark.usefixtures("plain_model")
def test_a_huge_block_lies_on_huge_pages_where_all_runs_do(tmp_path: Path) -> None:
    mib = 1 << 20
    trace = trace_of(tmp_path / "t.hst", [4 * mib])
    fields = [
        {"thp": "always"},
        {"thp_runs_from_bytes": 0},
        {"thp_runs_from_bytes": 2 * mib},
        {"thp": "never"},
    ]
    designs = [base_with(name=str(index), huge_bytes=2 * mib, **one) for index, one in enumerate(fields)]
    hardware = msgspec.structs.replace(load_hardware(), zeroing_caches=False)  # plain Python would zero huge pages
    rows = simulate(trace, designs, hardware=hardware, application=Application(births="all")).rows
    assert [row.counters.totals["huge_map"] for row in rows] == [1] * 4
    huge = [row.touches.faults_2m for row in rows if row.touches]
    small = [row.touches.faults_4k for row in rows if row.touches]
    assert [frames >= 2 for frames in huge] == [True, True, False, False]
    assert [pages >= 4 * mib // 4096 for pages in small] == [False, False, True, True]


def test_first_touches_go_by_the_page_they_fall_on() -> None:
    mib = 1 << 20
    of = msgspec.structs.replace(an_outcome(24, 0.0), superslabs=5, run_span_bytes=13 * mib)  # 10 MiB of superslabs
    small = 24 * mib // 4096 * TOUCH_NS
    assert touch_ns(base_with(thp="never"), of) == small
    assert touch_ns(DEFAULT, of) == small
    runs = base_with(thp_runs_from_bytes=4 * mib)
    assert touch_ns(runs, of) == 14 * mib // 4096 * TOUCH_NS + 5 * HUGE_TOUCH_NS  # 14 MiB, less 4
    slabs = base_with(thp_slabs_from_bytes=0)
    assert touch_ns(slabs, of) == 14 * mib // 4096 * TOUCH_NS + 5 * HUGE_TOUCH_NS
    assert touch_ns(base_with(thp="always"), of) == 12 * HUGE_TOUCH_NS  # no more than was committed
    guarded = base_with(thp_slabs_from_bytes=0, hardening=hardening_full.Params())
    assert touch_ns(guarded, of) == small


def test_huge_pages_where_touches_cost_more_than_memory(tmp_path: Path) -> None:
    """Twenty runs of 1 MB, allocated and freed in 10 ms, lie on huge pages if they are said to be touched."""
    path = trace_of(tmp_path / "t.hst", [1_000_000] * 20, freed=True, event_ns=250_000)
    plain, dense = (tune(path, base=DEFAULT, huge_pages=huge, name="made") for huge in (False, True))
    assert (plain.design.thp, plain.design.thp_runs_from_bytes) == ("grown", DEFAULT.thp_runs_from_bytes)
    assert (dense.design.thp_runs_from_bytes, dense.kept_base) == (0, False)
    assert dense.reasons[0].field == "design"
    assert dense.reasons[-1].field == "thp"
    assert msgspec.structs.replace(dense.design, thp_runs_from_bytes=DEFAULT.thp_runs_from_bytes, about="") == (
        msgspec.structs.replace(plain.design, about="")
    )
    slow = trace_of(tmp_path / "slow.hst", [1_000_000] * 20, freed=True, event_ns=250_000_000)
    assert tune(slow, base=DEFAULT, huge_pages=True, name="made").design.thp_runs_from_bytes > 0
    little = trace_of(tmp_path / "little.hst", [40_000] * 3, freed=True, event_ns=250_000)
    assert tune(little, base=DEFAULT, huge_pages=True, name="made").design.thp_runs_from_bytes > 0
