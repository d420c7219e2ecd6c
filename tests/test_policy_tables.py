"""The policy tables: every row is whole, reached by its code, and used by a built-in design."""

import re
from importlib import import_module
from types import ModuleType

import pytest
from covering import covering_designs, legal_pairs, pairs_of
from covering_values import ELSEWHERE, single_valued

from heapsmith.model import policy
from heapsmith.model.compile.dispatch import bind
from heapsmith.model.compile.kernel import _KERNELS, specialised
from heapsmith.model.design.design import builtin_names, load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.heap import events

pytestmark = pytest.mark.quick

OF_A_PROGRAM = {"foreign", "segregation"}
"""What one program alone makes a choice of."""
ROWS = [(field, row) for field, table in policy.TABLES.items() for row in table]


@pytest.mark.parametrize(("field", "row"), ROWS, ids=lambda part: getattr(part, "NAME", part))
def test_row_is_whole(field: str, row: ModuleType) -> None:
    room = import_module(row.__name__.rpartition(".")[0])
    spelled = ("Params", "derive") if hasattr(row, "INNER") else ()  # another module has these
    wanted = [name for name in getattr(room, "NEEDED", ()) if name not in spelled]
    assert [name for name in wanted if not hasattr(row, name)] == []
    assert policy.row(field, row.NAME) is row
    assert row.__name__.rpartition(".")[2] == row.NAME
    assert str(row.__doc__).endswith((".", ".\n"))


def test_each_table_has_one_default() -> None:
    for field, table in policy.TABLES.items():
        assert sum(getattr(row, "DEFAULT", False) for row in table) == 1, field


def test_kernels_of_rows_are_reached() -> None:
    """No row has a kernel that the loop of events cannot come to."""
    reached, todo = set(), [specialised(events.run, SINK=2)]
    while todo:
        function = todo.pop()
        for name in function.__code__.co_names:
            value = function.__globals__.get(name)
            if hasattr(value, "__code__") and value.__code__ not in reached:
                reached.add(value.__code__)
                todo.append(value)
    for _, row in ROWS:
        own = {kernel for kernel in _KERNELS if kernel.__module__ == row.__name__}
        idle = {kernel.__name__ for kernel in own if kernel.__code__ not in reached}
        assert idle == set(), f"{row.NAME}: {idle}: answer no question and no moment of model/parts"


def test_a_row_without_the_function_is_refused() -> None:
    row = next(row for row in policy.TABLES["slab_choice"] if row.NAME == "scan")
    bare = ModuleType(row.__name__)
    bare.__dict__.update({name: value for name, value in vars(row).items() if name != "gives"})
    with pytest.raises(TypeError, match="slab_choice: expected gives of scan"):
        bind({**policy.TABLES, "slab_choice": (*policy.TABLES["slab_choice"][:1], bare)})


def test_an_answer_to_another_question_is_refused() -> None:
    row = next(row for row in policy.TABLES["slab_choice"] if row.NAME == "scan")
    other = ModuleType(row.__name__)
    other.__dict__.update(vars(row), gives=row.attach)
    with pytest.raises(TypeError, match=r"gives\(state, store, slab\); expected \(state, store\)"):
        bind({**policy.TABLES, "slab_choice": (*policy.TABLES["slab_choice"][:1], other)})


def test_names_are_unique() -> None:
    for field, table in policy.TABLES.items():
        assert len(set(policy.names(field))) == len(table)


def test_builtin_designs_use_every_row() -> None:
    used: set[tuple[str, str]] = set()
    for name in builtin_names():
        plan = make_plan(load(name))
        used |= {(family, plan.design.row(family).NAME) for family in policy.TABLES.keys() - {"front", *OF_A_PROGRAM}}
        used |= {("front", row.front.kind) for row in plan.classes}
    assert used == {(family, row.NAME) for family, row in ROWS if family not in OF_A_PROGRAM}


@pytest.mark.thorough
@pytest.mark.slow
def test_covering_designs_have_every_legal_pair_and_all_numbers() -> None:
    designs = covering_designs()
    assert len(designs) <= 72
    assert set().union(*(pairs_of(design) for design in designs)) == legal_pairs()
    plans = [make_plan(design) for design in designs]
    assert {plan.quarantine for plan in plans if plan.hardening == "full"} == {0, 3, 8}
    assert {plan.guard_slabs for plan in plans} == {0, 1}
    assert {plan.numbers.get("run_cache_bytes", 0) for plan in plans} == {0, 8192, 65_536}
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


def test_each_choice_and_each_number_varies_in_covering_designs_or_says_where() -> None:
    """A new room, row or number that no covering design has would be met by no life of the state machine."""
    assert single_valued(covering_designs()) == ELSEWHERE.keys()
