"""Arguments of the Python interface of a wrong type: one line names each, and what was expected."""

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_python import tiny

import heapsmith
from heapsmith.api.tuning import TuneOptions
from heapsmith.model.errors import BadInput

CALLS: dict[str, dict[str, Any]] = {
    "record": {"command": ["true"], "out": "b.hst"},
    "Trace": {"path": "a.hst"},
    "Design": {"name": "a", "sizes": [16]},
    "simulate": {"trace": "a.hst", "designs": "lean", "machine": "default"},
    "tune": {"traces": "a.hst", "simulations": 2},
    "generate": {"design": "lean", "folder": "c"},
    "build": {"design": "lean", "out": "lean.so"},
    "verify": {"design": "lean"},
    "compare": {"command": ["true"], "libraries": ["glibc"]},
    "report": {"sources": "a.hst", "out": "a.html"},
}
TRUTHS = {"only", "single", "everywhere", "latency", "resume", "replay", "huge_pages", "check", "checked", "static"}
TRUTHS |= {"glibc", "crate", "frees"}
"""Parameters that take any value, as true or false."""


def arguments(name: str) -> list[str]:
    """The parameters and options of a name that take a value of some type."""
    found = inspect.signature(getattr(heapsmith, name)).parameters.values()
    own = {one.name for one in found if one.kind is not one.VAR_KEYWORD}
    return sorted((own | set(TuneOptions.__annotations__ if name == "tune" else ())) - TRUTHS)


@pytest.mark.parametrize(("name", "argument"), [(name, one) for name in CALLS for one in arguments(name)])
def test_an_argument_of_a_wrong_type_is_named(
    name: str, argument: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one line, before any work; `sizes` and parts of blocks have words of their own."""
    monkeypatch.chdir(tmp_path)
    tiny(tmp_path)
    with pytest.raises(
        (TypeError, BadInput), match=rf"^({name}|a: sizes|births|deaths): .*[eE]xpected [^\n]*$"
    ) as error:
        getattr(heapsmith, name)(**CALLS[name] | {argument: object()})
    assert argument in str(error.value)
    assert [path.name for path in tmp_path.iterdir()] == ["a.hst"]


def test_numbers_and_arrays_of_numpy_will_do(tmp_path: Path) -> None:
    trace = tiny(tmp_path)
    assert len(trace.columns(np.int32(1), np.uint8(1))["op"]) == 1
    found = heapsmith.simulate(trace, iter(["lean"]))
    assert found.bytes(at=np.array([1])).to_dict() == found.bytes(at=[1]).to_dict() != found.bytes().to_dict()


def test_items_of_a_wrong_type_are_shown(tmp_path: Path) -> None:
    trace = tiny(tmp_path)
    several = r"Design \| str \| PathLike\[str\] \| Iterable\[Design \| str \| PathLike\[str\]\] \| None"
    with pytest.raises(TypeError, match=rf"^simulate: designs: expected {several}, got \['lean', 3\]$"):
        heapsmith.simulate(trace, ["lean", 3])  # type: ignore[list-item]
    with pytest.raises(TypeError, match=r"^tune: hold_out: expected .*, got \[None\]$"):
        heapsmith.tune(trace, hold_out=[None])  # type: ignore[list-item]
    with pytest.raises(TypeError, match=r"^Trace.columns: count: expected int \| None, got 'x'$"):
        trace.columns(0, "x")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'trace'"):
        heapsmith.simulate()  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("name", "argument", "least"),
    [("tune", "simulations", 2), ("tune", "seed", 0), ("tune", "cores", 1), ("compare", "rounds", 1)],
)
def test_a_number_below_the_least_is_refused(name: str, argument: str, least: int) -> None:
    """As on the command line; nothing is run or read before."""
    with pytest.raises(BadInput, match=f"^{argument}: expected at least {least}, not {least - 1}$"):
        getattr(heapsmith, name)(**CALLS[name] | {argument: least - 1})
