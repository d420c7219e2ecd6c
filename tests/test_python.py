"""The Python interface: its ten names, what their import costs, its examples, arrays in and out, frames, errors."""

import contextlib
import doctest
import importlib
import inspect
import io
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import heapsmith
from heapsmith.api.tuning import TuneOptions
from heapsmith.model.errors import BadInput, Missing

pytestmark = pytest.mark.usefixtures("own_outcomes")

ROOT = Path(__file__).resolve().parent.parent
NAMES = {"record", "Trace", "Design", "simulate", "tune", "generate", "build", "verify", "compare", "report"}
MODULES = ("traces", "designs", "models", "tuning", "programs")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


INTERFACE = Path(__file__).with_name("python_interface.txt")
"""What is promised: a line for each public name, with its parameters."""


def promised() -> list[str]:
    """The names, the members of their classes and of the results, with the names of their parameters."""
    lines = []
    for module in (*MODULES, "results"):
        found = importlib.import_module(f"heapsmith.api.{module}")
        classes = [one for one in vars(found).values() if inspect.isclass(one) and one.__module__ == found.__name__]
        for one in filter(lambda one: not one.__name__.startswith("_"), classes):
            own = {**vars(one), **getattr(one, "__annotations__", {})}
            members = [
                name for name in own if not name.startswith("_") or (name == "__init__" and one.__name__ in NAMES)
            ]
            lines += [f"{one.__name__}.{name}{parameters(vars(one).get(name))}" for name in members]
    functions = [name for name in NAMES if inspect.isfunction(getattr(heapsmith, name))]
    return sorted(lines + [f"{name}{parameters(getattr(heapsmith, name))}" for name in functions])


def parameters(member: object) -> str:
    """The parameters of a function: the name, whether it has a default, and the star before those that are named."""
    function = getattr(member, "__func__", member)
    if not inspect.isfunction(function):
        return ""
    told = []
    for one in inspect.signature(function).parameters.values():
        star = {one.VAR_KEYWORD: "**", one.KEYWORD_ONLY: "*, " * ("*, " not in "".join(told))}.get(one.kind, "")
        told.append(f"{star}{one.name}{'' if one.default is one.empty else '='}")
    return f"({', '.join(told)})"


def test_what_is_promised_is_kept() -> None:
    """A line that goes or changes breaks programs: from 1.0 on, only a major version may do so."""
    assert promised() == INTERFACE.read_text().splitlines()


def python_says(code: str) -> str:
    """What a new Python prints."""
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def test_there_are_ten_names() -> None:
    assert set(dir(heapsmith)) == set(heapsmith.__all__) == NAMES
    assert all(inspect.getdoc(getattr(heapsmith, name)) for name in NAMES)
    with pytest.raises(AttributeError, match="'heapsmith' has no attribute 'forge'"):
        _ = heapsmith.forge  # type: ignore[attr-defined]


def test_the_import_is_cheap() -> None:
    """Neither the import nor the look-up of all names imports a library; a call does."""
    heavy = "[n for n in ('numpy', 'numba', 'pandas', 'polars', 'typer', 'rich', 'scipy') if n in sys.modules]"
    bare = f"import sys, heapsmith; print([n for n in sys.modules if n.startswith('heapsmith.')], {heavy})"
    assert python_says(bare) == "[] []"
    every = f"import sys, heapsmith; [getattr(heapsmith, n) for n in heapsmith.__all__]; print({heavy})"
    assert python_says(every) == "[]"


@pytest.mark.parametrize("module", MODULES)
def test_every_parameter_and_result_has_a_type(module: str) -> None:
    """And every public method says what it does."""
    found = importlib.import_module(f"heapsmith.api.{module}")
    own = [one for one in vars(found).values() if getattr(one, "__module__", "") == found.__name__]
    assert own
    for one in own:
        members = [one, *vars(one).values()] if inspect.isclass(one) else [one]
        for member in members:
            function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
            if inspect.isfunction(function) and not function.__name__.startswith("_"):
                assert function.__doc__, function
                hints = function.__annotations__
                assert "return" in hints, function
                parameters = set(inspect.signature(function).parameters) - {"self", "cls"}
                assert parameters <= hints.keys(), function


