"""The sample of mutants: what is drawn, which tests look at it, and what becomes of it in the log and the table."""

import json
from pathlib import Path

from covering import covering_designs, kept_name, rows_of

from heapsmith.bench.gates import mutants
from heapsmith.bench.gates.mutants import AREAS, Copy, Listed, Outcome, drawn, key, population, summary, table
from heapsmith.bench.gates.mutating import Mutant
from heapsmith.bench.gates.mutating_python import mutants as of_python

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
    assert not [test for tests in focus.values() for test in tests if not (mutants.ROOT / test).is_file()]


def test_what_is_listed_is_a_mutant_of_today() -> None:
    known = {key(one) for one in population()}
    assert not [one for one in table().listed if key(one) not in known]


def test_a_file_of_a_row_is_judged_by_designs_that_have_it() -> None:
    names = mutants.judges("runtime/heap/5_slab_policies/choice/two_active.c")
    designs = {one.name: one for one in mutants._designs()}
    assert len(names) == mutants.DESIGNS
    assert all(designs[name].slab_choice == "two_active" for name in names)
    assert mutants.judges("model/policy/choice/two_active.py") == names


def test_a_changed_line_is_noticed_and_the_file_is_as_before(tmp_path: Path) -> None:
    """The planted test of a copy looks at one line; a line that it does not look at is not noticed."""
    copy = Copy.__new__(Copy)
    copy.folder, copy.environment = tmp_path, {"PATH": "/usr/bin:/bin", **mutants.NO_BYTECODE}
    (tmp_path / "m.py").write_text(PYTHON)
    (tmp_path / "test_m.py").write_text("import m\n\ndef test_f() -> None:\n    assert m.f(7) == 7\n")
    (tmp_path / "conftest.py").write_text("from hypothesis import settings\n\nsettings.register_profile('unshrunk')\n")
    ways = {
        one.after.strip(): copy.changed(one, [["test_m.py"]])
        for one in of_python("m.py", PYTHON)
        if "+ 2" in one.after or "0" in one.after
    }
    assert ways["return 0"] == ("test_m.py::test_f", "assert 0 == 7")
    assert ways["g(a + 2)"] is None
    assert (tmp_path / "m.py").read_text() == PYTHON


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
    sample = [Mutant("model/heap/a.py", line, "f", str(line), "") for line in range(5)]
    by = ["does not compile", f"{mutants.LIVES}[covering-1]", "tests/test_x.py::test_y", "not noticed", "not noticed"]
    outcomes = {
        key(one): Outcome(one.file, one.line, one.before, one.after, way, "", "1", 1)
        for one, way in zip(sample, by, strict=True)
    }
    listed = {key(sample[4]): Listed(sample[4].file, "4", "", "equivalent")}
    assert summary(sample, outcomes, listed).rows[-1] == ["all", "5", "1", "1", "1", "1", "1", "66.7 %"]
