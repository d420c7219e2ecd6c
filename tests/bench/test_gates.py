"""The gates that build: packages under interpreters, and all C under other compilers."""

import os
import platform
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from heapsmith.bench.gates import compilers, packages
from heapsmith.bench.gates.compilers import Outcome
from heapsmith.codegen.generate import generate
from heapsmith.codegen.layers import RUNTIME
from heapsmith.codegen.toolchain import find_compiler, find_gcc
from heapsmith.model.design.design import load
from heapsmith.model.errors import Missing

DEBIAN = compilers.FILE.with_name("debian.sh")


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_an_interpreter_says_its_version_or_is_left_out(tmp_path: Path) -> None:
    assert packages.version_of(sys.executable) == platform.python_version()
    assert packages.version_of(str(tmp_path / "none")) is None
    with pytest.raises(Missing, match="none of no-such-python runs"):
        packages.trials([tmp_path / "some.whl"], ["no-such-python"])


def test_the_step_that_fails_is_named(tmp_path: Path) -> None:
    fails = script(tmp_path / "python3", "echo first; echo no such module >&2; exit 5")
    trial = packages.attempt(tmp_path / "some.whl", str(fails), "3.99")
    assert (trial.package, trial.python) == ("some.whl", "3.99")
    assert trial.failed is not None
    assert trial.failed.startswith("python3 -m venv ")
    assert trial.failed.endswith(": status 5: no such module")


def test_a_compiler_that_complains_of_the_tools(tmp_path: Path) -> None:
    complains = script(
        tmp_path / "cc", "[ $1 = --version ] && echo cc 1 && exit\necho file.c:1: error: odd >&2\nexit 1"
    )
    outcome = Outcome(compiler="cc", version="cc 1")
    compilers.tools(outcome, find_compiler(str(complains)))
    assert outcome.files == len(outcome.faults) == sum(len(list((RUNTIME / at).glob("*.c"))) for at in compilers.TOOLS)
    assert all(fault.endswith("file.c:1: error: odd") for fault in outcome.faults)


@pytest.mark.thorough
def test_gcc_complains_of_no_tool() -> None:
    outcome = Outcome(compiler="gcc", version="")
    compilers.tools(outcome, find_gcc())
    assert outcome.faults == []


def test_another_debian_says_what_is_missing(tmp_path: Path) -> None:
    path = {"PATH": str(tmp_path)}
    (tmp_path / "id").symlink_to("/usr/bin/id")
    words: list[str | Path] = ["/bin/sh", DEBIAN, tmp_path / "root", "sid"]
    few = subprocess.run(words, env=path, capture_output=True, text=True, check=False)
    assert (few.returncode, few.stderr) == (2, f"usage: sh {DEBIAN} FOLDER SUITE PYTHON [COMPILER]...\n")
    lacks = subprocess.run([*words, "python3"], env=path, capture_output=True, text=True, check=False)
    assert lacks.returncode == 3
    assert ("debootstrap not found" if os.geteuid() == 0 else "expected root") in lacks.stderr


@pytest.mark.big
def test_every_library_is_compared_with_the_model() -> None:
    (outcome,) = compilers.examine([load("default"), load("lean")], {"gcc": find_gcc()})
    assert outcome.faults == []
    assert outcome.libraries == 2
    assert outcome.addresses > 1000


@pytest.mark.big
def test_a_library_of_another_design_differs(tmp_path: Path) -> None:
    outcomes = {"gcc": Outcome(compiler="gcc", version="")}
    generate(load("lean"), tmp_path / "lean")
    compilers.libraries(load("lean"), tmp_path / "lean", {"gcc": find_gcc()}, outcomes)
    assert outcomes["gcc"].faults == []
    (program,) = [row for row in compilers.programs(tmp_path / "inputs", scale=0.01) if row.name == compilers.PROGRAM]
    trace = compilers.trace_of(program, tmp_path / "recorded")
    compilers.compare(load("default"), tmp_path / "lean", trace, outcomes)
    (fault,) = outcomes["gcc"].faults
    assert fault.startswith("default: ")
