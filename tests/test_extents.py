"""Extents of free runs against docs/machine-rooms.md, 'release': by hand, and in the library on long runs."""

from pathlib import Path
from typing import get_args

import msgspec
import pytest
from program import RUN, Program, plain_and_compiled
from traces import random_trace

from heapsmith.codegen.verify import verify
from heapsmith.model.design.design import load
from heapsmith.model.policy.release import budget as release_budget
from heapsmith.model.policy.release.common import Advice

pytestmark = pytest.mark.quick

PAGE = 4096
HUGE = 512
"""Pages of a huge page."""


def program(compiled: bool) -> Program:
    release = release_budget.Params(run_budget_bytes=HUGE * PAGE, most_budget_bytes=0)
    return Program(compiled, [16], huge_bytes=1 << 24, release=release)


def released_pages(case: Program) -> tuple[int, int]:
    releases, size = case.totals("releases", "released_bytes")
    return releases, size // PAGE


@pytest.mark.parametrize(
    ("low", "middle", "high", "pieces"),
    [
        (300, 3 * HUGE, 300, 2),
        (HUGE, HUGE + 1, 300, 2),
        (300, HUGE + 200, 300, 1),  # the second begins in the huge page after the first's
        (300, 2 * HUGE - 301, 300, 1),  # it begins with the last page of that
        (300, 2 * HUGE - 300, 300, 2),
    ],
)
@plain_and_compiled
def test_pages_go_back_in_pieces_of_huge_pages(compiled: bool, low: int, middle: int, high: int, pieces: int) -> None:
    case = program(compiled)
    for name, pages in zip("abcd", (low, middle, high, 1), strict=True):
        case.malloc(name, pages * PAGE)
    case.free("b")
    assert released_pages(case) == (1, middle)
    case.free("a")
    assert case.totals("committed") == ((low + high + 1) * PAGE,)
    case.free("c")  # together more than the budget, around the pages that went back before
    assert released_pages(case) == (1 + pieces, low + middle + high)
    assert case.totals("committed") == (PAGE,)


@plain_and_compiled
def test_a_run_takes_its_extents_from_the_low_end(compiled: bool) -> None:
    case = program(compiled)
    case.malloc("a b c d", 300 * PAGE)
    case.malloc("e", PAGE)
    case.free("b c")  # 600 pages: they go back
    assert released_pages(case) == (1, 600)
    case.free("a")
    assert case.malloc("f", 200 * PAGE) == RUN  # all committed
    assert case.totals("committed") == ((200 + 100 + 300 + 1) * PAGE,)
    case.free("d")
    assert case.malloc("g", 150 * PAGE) == RUN + 200  # 100 that are, 50 that are not
    assert case.totals("committed") == ((200 + 150 + 300 + 1) * PAGE,)
    assert case.malloc("h", 850 * PAGE) == RUN + 350  # the rest, of which 300 are
    assert case.totals("committed", "run_reuse") == ((200 + 1000 + 1) * PAGE, 3)
    assert released_pages(case) == (1, 600)


@pytest.mark.big
@pytest.mark.parametrize("advice", get_args(Advice))
def test_the_library_agrees_on_long_runs(advice: Advice, tmp_path: Path) -> None:
    release = release_budget.Params(run_budget_bytes=1 << 22, most_budget_bytes=0, advice=advice)
    design = msgspec.structs.replace(load("default"), release=release, run_cache_bytes=0, thp_runs_from_bytes=1 << 23)
    trace = random_trace(tmp_path / "long.hst", 1500, 3, max_size=8_000_000, live=30)
    report = verify(design, [trace], audit=False)
    assert report.ok, [run.difference for run in report.runs]