LONG = {"build", "compare", "verify", "tune"}
"""Functions whose examples take a second or more: they compile C, or search."""
EXAMPLES = {
    test.name.removeprefix("heapsmith.api."): test
    for module in MODULES
    for test in doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(f"heapsmith.api.{module}"))
    if test.examples
}


def test_every_function_has_an_example() -> None:
    assert {name.split(".")[1] for name in EXAMPLES} >= NAMES


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.big if name.split(".")[1] in LONG else ()) for name in EXAMPLES],
)
def test_the_examples_of_docstrings_hold(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = doctest.DocTestRunner().run(EXAMPLES[name], clear_globs=False)
    assert outcome.attempted > 0
    assert outcome.failed == 0


def run_page(text: str) -> int:
    """Run the blocks of Python one after the other; a block without a language behind one is its output."""
    blocks = BLOCK.findall(text)
    names: dict[str, Any] = {}
    ran = 0
    for (language, code), (behind, expected) in zip(blocks, [*blocks[1:], ("", "")], strict=True):
        if language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(compile(code, "docs/python.md", "exec"), names)
            assert printed.getvalue() == ("" if behind else expected), code
            ran += 1
    return ran


PAGE = (ROOT / "docs/python.md").read_text()


def test_the_page_holds_up_to_the_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_page(PAGE.partition("\n## Tune")[0] + "\n## Errors" + PAGE.partition("\n## Errors")[2]) == 7


@pytest.mark.big
def test_the_page_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_page(PAGE) == 12


def test_columns_in_and_out(trace: Path, tmp_path: Path) -> None:
    """A recorded trace goes through arrays: the same events, whose blocks may have other numbers."""
    recorded = heapsmith.Trace(trace)
    columns = recorded.columns()
    assert len(recorded) == recorded.events == columns["op"].size
    assert {name: column.dtype.str[1:] for name, column in columns.items()} == {
        **{"op": "u1", "thread": "u4", "block": "u4", "size": "i8"},
        **{"align_log2": "u1", "time_ns": "i8", "processor": "i2"},
    }
    chunks = list(recorded.chunks())
    assert all(np.array_equal(np.concatenate([chunk[name] for chunk in chunks]), columns[name]) for name in columns)
    part = recorded.columns(first=100, count=50)
    assert all(np.array_equal(part[name], columns[name][100:150]) for name in columns)
    again = heapsmith.Trace.from_arrays(tmp_path / "again.hst", command=recorded.command, **columns)
    back = again.columns()
    assert all(np.array_equal(back[name], columns[name]) for name in columns.keys() - {"block"})
    assert again.command == recorded.command
    one, two = recorded.figures().to_dict(), again.figures().to_dict()
    told_by_recorder = {"path", "source", "bytes_on_disk", "bytes_per_event", "foreign_frees", "drops", "samples"}
    assert {name for name in one if one[name] != two[name]} <= told_by_recorder


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"op": ["malloc", "frees"]}, "op: 'frees'; expected malloc, calloc"),
        ({"op": [0, 8]}, "op: 8; expected 0 to 7"),
        ({"op": [0, 4.0]}, "op: expected 2 whole numbers, got float64"),
        ({"size": [1]}, r"size: expected 2 whole numbers, got int64 of shape \(1,\)"),
        ({"size": [-1, 0]}, "size: expected numbers from 0"),
        ({"block": [1, 2]}, "event 1: free of id 2, which is not live"),
        ({"op": [0, 0]}, "event 1: allocation of id 1, which is live"),
        ({"time_ns": [5, 4]}, "event 1: its time is before"),
        ({"align_log2": 99}, "align_log2: expected at most 62"),
        ({"align": [1, 1]}, "no column align; expected any of thread, align_log2, time_ns, processor"),
    ],
)
def test_arrays_that_are_no_trace(tmp_path: Path, columns: dict[str, Any], message: str) -> None:
    out = tmp_path / "a.hst"
    with pytest.raises(BadInput, match=f"{re.escape(str(out))}: not written: {message}"):
        heapsmith.Trace.from_arrays(out, **{"op": [0, 4], "block": [1, 1], "size": [8, 0]} | columns)
    assert list(tmp_path.iterdir()) == []


