"""The sample of mutants: what is drawn, which tests look at it, and what becomes of it in the log and the table."""

import json
import os
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import cast

import pytest
from covering import covering_designs, kept_name, rows_of

from heapsmith.bench.gates import trying
from heapsmith.bench.gates.focused import Focused, Found
from heapsmith.bench.gates.mutants import AREAS, KNOWN, Outcome, drawn, key, population, read, summary, to_try
from heapsmith.bench.gates.mutating import Mutant
from heapsmith.bench.gates.mutating_python import mutants as of_python
from heapsmith.bench.gates.object_code import of_design, of_tools
from heapsmith.bench.gates.trying import Copy, Judge, Listed, Trial, table

PYTHON = '''"""A module, 1 + 1."""


def f(a: int, b: int | None = None) -> int:
    """Return 3 + 3."""
    if a < 3 and b:
        g(a + 1)
    return a
'''


def test_mutants_of_python_are_single_lines_of_functions() -> None:
    found = list(of_python("f.py", PYTHON))
    assert {mutant.after.strip() for mutant in found} == {
        "if not (a < 3 and b):",
        "if a <= 3 and b:",
        "if a < 4 and b:",
        "if a < 3 or b:",
        "pass",
        "g(a - 1)",
        "g(a + 2)",
        "return 0",
    }
    for mutant in found:
        compile(mutant.apply(PYTHON), "f.py", "exec")
        assert mutant.function == "f"


def test_the_sample_is_of_all_areas_and_stays() -> None:
    sample = drawn(400)
    assert len({key(one) for one in sample}) == len(sample) == 400
    for area, count in AREAS.items():
        assert sum(one.file.startswith(f"{area}/") for one in sample) == count
    assert {key(one) for one in drawn(40)} <= {key(one) for one in sample}


def test_each_file_has_tests_that_look_at_it() -> None:
    focus = table().focus
    files = {one.file for one in population()}
    assert not [file for file in files if not any(file.startswith(begin) for begin in focus)]
    assert not [begin for begin in focus if not any(file.startswith(begin) for file in files)]
    assert not [
        test for tests in focus.values() for test in tests if not (trying.ROOT / test.partition("::")[0]).is_file()
    ]


def test_what_is_listed_is_a_mutant_of_today() -> None:
    known = {key(one) for one in population()}
    assert not [one for one in table().listed if key(one) not in known]


@pytest.mark.thorough
def test_a_file_of_a_row_is_judged_by_designs_that_have_it() -> None:
    names = trying.having("runtime/heap/5_slab_policies/choice/two_active.c")
    assert len(trying.lives(names)) >= trying.DESIGNS
    assert {trying.designs()[name].slab_choice for name in names} == {"two_active"}
    assert trying.having("model/policy/choice/two_active.py") == names
    assert trying.having("runtime/recorder/stream.c") == []


CONFTEST = """
from hypothesis import settings

settings.register_profile("unshrunk")
"""
TESTS = """
import os, m

def test_f():
    assert m.f(7) == 7

def test_that_does_not_end():
    while os.path.exists("endless"):
        pass

def test_that_dies():
    assert not os.path.exists("deadly") or os.abort()
"""


def forking(folder: Path) -> Focused:
    """The process that forks for runs of the tests above."""
    for name, text in (("m.py", PYTHON), ("test_m.py", TESTS), ("conftest.py", CONFTEST)):
        (folder / name).write_text(text)
    return Focused(folder, {"PATH": os.environ["PATH"], "PYTHONPATH": str(trying.ROOT / "src")})


@pytest.mark.thorough
def test_runs_of_a_forking_process_see_the_moment(tmp_path: Path) -> None:
    """A changed line is noticed, and so is a test that dies; the file is as before."""
    copy = Copy.__new__(Copy)
    copy.folder = tmp_path
    process = forking(tmp_path)
    ways = {}
    for one in of_python("m.py", PYTHON):
        if "+ 2" in one.after or "0" in one.after:
            with copy.changed(one):
                ways[one.after.strip()] = process.run(60, ["test_m.py"]).failed
    assert ways["return 0"]
    assert ways["return 0"][0] == "test_m.py::test_f"
    assert "assert 0 == 7" in ways["return 0"][1]
    assert ways["g(a + 2)"] is None
    assert (tmp_path / "m.py").read_text() == PYTHON
    fails_at(process, tmp_path / "deadly", "test_that_dies", 60)
    assert process.run(60, ["test_m.py"]).failed is None
    process.close()


@pytest.mark.thorough
def test_a_run_of_a_forking_process_that_does_not_end_is_ended(tmp_path: Path) -> None:
    """After 15 s of its own processor, or a minute, in which it comes to that test on a busy machine too."""
    process = forking(tmp_path)
    fails_at(process, tmp_path / "endless", "test_that_does_not_end", 15)
    process.close()


def fails_at(process: Focused, flag: Path, test: str, limit_s: float) -> None:
    """While there is that file, a run fails at that test."""
    flag.touch()
    failed, cpu_s = process.run(limit_s, ["test_m.py"])
    assert failed
    assert failed[0] == f"test_m.py::{test}"
    assert cpu_s > 0
    flag.unlink()


class _Judge:
    """A judge under which all tests are sound."""

    def is_sound(self, *_: object) -> bool:
        return True

    def code(self, *_: object) -> dict[str, str]:
        return {"covering-1": "1", "covering-2": "2"}


