"""Outcomes: giving pages back takes time, by the call and by the page, so a design that keeps them is preferred."""

from pathlib import Path

import msgspec
import numpy as np
import pytest
from traces import trace_of

from heapsmith.model.constants import PAGE
from heapsmith.model.design.design import load
from heapsmith.model.policy.release import budget as release_budget
from heapsmith.model.policy.release import keep as release_keep
from heapsmith.model.search.outcome import Outcome, best, outcomes
from heapsmith.model.search.size_classes import Histogram

AT_ONCE = release_budget.Params(slab_budget_bytes=0, run_budget_bytes=0, most_budget_bytes=0)
KEEPS = msgspec.structs.replace(load("default"), name="keeps", run_cache_bytes=0, release=release_keep.Params())
GIVES_BACK = msgspec.structs.replace(KEEPS, name="gives-back", release=AT_ONCE)
NO_REQUESTS = Histogram(*(np.zeros(1, np.int64) for _ in range(4)), 0, heaps=1, run_ns=10**9)


def compared(path: Path, blocks: int, pages: int) -> tuple[Outcome, Outcome]:
    """Large blocks are allocated and freed, under a design that keeps their pages and under one that does not."""
    trace = trace_of(path / f"{blocks}-{pages}.hst", [pages * PAGE] * blocks, freed=True)
    keeps, gives_back = outcomes(trace, [KEEPS, GIVES_BACK], NO_REQUESTS, None, "")
    return keeps, gives_back


@pytest.mark.parametrize(("blocks", "pages"), [(64, 16), (1, 1024), (1, 16)])
def test_of_equal_memory_the_design_that_keeps_its_pages_is_better(tmp_path: Path, blocks: int, pages: int) -> None:
    keeps, gives_back = compared(tmp_path, blocks, pages)
    assert keeps.committed_peak == gives_back.committed_peak
    assert best(gives_back, [keeps]) == 0
    assert best(keeps, [gives_back]) is None


def test_both_calls_and_pages_take_time(tmp_path: Path) -> None:
    """The same pages cost more in more calls, and the same calls cost more for more pages."""

    def slower(blocks: int, pages: int) -> float:
        keeps, gives_back = compared(tmp_path, blocks, pages)
        assert gives_back.slow_operations > keeps.slow_operations
        return gives_back.slow_share - keeps.slow_share

    assert slower(64, 16) > slower(1, 1024) > slower(1, 16) > 0
