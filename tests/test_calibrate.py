"""calibrate: a tiny real run, and the machine file it writes."""

import os
import shutil
from pathlib import Path

import msgspec
import pytest
from traces import trace_of

from heapsmith.model.design.design import load
from heapsmith.model.memory.hardware import load_hardware
from heapsmith.model.trace.reader import verify
from heapsmith.tools.calibrate.calibrate import OF_CORES, calibrate, of_cores, sampled, write_machine
from heapsmith.tools.calibrate.cells import cells_of
from heapsmith.tools.calibrate.micro_traces import PROGRAMS, write_programs
from heapsmith.tools.calibrate.timed_replays import polish


def test_micro_programs_are_whole_and_repeat(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    again = write_programs(tmp_path / "b", events=2400)
    for path, other in zip(write_programs(tmp_path / "a", events=2400), again, strict=True):
        assert verify(path).events > 50
        assert path.read_bytes() == other.read_bytes()
    assert len(again) == len(PROGRAMS) == len({path.stem for path in again})


def test_what_a_round_does_to_all_replays_of_a_script_is_taken_out() -> None:
    rows = [[10.0, 20.0, 10.0], [30.0, 60.0, 30.0], [5.0, 10.0, 6.0]]
    polish(rows)
    assert rows == [[10.0, 10.0, 10.0], [30.0, 30.0, 30.0], [5.0, 5.0, 6.0]]


@pytest.mark.big
def test_what_cores_cost_each_other_is_measured() -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("there is one processor")
    asked = of_cores()
    assert list(asked) == list(OF_CORES)
    assert asked["lock.moved"] > 0
    assert asked["shootdown"] > 0


def test_what_one_core_cannot_measure_is_any_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0})
    assert of_cores() == {}
    assert load_hardware().costs.keys() >= set(OF_CORES)


@pytest.mark.thorough
def test_what_valgrind_runs_otherwise_is_not_counted(tmp_path: Path) -> None:
    """Valgrind has no restartable sequences: the library of `processor` counts calls of other paths there."""
    designs, trace = [load("processor"), load("default")], trace_of(tmp_path / "t.hst", [32] * 20, freed=True)
    cells = cells_of(trace, tmp_path / "script", designs, [tmp_path, tmp_path], load_hardware())
    assert [cell.plan.design.name for cell in sampled(cells, len(designs))] == ["default"]


@pytest.mark.big
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_a_tiny_calibration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in ("calibrate.EVENTS", "calibrate.TIMED_EVENTS", "timed_replays.YARDSTICK_EVENTS"):
        monkeypatch.setattr(f"heapsmith.tools.calibrate.{number}", 2400)
    # Wide caches need a compiled variant of their own, which takes half a minute; test_cache.py has them.
    monkeypatch.setattr("heapsmith.tools.calibrate.calibrate.here", load_hardware)
    programs = {name: PROGRAMS[name] for name in ("pairs", "holes")}
    found = calibrate(programs=programs, designs=[load("default"), load("sll")], rounds=1)
    assert (found.counted, found.timed) == (4, 4)  # so few that all are the richest of some kind
    assert found.instruction_errors is not None
    assert found.instruction_errors.worst < 0.05
    for kind in OF_CORES[:2]:
        assert found.hardware.costs[kind] >= 0  # no replay with several threads is timed
    assert found.hardware.fit["core_yardstick_ns"] > 0
    file = tmp_path / "machine.toml"
    write_machine(file, found.hardware)
    assert load_hardware(str(file)) == msgspec.structs.replace(found.hardware, name="machine")
    without = msgspec.structs.replace(found.hardware, l2=None, name="machine")
    write_machine(file, without)
    assert load_hardware(str(file)) == without
