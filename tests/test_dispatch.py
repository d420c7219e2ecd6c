"""Dispatch: by row no jump of malloc and free is mispredicted, by class most are where sizes alternate."""

import shutil

import pytest
from covering import soon

from heapsmith.bench.studies.dispatch import DESIGNS, PAGE, TABLE, code_bytes, cost
from heapsmith.codegen.claims import straight
from heapsmith.model.design.design import changed, load
from heapsmith.model.design.plan import make_plan

ROWS = [("default", "stack", 2), ("by-class", "table", 4), ("sll", "table", 4)]
"""Designs, their dispatch, and its jumps by class."""


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
@pytest.mark.parametrize("row", soon(ROWS, ROWS[:2]), ids=lambda row: row[0])
def test_jumps_by_class_are_mispredicted_where_sizes_alternate(row: tuple[str, str, int]) -> None:
    design, dispatch, jumps = row
    assert make_plan(load(design)).dispatch == dispatch
    alike, mixed = (cost(form, load(design), operations=2000) for form in ("pair-32", "mixed"))
    assert (alike.jumps, mixed.jumps) == (pytest.approx(jumps, abs=0.1), pytest.approx(jumps, abs=0.1))
    assert alike.mispredicted < 0.1
    assert mixed.mispredicted > 1 if dispatch == "table" else mixed.mispredicted < 0.1


@pytest.mark.thorough
def test_the_page_has_the_table_and_the_bytes_of_code() -> None:
    """Each class has functions of its own by class alone, so its code is many times as long."""
    by_row, by_class, *_ = map(code_bytes, DESIGNS.values())
    assert by_class > 10 * by_row
    found = TABLE.search(PAGE.read_text())
    assert found
    assert all(design in found[0] for design in DESIGNS)


def test_a_dispatch_is_the_fronts_unless_it_is_stated() -> None:
    for name, stated, dispatch in (
        *((name, stated, "stack") for name in ("default", "two-level") for stated in (None, "row")),
        *((name, "class", "table") for name in ("default", "two-level", "lean")),
        ("lean", None, "table"),
        ("bare", None, "table"),
        ("processor", "row", "restartable"),
    ):
        plan = make_plan(changed(load(name), "stated", {"dispatch": stated}))
        assert plan.dispatch == dispatch, (name, stated)
        assert len(straight(plan)) == (plan.class_count if dispatch == "table" and name != "bare" else 0)