CALLS = st.lists(st.tuples(st.sampled_from([0, 2, 4]), st.integers(0, 3), st.integers(1, 99)), max_size=30)


@settings(max_examples=60, deadline=None)
@given(CALLS)
def test_any_arrays_are_a_trace_or_refused(calls: list[tuple[int, int, int]]) -> None:
    """By a dictionary of the live blocks: the live bytes after the last event, or the first event that cannot be."""
    live: dict[int, int] = {}
    wrong = None
    for event, (op, block, size) in enumerate(calls):
        if (op == 0) == (block in live):
            wrong = event
            break
        if op == 4:
            del live[block]
        else:
            live[block] = size
    op, block, size = ([call[column] for call in calls] for column in range(3))
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "a.hst"
        if wrong is not None:
            with pytest.raises(BadInput, match=f"event {wrong}: "):
                heapsmith.Trace.from_arrays(out, op=op, block=block, size=size)
            assert not out.exists()
            return
        trace = heapsmith.Trace.from_arrays(out, op=op, block=block, size=size)
        assert trace.columns()["op"].tolist() == op
        assert trace.figures().live_bytes_at_end == sum(live.values())


def tiny(folder: Path) -> heapsmith.Trace:
    """A trace of two allocations, one of them freed."""
    return heapsmith.Trace.from_arrays(folder / "a.hst", op=[0, 0, 4], block=[1, 2, 1], size=[24, 100, 0])


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames(library: Any, tmp_path: Path) -> None:
    """Trace and results become frames of either library, with equal contents."""
    pytest.importorskip(library)
    events = tiny(tmp_path).to_frame(library)
    assert events["op"].to_list() == ["malloc", "malloc", "free"]
    assert events["size"].to_list() == [24, 100, 0]
    found = heapsmith.simulate(tiny(tmp_path), ["lean", "bare"])
    table = found.to_frame(library)
    assert table["design"].to_list() == ["lean", "bare"]
    assert table["committed_peak"].to_list() == [row.committed_peak for row in found]
    assert table["counters.totals.superslabs"].to_list() == [row.totals["superslabs"] for row in found]


def test_a_frame_of_no_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadInput, match="library: 'arrow'; expected 'pandas' or 'polars'"):
        tiny(tmp_path).to_frame("arrow")  # type: ignore[call-overload]
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(Missing, match="polars is not installed: pip install polars"):
        tiny(tmp_path).figures().to_frame("polars")


def test_the_command_prints_what_the_function_returns(call: Any, tmp_path: Path) -> None:
    trace = tiny(tmp_path)
    answer = call("simulate", trace.path, "--design", "lean", "--machine", "default", "--json")
    found = heapsmith.simulate(trace, "lean", machine="default")
    assert drop_speed(json.loads(answer.out)) == drop_speed(json.loads(found.to_json()))
    ledgers = call("simulate", trace.path, "--design", "lean", "--bytes", "--at", "1", "--json")
    wanted = heapsmith.simulate(trace, "lean").bytes(at=[1])
    assert json.loads(ledgers.out)["ledgers"] == json.loads(wanted.to_json())["ledgers"]
    assert json.loads(call("trace", "info", trace.path, "--json").out) == json.loads(trace.figures().to_json())


def drop_speed(table: dict[str, Any]) -> dict[str, Any]:
    """A table without how fast the model was."""
    return table | {"rows": [row | {"events_per_second": 0} for row in table["rows"]]}


