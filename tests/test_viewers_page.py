"""Do the commands for viewers in docs/other-tools.md run as they stand there, and are its tables those of the code?"""

import ast
import json
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import viewers
from conftest import Answer

from heapsmith.tools.profiles.formats import FORMATS
from heapsmith.tools.profiles.made import COUNTED, LIFETIME

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE = (DOCS / "other-tools.md").read_text().partition("\n## Viewers\n")[2].partition("\n## Change a trace\n")[0]
COMMANDS = re.findall(r"^heapsmith (.*)$", PAGE, re.MULTILINE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the traces that the page names."""
    folder = tmp_path_factory.mktemp("page")
    every, fewer = viewers.traces_of_program(folder)
    for name in ("job", "before"):
        (folder / f"{name}.hst").hardlink_to(every)
    fewer.rename(folder / "after.hst")
    return folder


@pytest.mark.parametrize("line", COMMANDS)
def test_the_command_runs(
    call: Callable[..., Answer], folder: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    if "pprof" in line:
        pytest.importorskip("google.protobuf", reason="pprof's profiles are messages of protobuf")
    monkeypatch.chdir(folder)
    words = shlex.split(line.partition("|")[0])
    answer = call(*words)
    assert answer.status == 0, answer.err
    assert answer.out or Path(words[-1]).stat().st_size > 0


@pytest.mark.thorough
def test_report_writes_the_stacks_under_its_designs(call: Callable[..., Answer], folder: Path, tmp_path: Path) -> None:
    """With a viewer's format: those of `sites` under the designs of the page, or under others."""
    trace, page = folder / "job.hst", tmp_path / "page.json"
    expected = call("sites", trace, "--design", "default", "--design", "lean", "--format", "speedscope").out
    written = json.loads(call("report", trace, "--format", "speedscope", "-o", page, "--json").out)
    assert page.read_text() == expected
    assert (written["bytes"], written["designs"]) == (len(expected), ["default", "lean"])
    weighted = (trace, "--format", "collapsed", "--weight", "pinned_lean", "--design", "lean")
    assert call("report", *weighted, "-o", "-").out == call("sites", *weighted).out != ""


def test_the_tables_are_those_of_the_code() -> None:
    assert len(COMMANDS) == 5
    rows = re.findall(r"^\| `(\w+)` \| .* \| (yes|no) \|$", PAGE, re.MULTILINE)
    assert rows == [(name, "yes" if one.has_differences else "no") for name, one in FORMATS.items()]
    quantities = PAGE.partition("### Quantities")[2].partition("### Differences")[0]
    named = re.findall(r"`([a-zA-Z_]+)`", "".join(re.findall(r"^\| (`.*?) \|", quantities, re.MULTILINE)))
    assert set(named) == {one.name for one in (*COUNTED.values(), LIFETIME)} | {"pinned_DESIGN", "waste_DESIGN"}


def marks_of(statement: ast.FunctionDef | ast.Module) -> list[str]:
    """What marks a test, or all tests of a file."""
    if isinstance(statement, ast.FunctionDef):
        return [ast.unparse(one) for one in statement.decorator_list]
    return [ast.unparse(one) for one in statement.body if ast.unparse(one).startswith("pytestmark")]


def test_each_format_names_the_test_that_holds_it() -> None:
    """Such a test is there, is no long one, and every format has one."""
    told = (DOCS / "lab" / "testing.md").read_text().partition("## Who reads")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.*?) \| .* \| `(\w+\.py)::(\w+)` \|$", told, re.MULTILINE)
    assert len(rows) == told.count("\n| ") - 1
    for form, file, name in rows:
        module = ast.parse((Path(__file__).parent / file).read_text())
        [test] = [one for one in module.body if isinstance(one, ast.FunctionDef) and one.name == name]
        assert not [mark for mark in marks_of(test) + marks_of(module) if "mark.big" in mark], form
    assert {form.strip("`") for form, *_ in rows} >= FORMATS.keys()


@pytest.mark.parametrize(("form", "package"), [("otlp", "opentelemetry"), ("perfetto", "perfetto")])
def test_a_package_that_lacks_is_said_at_once(
    call: Callable[..., Answer], tmp_path: Path, form: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    (tmp_path / "no trace").touch()
    answer = call("sites", tmp_path / "no trace", "--format", form, "-o", tmp_path / "profile")
    assert (answer.status, answer.err.count("\n")) == (3, 1)
    assert "heapsmith[exports]" in answer.err
