"""Kernels: the compiled twin does what the plain function does, and no change of a callee or constant is missed."""

import types

import numpy as np
import pytest

from heapsmith.model.compile import kernel
from heapsmith.model.compile.kernel import (
    Arrays,
    Bytes,
    Ints,
    Records,
    compiled,
    hit_path,
    large_hit_path,
    one_record,
    record_type,
    specialised,
)
from heapsmith.model.compile.kernel import kernel as mark

STEP = 3
ROUND, UP = 0, 1
TABLE = np.array([5, 7, 11])


@hit_path
def from_table(index: int) -> int:
    """A callee with a constant array."""
    return int(TABLE[index % 3]) * STEP


@mark
def total(values: Ints) -> int:
    """An entry that calls."""
    found = 0
    for index in range(len(values)):
        found += int(values[index]) * from_table(index)
    return found


@large_hit_path
def tripled(value: int) -> int:
    """Part of its callers on the hit path, called by others."""
    return 3 * value


@hit_path
def nearly(value: int) -> int:
    """A caller on the hit path."""
    return tripled(value) - 1


@mark
def off(values: Ints) -> int:
    """One that is not."""
    return tripled(int(values[0]))


@mark
def both(values: Ints) -> int:
    """An entry that reaches both copies of a large callee."""
    return nearly(int(values[1])) + off(values) + tripled(2)


@mark
def odd(values: Ints) -> int:
    """Cannot be compiled."""
    return int(values.no_such_thing)  # type: ignore[attr-defined]


@mark
def rounded(values: Ints) -> int:
    """An entry with a branch that a constant decides."""
    if ROUND == UP:
        return total(values) + STEP
    return odd(values)


def test_constants_decide_branches() -> None:
    values = np.arange(9)
    expected = sum(i * 4 * (5, 7, 11)[i % 3] for i in range(9)) + 4
    assert specialised(rounded, ROUND=UP, STEP=4)(values) == expected
    assert compiled(rounded, ROUND=UP, STEP=4)(values) == expected  # odd, left out, would not compile
    with pytest.raises(AttributeError):
        specialised(rounded, STEP=4)(values)
    assert total(values) * 4 == (expected - 4) * 3  # the kernels themselves are as they were


def test_constants_are_in_the_digest_and_must_be_used() -> None:
    reached = kernel._reach(rounded, {})
    assert len({kernel._digest(reached, constants) for constants in ({}, {"ROUND": 1}, {"STEP": 4})}) == 3
    for make in (compiled, specialised):
        with pytest.raises(ValueError, match="rounded: no kernel that it reaches uses Ints, NO_SUCH"):
            make(rounded, Ints=1, NO_SUCH=1, ROUND=1)


def test_plain_and_compiled_agree() -> None:
    values = np.arange(50)
    twin = compiled(total)
    assert twin is not total
    assert twin(values) == total(values) == sum(i * 3 * (5, 7, 11)[i % 3] for i in range(50))
    assert isinstance(total, types.FunctionType)


def test_a_large_callee_is_inlined_and_called() -> None:
    values = np.array([5, 7])
    assert compiled(both)(values) == both(values) == 20 + 15 + 6


def test_machine_code_is_kept(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))
    first, second = compiled(total), compiled(total)
    assert first(np.arange(9)) == second(np.arange(9))
    assert sum(first.stats.cache_misses.values()) == 1  # type: ignore[attr-defined]
    assert sum(second.stats.cache_hits.values()) == 1  # type: ignore[attr-defined]


def test_digest_sees_constants_and_callees(monkeypatch: pytest.MonkeyPatch) -> None:
    reached = kernel._reach(total, {})
    assert [function.__name__ for function in reached] == ["total", "from_table"]
    digests = {kernel._digest(reached, {})}
    monkeypatch.setitem(globals(), "STEP", 4)
    digests.add(kernel._digest(reached, {}))
    monkeypatch.setitem(globals(), "TABLE", np.array([5, 7, 12]))
    digests.add(kernel._digest(reached, {}))
    assert len(digests) == 3


def test_works_without_a_place_for_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(dispatcher: object) -> None:
        raise RuntimeError("no locator available")

    monkeypatch.setattr("numba.core.dispatcher.Dispatcher.enable_caching", nowhere)
    assert compiled(total)(np.arange(9)) == total(np.arange(9))


class Table(Arrays):
    """A record without scalars."""

    cells: Ints  # two dimensions
    kinds: Bytes


class Sheet(Table):
    """A record that has the arrays of its base, and scalars."""

    rows: Records
    scalars: Records


@mark
def corners(state: Table) -> int:
    """Uses whole arrays, and a slice."""
    state.cells[1, :2] = len(state.kinds)
    return int(state.cells[0, 0] + state.cells[-1, -1]) + state.kinds.size


@hit_path
def summed(row: Ints, count: int) -> int:
    """A row of an array of two dimensions."""
    found = 0
    for index in range(count):
        found += int(row[index])
    return found


@mark
def booked(state: Sheet, place: int) -> int:
    """Uses an array of its base, records, scalars and a row."""
    state.rows[place]["sum"] += summed(state.cells[place], state.cells.shape[1])
    state.calls += 1
    return int(state.rows[place]["sum"]) + state.first * int(state.kinds[place])


def sheet() -> Sheet:
    cells, kinds = np.arange(6).reshape(2, 3), np.array([7, 250], np.uint8)
    return Sheet(cells=cells, kinds=kinds, rows=np.zeros(2, record_type("sum")), scalars=one_record(calls=0, first=3))


def test_a_record_of_arrays_is_a_parameter() -> None:
    for run in (booked, compiled(booked)):
        state = sheet()
        assert (run(state, 0), run(state, 1)) == (0 + 1 + 2 + 3 * 7, 3 + 4 + 5 + 3 * 250)
        assert (state.calls, state.rows["sum"].tolist()) == (2, [3, 12])


def test_a_record_needs_no_scalars() -> None:
    for run in (corners, compiled(corners)):
        state = Table(cells=np.arange(6).reshape(2, 3), kinds=np.zeros(9, np.uint8))
        assert run(state) == 0 + 5 + 9
        assert state.cells.tolist() == [[0, 1, 2], [9, 9, 5]]
        with pytest.raises(AttributeError):
            _ = state.no_such
        with pytest.raises(AttributeError):
            state.no_such = 1


def test_the_digest_sees_the_arrays_of_a_record(monkeypatch: pytest.MonkeyPatch) -> None:
    digest = kernel._digest(kernel._reach(booked, {}), {})
    monkeypatch.setattr(Sheet, "ITEMS", dict(reversed(Sheet.ITEMS.items())))
    assert kernel._digest(kernel._reach(booked, {}), {}) != digest
