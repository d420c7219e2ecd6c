"""Supervisor and cron start a job with the library by the blocks of docs/recipes.md, and the job writes its report."""

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from mounts import OWN_MOUNTS, WHY_NOT, everywhere_works
from recipes import section

from heapsmith.codegen.built import library_of
from heapsmith.model.design.design import load
from heapsmith.tools.common.processes import descendants

SECTION = section("A supervisor, cron")
JOB = "#!/bin/sh\nexec perl -e 'my @kept = map { \"x\" x $_ } 1 .. 2000; print scalar @kept, qq(\\n)'\n"
SUPERVISORD = """\
[supervisord]
nodaemon=true
user={user}
logfile={folder}/supervisord.log
pidfile={folder}/supervisord.pid

"""
CRON = """
mount -t tmpfs none /run
mount -t tmpfs none /var/spool/cron
mkdir -p /var/spool/cron/crontabs empty
touch empty/crontab
mount --bind empty/crontab /etc/crontab
mount --bind empty /etc/cron.d
install -m 600 table /var/spool/cron/crontabs/root
exec cron -f
"""
"""In mounts of its own, so that no other table of the machine has a job."""


@pytest.fixture
def places(tmp_path: Path) -> dict[str, str]:
    """Where files of the blocks lie in a test: the job, the library, and the folders of the reports."""
    (tmp_path / "job").write_text(JOB)
    (tmp_path / "job").chmod(0o755)
    shutil.copy(library_of(load("default")), tmp_path / "libheap.so")
    return {
        "/srv/job": str(tmp_path / "job"),
        "/usr/local/lib/libheap.so": str(tmp_path / "libheap.so"),
        "/run/job-%%p.json": f"{tmp_path}/report-%%p.json,metrics={tmp_path}/%%p.prom",
        "/var/tmp/job-%p.json": f"{tmp_path}/report-%p.json,metrics={tmp_path}/%p.prom",
    }


def block(begin: str, places: dict[str, str]) -> str:
    """The block of the section that begins so, with the places of a test."""
    (text,) = [one for one in re.findall(r"^```\w*\n(.*?)^```$", SECTION, re.M | re.S) if one.startswith(begin)]
    return with_places(text, places)


def with_places(text: str, places: dict[str, str]) -> str:
    for ours, tests in places.items():
        text = text.replace(ours, tests)
    return text


@contextmanager
def started(command: list[str], folder: Path) -> Iterator[int]:
    """The process of a daemon, until the body has seen what it is for."""
    bare = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG")}
    with (folder / "said").open("wb") as said:
        process = subprocess.Popen(
            command, cwd=folder, env=bare, stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True
        )
    try:
        yield process.pid
    finally:
        process.terminate()
        process.wait()


def reports(folder: Path, programs: set[str]) -> set[str]:
    """The programs that left a report, once there is one of each of `programs`, or after two minutes."""
    found: set[str] = set()
    end = time.monotonic() + 120
    while not found >= programs and time.monotonic() < end:
        time.sleep(0.05)
        found = {name_of(one) for one in folder.glob("report-*.json")}
    assert found >= programs, (folder / "said").read_text()
    return found


def name_of(report: Path) -> str:
    """The program that wrote a report, as its metrics name it: both files have the number of the process."""
    of = json.loads(report.read_text())
    assert of["design"].startswith("default ")
    assert report.stem == f"report-{of['pid']}"
    metrics = (report.parent / f"{of['pid']}.prom").read_text()
    (program,) = set(re.findall(r'program="([^ "]*)', metrics))
    return Path(program).name


def has_no_child(pid: int) -> bool:
    """Whether a daemon has waited for all that it started, within two minutes."""
    end = time.monotonic() + 120
    while descendants(pid) and time.monotonic() < end:
        time.sleep(0.05)
    return not descendants(pid)


@pytest.mark.thorough
def test_a_program_of_supervisor_has_the_library(tmp_path: Path, places: dict[str, str]) -> None:
    if shutil.which("supervisord") is None:
        pytest.skip("supervisord is not installed (package supervisor)")
    user = "root" if os.geteuid() == 0 else str(os.geteuid())
    text = SUPERVISORD.format(folder=tmp_path, user=user) + block("[program:job]", places)
    (tmp_path / "supervisord.conf").write_text(text)
    with started(["supervisord", "-c", str(tmp_path / "supervisord.conf")], tmp_path):
        assert "perl" in reports(tmp_path, {"perl"})


@pytest.mark.thorough
@pytest.mark.skipif(not everywhere_works(), reason=WHY_NOT)
@pytest.mark.parametrize(
    ("line", "more", "programs"),
    [("table", "", {"perl"}), ("table", "; touch done", {"perl", "touch"}), ("spared", "; touch done", {"perl"})],
)
def test_a_job_of_cron_has_the_library(
    tmp_path: Path, places: dict[str, str], line: str, more: str, programs: set[str]
) -> None:
    """At the start of cron in place of five past. A program that the line has behind the job leaves a report too."""
    if shutil.which("cron") is None:
        pytest.skip("cron is not installed (package cron)")
    table = block("LD_PRELOAD=", places).rstrip()
    if line == "spared":
        (text,) = re.findall(r"`(5 \* \* \* \* env .*?)`", SECTION.replace("\n", " "))
        words = places["/var/tmp/job-%p.json"].replace("%", r"\%")
        table = with_places(text, places).replace("env ", f"env HEAPSMITH=stats={words} ")
    assert table.count("5 * * * *") == 1
    (tmp_path / "table").write_text(
        table.replace("5 * * * *", "@reboot") + more.replace("done", f"{tmp_path}/done") + "\n"
    )
    with started([*OWN_MOUNTS, "bash", "-eu", "-c", CRON], tmp_path) as cron:
        reports(tmp_path, programs)
        assert has_no_child(cron)  # so that no other report comes
        assert reports(tmp_path, programs) == programs
