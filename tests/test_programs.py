"""Each program that is worked by hand on the model is played by a library too: every address, counter and byte."""

import importlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from lives import prepare
from program import Program

from heapsmith.model.constants import NS_PER_MS
from heapsmith.model.design.design import Design

Event = tuple[int, int, int, int, int, int]
"""Operation, thread, block, size, log2 of the alignment, nanoseconds."""


def cases(module: Any) -> Iterator[Callable[[bool], None]]:
    """The tests of a module that need nothing but to know whether kernels are compiled."""
    for name, one in inspect.getmembers(module):
        if inspect.isclass(one) and one.__module__ == module.__name__ and name.startswith("Test"):
            yield from cases_of(one())
        elif inspect.isfunction(one) and one.__module__ == module.__name__:
            yield from (one,) * is_case(name, one)


def cases_of(group: object) -> Iterator[Callable[[bool], None]]:
    """The same of a class of tests."""
    yield from (one for name, one in inspect.getmembers(group, inspect.ismethod) if is_case(name, one))


def is_case(name: str, function: Callable[..., object]) -> bool:
    return name.startswith("test_") and list(inspect.signature(function).parameters) == ["compiled"]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Design, list[Event]]]:
    """What is added here is each Program that is made from now on: its design, and the events that it has done."""
    programs: list[tuple[Design, list[Event]]] = []
    begin = Program.__init__

    def recorded(self: Program, *arguments: Any, **fields: Any) -> None:
        begin(self, *arguments, **fields)
        events: list[Event] = []
        step = self.simulator.step

        def done(op: int, thread: int, block: int, size: int = 0, align_log2: int = 0, time_ns: int = 0) -> int:
            address = step(op, thread, block, size, align_log2, time_ns)
            events.append((op, thread, block, size, align_log2, time_ns))
            return address

        monkeypatch.setattr(self.simulator, "step", done)
        programs.append((self.plan.design, events))

    monkeypatch.setattr(Program, "__init__", recorded)
    return programs


def play(design: Design, events: list[Event]) -> None:
    """Have a library and a model do the events, and compare them at each."""
    machine = prepare(design)()
    try:
        for op, thread, block, size, align_log2, time_ns in events:
            machine.ms = time_ns // NS_PER_MS
            machine.step(op, thread, block, size, align_log2)  # type: ignore[arg-type]
        machine.compare_bytes()
    finally:
        machine.teardown()


PLAYED = (
    "background bump choice delay extents freed_blocks fronts guarded large learner levels locks "
    "memory memory_limit nodes opening prepared processor remap remote run_cache sampling shards store unmapping"
)
MODULES = [f"test_{name}" for name in PLAYED.split()]
"""The files whose programs are played: those of designs and events that lives have too."""


@pytest.mark.thorough
@pytest.mark.parametrize("module", MODULES)
def test_a_library_plays_the_programs_of(module: str, made: list[tuple[Design, list[Event]]]) -> None:
    count = 0
    for case in cases(importlib.import_module(module)):
        made.clear()
        case(False)
        for design, events in made:
            play(design, events)
            count += 1
    assert count > 0