class _Copy:
    """A copy whose object code has these digests, and in which nothing fails."""

    def __init__(self, codes: dict[str, str]) -> None:
        self.codes = codes
        self.runs: list[Sequence[str]] = []
        self.asked: list[Sequence[str]] = []

    def changed(self, _: Mutant) -> AbstractContextManager[None]:
        return nullcontext()

    def run(self, file: str, limit_s: float, arguments: Sequence[str]) -> Found:
        self.runs.append(arguments)
        return Found(None, 1.0)

    def object_code(self, file: str, names: Sequence[str]) -> tuple[dict[str, str], float]:
        self.asked.append(names)
        return self.codes, 1.0


@pytest.mark.parametrize(
    ("codes", "by"),
    [
        ({"covering-1": "1", "covering-2": "2"}, trying.EQUIVALENT),
        ({}, trying.UNBUILT),
        ({"covering-1": "1", "covering-2": "0"}, trying.SURVIVED),
    ],
)
def test_object_code_tells_what_no_test_can_notice(codes: dict[str, str], by: str) -> None:
    """Where it changes in one design, the lives of this one judge too."""
    copy = _Copy(codes)
    mutant = Mutant("runtime/heap/7_large/runs.c", 1, "f", "a;", ";")
    trial = Trial(cast(Judge, _Judge()), cast(Copy, copy), mutant)
    assert trial.noticed()[0] == by
    assert (trying.lives(["covering-2"]) in copy.runs) == (by == trying.SURVIVED)
    assert trial.cpu_s == len(copy.runs) + len(copy.asked)


def test_object_code_of_no_more_designs_than_needed() -> None:
    """The designs whose lives were judges come last."""

    class Some(_Copy):
        def object_code(self, file: str, names: Sequence[str]) -> tuple[dict[str, str], float]:
            self.asked.append(names)
            return {name: self.codes.get(name, "1") for name in names}, 1.0

    names = [f"covering-{number}" for number in range(8)]
    judge = _Judge()
    judge.code = lambda *_: dict.fromkeys(names, "1")  # type: ignore[method-assign]
    for own, differing in (({names[4]: "0"}, [names[4]]), ({names[1]: "0"}, [names[1]]), ({}, [])):
        copy = Some(own)
        trial = Trial(cast(Judge, judge), cast(Copy, copy), Mutant("runtime/heap/7_large/runs.c", 1, "f", "a;", ";"))
        assert trial._differing(names) == differing
        assert copy.asked == [names[3:6], [*names[6:], names[0]], names[1:3]][: 1 if names[4] in own else 3]


@pytest.mark.thorough
def test_a_test_that_fails_without_the_change_notices_nothing() -> None:
    class Unsound(_Copy):
        def run(self, file: str, limit_s: float, arguments: Sequence[str]) -> Found:
            super().run(file, limit_s, arguments)
            return Found(None if "--deselect" in arguments else ("t.py::t", "assert False"), 0.0)

    judge = _Judge()
    copy = Unsound({"covering-1": "0"})
    trial = Trial(cast(Judge, judge), cast(Copy, copy), Mutant("runtime/recorder/stream.c", 1, "f", "a;", ";"))
    assert trial.noticed()[0] == "t.py::t"
    judge.is_sound = lambda *_: False  # type: ignore[method-assign]
    assert trial.noticed()[0] == trying.SURVIVED
    assert copy.runs[-1][-2:] == ["--deselect", "t.py::t"]


@pytest.mark.thorough
def test_an_equivalent_change_has_the_same_object_code(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("int f(int a)\n{\n    return a + 1;\n}\n")
    before = of_tools(tmp_path)
    (tmp_path / "a.c").write_text("int f(int a)\n{\n    return 1 + a;\n}\n")
    assert of_tools(tmp_path) == before
    (tmp_path / "a.c").write_text("int f(int a)\n{\n    return a + 2;\n}\n")
    assert of_tools(tmp_path) != before
    assert of_design(trying.designs()["default"]) == of_design(trying.designs()["default"])


def test_a_changed_model_has_the_covering_designs_of_the_unchanged(tmp_path: Path) -> None:
    copy = Copy.__new__(Copy)
    copy.folder, copy.cached = tmp_path / "copy", tmp_path / "cache"
    for name in ("tests/covering.py", "tests/covering_numbers.py", "tests/covering_values.py", "model/changed.py"):
        (copy.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (copy.folder / name).write_text("")
    copy._keep_designs()
    (kept,) = copy.cached.rglob("*.json")
    named = kept_name(copy.folder / "tests/covering.py", copy.folder / "model")
    assert kept == copy.cached / "heapsmith" / named
    assert [tuple(rows) for rows in json.loads(kept.read_text())] == [rows_of(one) for one in covering_designs()]


def test_the_table_counts_what_is_listed_apart() -> None:
    """Unless a test notices it."""
    sample = [Mutant("model/heap/a.py", line, "f", str(line), "") for line in range(7)]
    by = [trying.UNBUILT, f"{trying.LIVES}[covering-1]", "tests/test_x.py::test_y", *2 * [trying.SURVIVED]]
    by.append(trying.EQUIVALENT)
    outcomes = {
        key(one): Outcome(one.file, one.line, one.before, one.after, way, "", 1, 1, "1")
        for one, way in zip(sample, by, strict=False)
    }
    listed = {key(one): Listed(one.file, one.before, "", "equivalent") for one in (sample[2], sample[4], sample[6])}
    assert summary(sample, outcomes, listed).rows[-1] == ["all", "7", "7", "1", "1", "1", "1", "2", "1", "66.7 %"]
    assert to_try(sample, outcomes, listed, again=False) == []
    assert to_try(sample, outcomes, listed, again=True) == [sample[3], sample[4], sample[6]]


def test_committed_outcomes_have_no_output_of_a_machine() -> None:
    """What a test printed names folders and addresses of where it ran."""
    assert {outcome.said for outcome in read(KNOWN).values()} == {""}
