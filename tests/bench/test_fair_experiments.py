"""The check that experiments are fair: planted experiments with more than one choice, and those of the file."""

import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from covering import soon
from test_experiments import BOOK, changed
from traces import random_trace

from heapsmith.bench.experiments import gated
from heapsmith.bench.experiments import run as runs
from heapsmith.bench.experiments.book import Experiment, designs_of
from heapsmith.bench.experiments.fair import faults, faults_on
from heapsmith.model import policy
from heapsmith.model.errors import CheckFailed, Missing
from heapsmith.model.memory.hardware import load_hardware
from heapsmith.model.predict.simulate import simulate
from heapsmith.tools.peers.peers import Library
from heapsmith.tools.replay.replay import replay_once
from heapsmith.tools.replay.script import write_script


@pytest.mark.parametrize("name", BOOK.experiments)
def test_arms_differ_in_the_named_values_and_in_nothing_else(name: str) -> None:
    assert faults(name, BOOK.experiments[name]) == []


def test_another_value_is_noticed() -> None:
    arms = [{"name": "a", "design": {"empties": "dedicated", "grain": 8}}, {"name": "b"}]
    assert any("differ in grain too: 8 and 16" in fault for fault in faults("E", changed(arms=arms)))


def test_a_consequence_that_is_not_stated_is_noticed() -> None:
    one = changed(arms=[{"name": "a", "design": {"transfer_bytes": 0}}, {"name": "b"}], varies=["transfer_bytes"])
    assert any("differ in the plan's numbers.transfer_slots" in fault for fault in faults("E", one))


def test_arms_that_do_not_differ_are_noticed() -> None:
    assert faults("E", changed(arms=[{"name": "a"}, {"name": "b"}])) == ["E: a and b do not differ in empties"]


def test_huge_pages_that_act_on_one_arm_only_are_noticed() -> None:
    assert any("state thp" in fault for fault in faults("E", changed(base={})))


LISTS = {"thp": "system", "transfer_bytes": 0, "front": {"kind": "linked_list", "capacity": 64}}
HOT = {"kind": "hot_over_list", "capacity": 8, "list_capacity": 64}


def planted(base: dict[str, object], *arms: dict[str, object], **fields: object) -> Experiment:
    """Return an experiment with two arms."""
    rest = {"workloads": ["w"], "varies": ["class_front"], "follows": ["class", "slots_per_heap"], **fields}
    both = [{"name": name, "design": arm} for name, arm in zip("ab", arms, strict=True)]
    return msgspec.convert({"about": "x", "claim": {}, "base": base, "arms": both, **rest}, Experiment)


def on_calls(tmp_path: Path, one: Experiment, **shape: float) -> list[str]:
    """Return the faults of an experiment on random calls."""
    trace = random_trace(tmp_path / "t.hst", 6000, 3, aligned=0.0, **shape)
    designs = designs_of("E", one)
    return faults_on("E", one, {"w": dict(zip(designs, simulate(trace, list(designs.values())).rows, strict=True))})


def exception(front: dict[str, object], *sizes: int) -> dict[str, object]:
    return {"class_front": [{"sizes": list(sizes), "front": front}]}


SMALL = {"phases": 1, "larson": 300, "handover": 3000}
"""Work by program, of recordings that are only asked which classes get requests; of others 4,000."""


@pytest.fixture(scope="session")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Short recordings of the file's workloads, each made once."""
    folder, made = tmp_path_factory.mktemp("recordings"), {}

    def recording(name: str) -> Path:
        one = BOOK.workloads[name]
        work = min(SMALL.get(one.micro, 4000), one.work) * runs.QUICK
        arguments = one.arguments.replace("41943040", "1048576")
        short = msgspec.structs.replace(one, work=work, arguments=arguments)
        if name not in made:
            made[name] = runs._prepared(short, name, folder / name, quick=True)[0]
        return made[name]

    return recording


PLAYED = [name for name, one in BOOK.experiments.items() if len(designs_of(name, one)) > 1]


@pytest.mark.parametrize("name", soon(PLAYED, PLAYED[::4], PLAYED))
def test_the_experiments_are_fair_on_their_workloads(name: str, recordings: Callable[[str], Path]) -> None:
    one = BOOK.experiments[name]
    told = {}
    for workload in one.workloads:
        try:
            trace = recordings(workload)
        except Missing as error:
            pytest.skip(str(error))
        gated_arms = {arm.name for arm in one.arms if arm.gates}
        designs = {arm: design for arm, design in designs_of(name, one).items() if arm not in gated_arms}
        told[workload] = dict(zip(designs, simulate(trace, list(designs.values())).rows, strict=True))
    assert faults_on(name, one, told) == []


def test_several_fields_need_a_reason() -> None:
    fields = {"varies": ["slab_choice", "empties"], "follows": []}
    one = planted({"thp": "system"}, {}, {"slab_choice": "scan", "empties": "dedicated"}, **fields)
    assert any("expected one field, or `together`" in fault for fault in faults("E", one))
    assert faults("E", msgspec.structs.replace(one, together="The log has one figure for both.")) == []


def test_arms_whose_difference_nobody_states_are_noticed() -> None:
    one = planted({"thp": "system"}, {}, {"slab_choice": "scan"}, varies=[], follows=[])
    assert any("varies: no field" in fault for fault in faults("E", one))