def test_bad_input_is_refused(tmp_path: Path) -> None:
    trace = tiny(tmp_path)
    for wrong in (
        lambda: heapsmith.Trace(tmp_path / "no.hst"),
        lambda: heapsmith.Design.load("defalt"),
        lambda: heapsmith.Design("a", [16, 40]),
        lambda: heapsmith.simulate(trace, "defalt"),
        lambda: heapsmith.simulate(trace, cores=[2]),
        lambda: heapsmith.simulate(trace, machine="none"),
        lambda: heapsmith.simulate(trace, "lean").bytes(at=[3]),
        lambda: heapsmith.tune(trace, simulations=1),
        lambda: heapsmith.tune(trace, max_time="fast"),
        lambda: heapsmith.build("lean", tmp_path),
        lambda: heapsmith.generate("lean", trace.path),
        lambda: heapsmith.verify("lean", tmp_path / "no.hst"),
        lambda: heapsmith.compare(["true"], ["glibc"], rounds=1, seconds=1),
        lambda: heapsmith.compare(["true"], []),
        lambda: heapsmith.compare([], ["glibc"]),
        lambda: heapsmith.report(trace, tmp_path),
        lambda: heapsmith.record(["no-such-program"], tmp_path / "b.hst"),
        lambda: heapsmith.record(["true"], tmp_path / "b.hst", stacks=999),
    ):
        with pytest.raises(BadInput):
            wrong()
    with pytest.raises(TypeError, match="unexpected keyword argument 'favor'"):
        heapsmith.tune(trace, favor="time")  # type: ignore[call-arg]
    assert [path.name for path in tmp_path.iterdir()] == ["a.hst"]


def test_tune_takes_the_options_of_the_command() -> None:
    """TuneOptions and the explicit parameters are the command's, but for those that make no sense in Python."""
    from heapsmith.commands.model import tune

    own = {*TuneOptions.__annotations__, *inspect.signature(heapsmith.tune).parameters} - {"options", "progress"}
    assert own == set(inspect.signature(tune).parameters) - {"out", "json", "scheduler"}


@pytest.mark.thorough
def test_a_design_keeps_its_reasons(tmp_path: Path) -> None:
    found = heapsmith.tune(tiny(tmp_path), simulations=2)
    path = found.design.save(tmp_path / "a.toml")
    assert heapsmith.Design.load(path) == found.design
    assert "#" in path.read_text()
    assert found.design.changed("b", slab_bytes=found.design.fields["slab_bytes"]).hash == found.design.hash
    assert found.design.plan()["hash"] == found.design.hash
    assert found.design in found.front


@pytest.mark.parametrize(
    ("said", "call"),
    [
        ("command: 'true'; expected a list of words", lambda path: heapsmith.record("true", path.with_name("b.hst"))),
        ("command: []; expected a list of words", lambda path: heapsmith.compare([], ["glibc"])),
        ("designs: expected at least one", lambda path: heapsmith.simulate(path, [])),
        ("traces: expected at least one", lambda path: heapsmith.tune([], simulations=2)),
        ("weight -1; expected above 0", lambda path: heapsmith.tune([(path, -1)], simulations=2)),
        ("favour: 'x'; expected one of", lambda path: heapsmith.tune(path, simulations=2, favour="x")),
        ("deaths: 'x'; expected one of", lambda path: heapsmith.simulate(path, machine="default", deaths="x")),
        ("times: 'x'; expected 'dense' or", lambda path: heapsmith.simulate(path, machine="default", times="x")),
    ],
)
def test_mistakes_are_bad_input(tmp_path: Path, said: str, call: Any) -> None:
    trace = heapsmith.Trace.from_arrays(tmp_path / "a.hst", op=["malloc", "free"], block=[1, 1], size=[24, 0])
    with pytest.raises(BadInput, match=re.escape(said)):
        call(Path(trace))
