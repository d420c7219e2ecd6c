"""Recipes for servers: the library is in the workers that do the work, and where it is not a line names the program."""

import json
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
    done = heapsmith(work, environment, "run", library, "--", "bash", "-eu", "job.sh", argument)
    return done.stdout, complaint(done.stderr)


def heapsmith(work: Path, environment: dict[str, str], *words: str | Path) -> "subprocess.CompletedProcess[str]":
    """A command in the folder of a service, which must succeed."""
    done = subprocess.run(
        ["heapsmith", *words],
        cwd=work,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


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
    reason = rf"started without LD_PRELOAD by ({service.by}|env|sh)\b"  # env or sh, which became it, was seen
    if name == "nginx":  # was seen when it had written its title over its environment
        reason += "|has overwritten its environment"
    assert re.search(reason, lines[0]), lines[0]
    assert again == printed


@pytest.mark.thorough
def test_a_service_of_another_user_gets_a_library_that_it_can_read(
    tmp_path: Path, variables: dict[str, str], library: Path
) -> None:
    """PostgreSQL, which root starts as another user: root's commands preload a copy of what that user cannot read."""
    if os.geteuid() != 0:
        pytest.skip("expected root, who may start programs of another user")
    if absent := lacking("postgresql", variables["PATH"]):
        pytest.skip(f"not installed: {', '.join(absent)}")
    place("postgresql", tmp_path / "served")
    tmp_path.chmod(0o700)
    own = Path(shutil.copy(library, tmp_path / "libown.so"))
    _, said = run_under(own, tmp_path / "served", variables, "keep")
    assert [line for line in said.splitlines() if "does not serve" in line] == []


DAEMON = """
. ./ask.sh
sed -i 's/daemon off;//' nginx.conf
user=$([ "$(id -u)" != 0 ] || echo 'user root;')
nginx -p "$PWD/" -c nginx.conf -g "$user"
trap 'left nginx.pid' EXIT
seq 100000 > data.txt; soon page; ask 3
pid=$(cat nginx.pid); kill -QUIT "$pid"; soon gone "$pid"
"""


@pytest.mark.thorough
@pytest.mark.parametrize(
    "way", ["run --wait default", "record --wait --json -o t.hst", "compare --rounds 1 --lib glibc --lib default"]
)
def test_a_script_sees_that_its_daemon_has_ended(way: str, tmp_path: Path, variables: dict[str, str]) -> None:
    """nginx makes itself a daemon, and its script waits until its process id has gone."""
    if absent := lacking("nginx", variables["PATH"]):
        pytest.skip(f"not installed: {', '.join(absent)}")
    place("nginx", tmp_path / "served")
    (tmp_path / "served" / "job.sh").write_text(DAEMON)
    done = heapsmith(tmp_path / "served", variables, *way.split(), "--", "bash", "-eu", "job.sh")
    assert "went on after the command's end" not in done.stderr + done.stdout
    assert "never" not in done.stderr
    if way.startswith("record"):
        found = json.loads(done.stdout)
        assert found["running"] == []
        assert any(one["program"][0].startswith("nginx") and one["events"] > 1000 for one in found["traces"])