def test_what_follows_in_no_arm_is_noticed() -> None:
    one = changed(follows=["small_limit"])
    assert faults("E", one) == ["E: follows: small_limit; it differs in no arm"]


def test_a_class_whose_front_is_the_same_and_that_differs_is_noticed() -> None:
    base = {**LISTS, "sizes": [16, 64, 256, 1024]}
    wider = {"class_front": exception(HOT, 16)["class_front"], "slab_bytes": 16384}
    one = planted(base, {}, wider, varies=["class_front", "slab_bytes"], together="x")
    assert any("differ in the class of 64 bytes, whose front is the same" in fault for fault in faults("E", one))


def test_a_call_that_asks_a_row_in_vain_in_one_arm_alone_is_noticed(tmp_path: Path) -> None:
    stack = {"sizes": [32768], "front": {"kind": "array_stack", "capacity": 1}}
    hot = {"sizes": [16, 32], "front": HOT}
    one = planted(LISTS, {"class_front": [stack]}, {"class_front": [stack, hot]})
    assert faults("E", one) == []  # the designs alone do not tell
    found = on_calls(tmp_path, one, max_size=64)
    assert any("go by a row that never serves, then by class" in fault for fault in found)
    fair = planted({**LISTS, "dispatch": "class"}, {}, {"class_front": [hot]}, follows=["class", "slots_per_heap"])
    assert on_calls(tmp_path, fair, max_size=64) == []


def test_another_dispatch_is_noticed_and_may_be_the_question(tmp_path: Path) -> None:
    stacks = {"thp": "system", "transfer_bytes": 0, "front": {"kind": "array_stack", "capacity": 64}}
    one = planted(stacks, {}, {"front": LISTS["front"]}, varies=["front"])
    assert any("go by row" in fault for fault in on_calls(tmp_path, one))
    asked = planted(stacks, {}, {"dispatch": "class"}, varies=["dispatch"])
    assert on_calls(tmp_path, asked) == []


def test_requests_without_a_class_in_one_arm_are_noticed(tmp_path: Path) -> None:
    base = {"thp": "system", "transfer_bytes": 0}
    one = planted(base, {"sizes": [16, 64, 256, 1024]}, {"sizes": [16, 64, 256]}, varies=["sizes"])
    assert any("of the allocations go as large blocks" in fault for fault in on_calls(tmp_path, one, max_size=1024))
    assert not any("large blocks" in fault for fault in on_calls(tmp_path, one, max_size=256))


def test_a_choice_on_classes_that_nobody_asks_for_is_noticed(tmp_path: Path) -> None:
    grouped = {"empties": {"kind": "grouped", "groups": [[1024]]}}
    one = planted({"thp": "system"}, {}, grouped, varies=["empties"], follows=["class.numbers.pool"])
    assert on_calls(tmp_path, one, max_size=256) == ["E: a and b on w: the classes that differ get no request: 1024"]
    assert on_calls(tmp_path, one, max_size=1024) == []


def test_a_front_for_a_class_that_nobody_asks_for_is_noticed(tmp_path: Path) -> None:
    one = planted({**LISTS, "dispatch": "class"}, {}, exception(HOT, 16, 32, 8192))
    found = on_calls(tmp_path, one, max_size=64)
    assert found == ["E: b has a front of its own for classes that no workload asks for: 8192"]


def test_an_unfair_experiment_is_refused_before_it_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    def unfair(*_: object) -> list[str]:
        return ["w: no request"]

    def build(*_: object) -> None:
        raise AssertionError("a library is built")

    small = {
        name: msgspec.structs.replace(one, work=max(1, one.work // 10_000)) for name, one in BOOK.workloads.items()
    }
    monkeypatch.setattr(runs, "faults_on", unfair)
    monkeypatch.setattr(runs, "_arms", build)
    with pytest.raises(CheckFailed, match="w: no request"):
        runs.examine(
            msgspec.structs.replace(BOOK, workloads=small),
            "E21b",
            load_hardware("default"),
            rounds=1,
            quick=True,
            progress=lambda *_: None,
        )


def test_gates_are_the_only_difference_of_a_gated_arm() -> None:
    one = BOOK.experiments["E36b"]
    gate, straight = one.arms
    other = msgspec.structs.replace(straight, design={"grain": 8})
    found = faults("E", msgspec.structs.replace(one, arms=[gate, other]))
    assert any("differ in grain beside the gates" in fault for fault in found)
    assert any("differ in gates" in fault for fault in faults("E", msgspec.structs.replace(one, varies=["front"])))


@pytest.mark.thorough
def test_gates_ask_rooms_that_exist_and_the_library_works(tmp_path: Path) -> None:
    assert {room for its in gated.ROOMS.values() for room in its} <= {*policy.TABLES}
    design = designs_of("E36b", BOOK.experiments["E36b"])["straight"]
    trace = random_trace(tmp_path / "t.hst", 2000, 5)
    script = tmp_path / "script"
    write_script(trace, script)
    for form in ("each", "snapshot"):
        library = Library(form, gated.gated_layouts(design, form)[0])  # type: ignore[arg-type]
        assert replay_once(script, library, check=True).checked
        with pytest.raises(CheckFailed):  # a gate that is off has nowhere to go: it was asked
            replay_once(script, library, env={**os.environ, "HEAPSMITH_GATE_FRONT": "0"})
