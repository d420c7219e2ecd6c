"""Dispatch: by row no jump of malloc and free is mispredicted, by class most are where sizes alternate."""

import shutil

import pytest
from covering import soon

from heapsmith.bench.studies.dispatch import cost
from heapsmith.model.design.design import load
from heapsmith.model.design.plan import make_plan

ROWS = [("default", "stack", 2), ("sll", "table", 4)]
"""Designs, their dispatch, and its jumps by class."""


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
@pytest.mark.parametrize("row", soon(ROWS, ROWS[:1]), ids=lambda row: row[0])
def test_jumps_by_class_are_mispredicted_where_sizes_alternate(row: tuple[str, str, int]) -> None:
    design, dispatch, jumps = row
    assert make_plan(load(design)).dispatch == dispatch
    alike, mixed = (cost(form, design, operations=1000) for form in ("pair-32", "mixed"))
    assert (alike.jumps, mixed.jumps) == (pytest.approx(jumps, abs=0.1), pytest.approx(jumps, abs=0.1))
    assert alike.mispredicted < 0.1
    assert mixed.mispredicted > 1 if dispatch == "table" else mixed.mispredicted < 0.1
