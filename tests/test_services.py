"""Recipes for servers: the library is in the workers that do the work, and where it is not a line names the program."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import complaint

from heapsmith.bench.programs.services import SERVICES, lacking, place
from heapsmith.codegen.built import library_of
from heapsmith.model.design.design import load


@pytest.fixture(scope="module")
def library() -> Iterator[Path]:
    """The library of `default` where every user can read it."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(shutil.copy(library_of(load("default")), folder))


@pytest.fixture
def variables(shell_environment: dict[str, str], tmp_path: Path) -> dict[str, str]:
    """The environment of the services' scripts."""
    return shell_environment | {
        "PATH": f"{Path(sys.executable).parent}:{shell_environment['PATH']}",
        "HOME": str(tmp_path),
    }


def run_under(library: Path, work: Path, environment: dict[str, str], argument: str) -> tuple[str, str]:
    """What a service prints under `heapsmith run`, and what that says."""
    done = subprocess.run(
        ["heapsmith", "run", library, "--", "bash", "-eu", "job.sh", argument],
        cwd=work,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, complaint(done.stderr)


@pytest.mark.thorough
@pytest.mark.parametrize("name", SERVICES)
def test_a_line_names_the_worker_that_runs_without_the_library(
    name: str, tmp_path: Path, variables: dict[str, str], library: Path
) -> None:
    """The server as it is, and with the variable taken away from the process that works (SERVICES says how)."""
    if absent := lacking(name, variables["PATH"]):
        pytest.skip(f"not installed: {', '.join(absent)}")
    service = SERVICES[name]
    place(name, tmp_path / "served")
    place(name, tmp_path / "not")
    printed, said = run_under(library, tmp_path / "served", variables, service.plain)
    assert "does not serve" not in said
    assert any(character.isdigit() for character in printed), printed
    again, said = run_under(library, tmp_path / "not", variables, service.scrubbed)
    lines = [line for line in said.splitlines() if "does not serve" in line]
    assert len(lines) == 1, said
    assert any(f"does not serve {worker} (" in lines[0] for worker in service.workers), lines
    told = re.findall(r"(\S+) \((?:pid \d+|\d+ processes),", lines[0])
    assert len(told) == len(set(told)), f"workers are forks, of one reason: {lines[0]}"
    assert f"started without LD_PRELOAD by {service.by}" in lines[0]
    assert again == printed


@pytest.mark.thorough
def test_a_service_of_another_user_needs_a_library_that_it_can_read(
    tmp_path: Path, variables: dict[str, str], library: Path
) -> None:
    """PostgreSQL, whose loader says nothing in a log that anyone reads."""
    if os.geteuid() != 0:
        pytest.skip("expected root, who may start programs of another user")
    if absent := lacking("postgresql", variables["PATH"]):
        pytest.skip(f"not installed: {', '.join(absent)}")
    place("postgresql", tmp_path / "served")
    tmp_path.chmod(0o700)
    own = Path(shutil.copy(library, tmp_path / "libown.so"))
    _, said = run_under(own, tmp_path / "served", variables, "keep")
    (line,) = (line for line in said.splitlines() if "does not serve" in line)
    assert "libown.so does not serve postgres (" in line
    assert "its loader could not read the library, as user 65534; --everywhere" in line
