"""What commands print with --json fits the schema of `schema COMMAND`; without one of its fields it does not."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
from conftest import Answer
from test_core import dumped
from test_pinned import waiting
from test_top import stepped

from heapsmith.codegen.built import library_of
from heapsmith.commands.designs import Kind
from heapsmith.commands.guide import QUESTIONS, guide
from heapsmith.commands.schemas import RESULTS
from heapsmith.model.design.design import load
from heapsmith.model.toml_text import SCHEMA_KINDS

Call = Callable[..., Answer]

JOB = ["perl", "-e", "my @kept = map { 'x' x $_ } 1 .. 3000; print scalar @kept"]
QUICK = ["trace info T", "trace info T T", "designs", "doctor", "simulate T --design default", "diff T T"]
LONG = ["design show default", "simulate T --design default --machine default"]
LONG += [
    "simulate T --design default --bytes --machine default",
    "simulate T --design default --machine default --latency",
]
LONG += ["record -o new.hst -- JOB", "sites S", "sites S --design default --design lean", "leaks S", "diff S S"]
LONG += ["tune T -o new.toml --simulations 3", "verify default T", "replay T --lib glibc --lib default --rounds 1"]
LONG += ["compare --lib glibc --lib default --rounds 1 -- JOB", "check --baseline new.json --runs 2 -- JOB"]
LONG += ["guard default T --baseline kept.json", "profile --mean 4096 -- JOB"]
LONG += ["forge -o new --rounds 1 --budget 4s -- JOB"]
APART = {"top", "pins", "core"}
"""Commands that look at processes, which a test starts."""


def named(words: str) -> str:
    """The name of the schema of a command's result."""
    first, second = [*words.split(), ""][:2]
    return f"{first}-{second}" if first in ("trace", "design") else first


def fits(call: Call, name: str, found: Any) -> None:
    """The result is as the schema says, and each field of it is needed."""
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    schema = json.loads(call("schema", name).out)
    judge = jsonschema.validators.validator_for(schema)(schema)
    judge.check_schema(schema)
    assert [str(error) for error in judge.iter_errors(found)] == []
    assert found
    found = found[:1] if isinstance(found, list) else found
    whole = found[0] if isinstance(found, list) else found
    for field in list(whole):
        kept = whole.pop(field)
        assert not judge.is_valid(found) or optional(schema, field), field
        whole[field] = [[[[]]]]  # no field is such a list
        assert not judge.is_valid(found), field
        whole[field] = kept


def optional(schema: dict[str, Any], field: str) -> bool:
    """Whether no type of the whole result asks for this field."""
    head = json.dumps({name: its for name, its in schema.items() if name != "$defs"})
    types = re.findall(r"#/\$defs/(\w+)", head)
    return not any(field in schema["$defs"][one].get("required", []) for one in types)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, trace: Path) -> dict[str, str]:
    """The words of the commands that stand for others: traces, one of them with call stacks, and a program."""
    sited = tmp_path_factory.mktemp("sited") / "s.hst"
    words = ["record", "--only", "--stacks", "--frees", "-o", str(sited), "--", *JOB]
    subprocess.run([sys.executable, "-m", "heapsmith", *words], check=True, stdout=subprocess.DEVNULL)
    return {"T": str(trace), "S": str(sited)}


@pytest.mark.parametrize("words", [*QUICK, *(pytest.param(one, marks=pytest.mark.thorough) for one in LONG)])
def test_a_result_fits_its_schema(
    call: Call, files: dict[str, str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CI", raising=False)  # with it `check` makes no first baseline
    if words.startswith("guard"):
        assert call("guard", "default", files["T"], "--baseline", "kept.json", "--write").status == 0
    before, dashes, program = words.partition(" -- ")
    given = [files.get(word, word) for word in before.split()]
    answer = call(*given, "--json", *(["--", *JOB] if dashes else []))
    assert (answer.status, bool(program) == bool(dashes)) == (0, True), answer.err
    fits(call, named(words), json.loads(answer.out))


@pytest.mark.thorough
def test_looks_at_processes_fit_theirs(call: Call, tmp_path: Path) -> None:
    with stepped("default", tmp_path) as run:
        run.step("k")
        fits(call, "top", json.loads(call("top", run.pid, "--once", "--json", "--interval", "0.05s").out))
    with waiting("sampled", 20_000) as pid:
        fits(call, "pins", json.loads(call("pins", pid, "--json").out))


@pytest.mark.thorough
def test_a_core_fits_its_schema(call: Call, tmp_path: Path) -> None:
    core = dumped(tmp_path, library_of(load("default")), "none")
    fits(call, "core", json.loads(call("core", core, "--json").out))


def test_each_schema_is_tried_and_the_guide_names_it() -> None:
    assert {named(words) for words in (*QUICK, *LONG)} | APART == RESULTS.keys()
    assert get_args(Kind) == (*SCHEMA_KINDS, *RESULTS)
    assert {named(words) for _, words in QUESTIONS if "--json" in words} <= RESULTS.keys()
    assert set(re.findall(r"`heapsmith schema ([\w-]+)`", guide())) == set(get_args(Kind))


def test_only_files_have_a_line(call: Call) -> None:
    answer = call("schema", "sites", "--line")
    assert (answer.status, answer.out) == (2, "")
    assert answer.err == "heapsmith: --line: is of files; expected one of design, machine, grid\n"
