"""Reuse: the curves are those of a list in LRU order over the same touches, and the command shows them."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Answer
from traces import random_trace

from heapsmith.model.design.design import load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.heap.simulator import Simulator
from heapsmith.model.memory.application import Application
from heapsmith.model.memory.hardware import load_hardware
from heapsmith.model.memory.listener import Listener
from heapsmith.model.memory.touches import LOG
from heapsmith.model.predict.reuse import CACHES, reuse
from heapsmith.model.trace.reader import TraceReader

pytestmark = pytest.mark.usefixtures("plain_model")


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return random_trace(tmp_path_factory.mktemp("reuse") / "t.hst", 400, seed=7, threads=2, max_size=6000)


def touched_lines(trace: Path, design: str, application: Application) -> list[int]:
    """All lines that heap and program touch, in order, as a log keeps them."""
    log = Listener(load_hardware(), LOG, 1 << 18)
    simulator = Simulator(make_plan(load(design)), listener=log, application=application)
    with TraceReader(trace) as reader:
        for chunk in reader:
            simulator.feed(chunk)
    assert log.lost == 0
    return [address // 64 for address, _ in log.log()]


def stack_distances(lines: list[int]) -> list[int | None]:
    """The place of each line in a list in LRU order; None if it is not in it."""
    stack: list[int] = []
    found: list[int | None] = []
    for line in lines:
        found.append(stack.index(line) if line in stack else None)
        if line in stack:
            stack.remove(line)
        stack.insert(0, line)
    return found


@pytest.mark.thorough
@pytest.mark.parametrize("application", [Application("all", "ends"), Application("none", "none")])
def test_curves_are_those_of_brute_force(short: Path, application: Application) -> None:
    names = ["default", "lean"]
    table = reuse(short, [load(name) for name in names], application=application)
    assert (table.events, table.threads, table.application) == (400, 2, application)
    assert table.cache_bytes == [2**shift for shift in range(12, 31)]
    for name, row in zip(names, table.rows, strict=True):
        found = stack_distances(touched_lines(short, name, application))
        misses = [sum(one is None or one >= size // 64 for one in found) for size in CACHES]
        assert row.miss_ratios == [count / len(found) for count in misses]
        assert (row.design, row.accesses, row.lines) == (name, len(found), found.count(None))
        assert row.accesses_per_op == len(found) / table.operations
        near = {one: found.count(one) for one in found if one is not None and one < 1024}
        assert {one.distance: one.touches for one in row.histogram if one.distance < 1024} == near
        assert sum(one.touches for one in row.histogram) == len(found) - row.lines


def test_the_command(call: Callable[..., Answer], short: Path) -> None:
    command = ("reuse", short, "--design", "default", "--design", "bare", "--deaths", "none")
    found = json.loads(call(*command, "--json").out)
    assert [row["design"] for row in found["rows"]] == ["default", "bare"]
    assert found["application"]["deaths"] == "none"
    shown = call(*command).out
    for size, ratio in zip(("4.0 KiB", "1.0 GiB"), (0, -1), strict=True):
        cells = "  ".join(f"{row['miss_ratios'][ratio]:.3%}" for row in found["rows"])
        assert [line for line in shown.splitlines() if line.startswith(size) and line.endswith(cells)]
