"""Pruning: what does nothing goes, what does something stays, and what is left does the same."""

import types
from typing import cast

import numpy as np
import pytest

from heapsmith.model.compile.kernel import Arrays, Ints, Records, compiled
from heapsmith.model.compile.kernel import kernel as mark
from heapsmith.model.compile.prune import Pruned, pruned

ON = 0


@mark
def told(values: Ints, number: int) -> None:
    """Does nothing unless ON."""
    if ON == 1:
        values[0] += number


@mark
def noted(values: Ints, unused: Ints, place: int, number: int) -> int:
    """Changes an array, whoever uses its value, and does not use one argument."""
    was = int(values[place])
    seen = was + number
    seen += 1
    for index in range(number):
        told(values, index)
    values[place] = number
    return was


@mark
def entry(values: Ints, unused: Ints) -> int:
    """Calls both."""
    told(values, 1000)
    if len(unused) > 1:
        told(values, 1)
    noted(values, unused, 1, 7)
    ON = int(unused[0])  # noqa: N806 - a variable of this name is not the constant
    if ON == 1:
        return noted(values, unused, 2, -1)
    return 3


def left_of(function: object, callees: dict[str, Pruned], on: int = 0) -> Pruned:
    return pruned(cast(types.FunctionType, function), {"ON": on}, callees, is_entry=False)


def test_what_does_nothing_goes() -> None:
    idle = left_of(told, {})
    assert not idle.acts
    assert idle.passed == [False, False]
    left = left_of(noted, {"told": idle})
    assert left.acts
    assert left.passed == [True, False, True, True]
    assert "told" not in left.code.co_names
    assert set(left.code.co_varnames) == {"values", "place", "number", "was"}
    top = left_of(entry, {"told": idle, "noted": left})
    assert "told" not in top.code.co_names
    assert "noted" in top.code.co_names


def test_what_does_something_stays() -> None:
    busy = left_of(told, {}, on=1)
    assert busy.acts
    assert busy.passed == [True, True]
    left = left_of(noted, {"told": busy}, on=1)
    assert "told" in left.code.co_names


def test_lines_are_those_of_the_source() -> None:
    plain = cast(types.FunctionType, noted).__code__
    left = left_of(noted, {"told": left_of(told, {})}).code
    assert left.co_filename == plain.co_filename
    lines = {line for _, _, line in plain.co_lines() if line}
    assert {line for _, _, line in left.co_lines() if line} <= lines | {plain.co_firstlineno + 1}


@pytest.mark.parametrize("on", [0, 1])
@pytest.mark.parametrize("unused", [[1], [0], [1, 0]])
def test_what_is_left_does_the_same(on: int, unused: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    twin = compiled(entry, ON=on)
    monkeypatch.setitem(globals(), "ON", on)
    values, expected = np.arange(5), np.arange(5)
    assert twin(values, np.array(unused)) == entry(expected, np.array(unused))
    assert values.tolist() == expected.tolist()


@mark
def moved(rows: Records, state: Records, row: Ints) -> int:
    """Uses items of records, of the first record, and of a row that it gets."""
    state[0]["sum"] += rows[1]["sum"]
    rows[1]["sum"] = row[2]
    return int(rows[int(row[0])]["other"])


@mark
def rows_entry(rows: Records, state: Records, table: Ints) -> int:
    """Hands on rows of an array of two dimensions, and an array whose length it asks for."""
    found = 0
    for index in range(len(table)):
        found += moved(rows, state, table[index])
    return found + len(state)


def test_items_become_those_of_pointers() -> None:
    left = left_of(moved, {})
    assert left.pointers == [True, True, True]
    assert left_of(rows_entry, {"moved": left}).pointers == [True, False, False]
    kind = [("sum", np.int64), ("other", np.int64)]
    twins = []
    for run in (rows_entry, compiled(rows_entry)):
        rows, state = np.array([(1, 2), (3, 4)], kind), np.array([(5, 6)], kind)
        assert run(rows, state, np.array([[0, 7, 8], [1, 9, 10]])) == 2 + 4 + 1
        twins.append((rows.tolist(), state.tolist()))
    assert twins[0] == twins[1] == ([(1, 2), (10, 4)], [(5 + 3 + 8, 6)])


@mark
def chosen(values: Ints, number: int) -> int:
    """Has conditions that ON decides, whole or in part."""
    if ON == 1 and number > 2:
        noted(values, values, 0, 1)
    if ON == 0 or number > 2:
        told(values, number)
        return noted(values, values, 0, 2) if ON == 1 else number
    return noted(values, values, 0, 3)


def test_a_condition_is_decided_by_one_of_its_parts() -> None:
    idle = left_of(told, {})
    left = left_of(chosen, {"told": idle, "noted": left_of(noted, {"told": idle})})
    assert "noted" not in left.code.co_names
    on = left_of(chosen, {"told": idle, "noted": left_of(noted, {"told": idle})}, on=1)
    assert "noted" in on.code.co_names


class Base(Arrays):
    """The record of `first`."""

    values: Ints


class More(Base):
    """The record of `both`, which passes it to `first`."""

    others: Ints


@mark
def first(state: Base) -> int:
    """Takes the base alone."""
    return int(state.values[0])


@mark
def both(state: More) -> int:
    """Takes all arrays."""
    return 10 * first(state) + int(state.others[0])


def test_a_kernel_of_a_base_gets_the_arrays_of_the_base() -> None:
    state = More(values=np.array([3]), others=np.array([4]))
    assert both(state) == compiled(both)(state) == 34
