"""The policy tables: every row is whole, reached by its code, and used by a built-in design."""

import inspect
import re
from types import ModuleType

import pytest
from covering import covering_designs, legal_pairs, pairs_of

from heapsmith.model import policy
from heapsmith.model.compile.kernel import _KERNELS
from heapsmith.model.design.design import builtin_names, load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.policy import dispatch, lines

TABLES = {
    "front": (policy.FRONTS, ("Params", "why_not_valid", "derive", "push")),
    "classifier": (policy.CLASSIFIERS, ("superslab_place", "HEADER_BYTES")),
    "slab_choice": (policy.SLAB_CHOICES, ("gives", "add", "remove", "lets_go")),
    "empties": (policy.EMPTIES, ("pool",)),
    "remote": (policy.REMOTES, ("where",)),
    "release": (policy.RELEASES, ("Params", "why_not_valid", "goes")),
    "hardening": (
        policy.HARDENINGS,
        ("Params", "why_not_valid", "TAIL_BYTES", "ENCODES_LINKS", "guard_slabs"),
    ),
    "foreign": (policy.FOREIGNS, ()),
}
WITHOUT_KERNELS = ("hardening", "foreign")
"""What they change of the machine, if anything, are numbers of the Plan."""

ROWS = [(family, row) for family, (table, _) in TABLES.items() for row in table]


@pytest.mark.parametrize(("family", "row"), ROWS, ids=lambda part: getattr(part, "NAME", part))
def test_row_is_whole(family: str, row: ModuleType) -> None:
    table, needed = TABLES[family]
    assert [name for name in needed if not hasattr(row, name)] == []
    assert table[policy.code(table, row.NAME)] is row
    assert row.__name__.rsplit(".", 1)[1].endswith(row.NAME)
    assert str(row.__doc__).endswith((".", ".\n"))


@pytest.mark.parametrize(("family", "row"), ROWS, ids=lambda part: getattr(part, "NAME", part))
def test_kernels_of_a_row_are_dispatched_to(family: str, row: ModuleType) -> None:
    own = {
        function for _, function in inspect.getmembers(row, inspect.isfunction) if function.__module__ == row.__name__
    }
    kernels = own & _KERNELS
    called = {function for table in (dispatch, lines) for _, function in inspect.getmembers(table, inspect.isfunction)}
    called |= {function for kernel in kernels for function in kernels if function.__name__ in kernel.__code__.co_names}
    assert kernels or row.NAME == "header" or family in WITHOUT_KERNELS  # header places superslabs as slab_map does
    assert kernels - called == set()


def test_names_are_unique() -> None:
    for table, _ in TABLES.values():
        assert len(set(policy.names(table))) == len(table)


def test_builtin_designs_use_every_row() -> None:
    used: set[tuple[str, str]] = set()
    for name in builtin_names():
        plan = make_plan(load(name))
        used |= {
            (family, getattr(plan.design, family)) for family in ("classifier", "slab_choice", "empties", "remote")
        }
        used |= {("front", row.front.kind) for row in plan.classes}
        used.add(("release", str(plan.design.release.__struct_config__.tag)))
        used.add(("hardening", plan.hardening))
    assert used == {(family, row.NAME) for family, row in ROWS if family != "foreign"}  # one program's choice


def test_covering_designs_have_every_legal_pair_and_all_numbers() -> None:
    designs = covering_designs()
    assert len(designs) <= 16
    assert set().union(*(pairs_of(design) for design in designs)) == legal_pairs()
    plans = [make_plan(design) for design in designs]
    assert {plan.quarantine for plan in plans if plan.hardening == "full"} == {0, 3, 8}
    assert {plan.guard_slabs for plan in plans} == {0, 1}
    assert {plan.run_cache_bytes for plan in plans} == {0, 8192, 65_536}
    budgets = [plan for plan in plans if plan.design.release.__struct_config__.tag == "budget"]
    assert {plan.slab_budget_bytes for plan in budgets} == {0, 8192, 20_000}
    assert {plan.most_budget_bytes for plan in budgets} == {0, 24_000, 1 << 20}
    assert {plan.release_lazily for plan in budgets} == {0, 1}
    assert {plan.grain for plan in plans} == {8, 16}


@pytest.mark.parametrize("name", builtin_names())
def test_builtin_design(name: str) -> None:
    design = load(name)
    assert design.name == name
    assert re.fullmatch(r"[A-Z].{30,115}[^.]", design.about)


def test_builtin_designs_differ() -> None:
    hashes = [load(name).hash() for name in builtin_names()]
    assert len(set(hashes)) == len(hashes) >= 9
