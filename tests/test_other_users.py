"""Programs of other users than the one that records: what gives up root's rights, and PostgreSQL by its recipes."""

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from recipes import section
from test_services import heapsmith, library, variables

from heapsmith.bench.programs.services import lacking, place
from heapsmith.codegen.toolchain import compile_c
from heapsmith.model.trace.stats import trace_info
from heapsmith.tools.record.record import Processes, record

SECTION = section("A canary of PostgreSQL", level=3)
CONTROL = 'pg_ctlcluster --skip-systemctl-redirect "$version" main'
BEGIN = """
. ./ask.sh
folder=$PWD/cluster
mkdir "$folder"
. ./cluster.sh
"""
LOOK = "ask \"select pg_read_file('/proc/self/maps') like '%libheap.so%', sum(n) from generate_series(1, 1000) n\"\n"
"""Whether the process that answers has the library, and an answer."""
RECORD = """
soon ask 'select 1'
ask "$work"
kill -TERM $!
wait $! || echo "status $?"
"""

GIVES_UP = """
#include <stdlib.h>
#include <unistd.h>
/* More events than the first windows of a spool have room for, most of them as another user. */
int main(void)
{
    free(malloc(50));
    if (setgid(65534) != 0 || setuid(65534) != 0)
        return 1;
    for (int i = 0; i < 20000; i++) {
        void *volatile block = malloc(100 + i % 50);
        free(block);
    }
    return 0;
}
"""

TELLS = """
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
/* The mode and the owner of this process's spool. */
static void tell(const char *when)
{
    char path[4096];
    struct stat found;
    snprintf(path, sizeof path, "%s/%d.0.spool", getenv("HEAPSMITH_RECORD"), (int)getpid());
    if (stat(path, &found) != 0)
        exit(1);
    printf("%s: %o %d\\n", when, (unsigned)found.st_mode & 07777, (int)found.st_uid);
    fflush(stdout);
}
int main(void)
{
    free(malloc(50));
    tell("at first");
    pid_t child = vfork();
    if (child == 0)
        _exit(setuid(65534));
    waitpid(child, NULL, 0);
    child = fork();
    if (child == 0)
        _exit(setresuid(65534, 65534, 65534));
    waitpid(child, NULL, 0);
    if (seteuid(65534) != 0 || seteuid(0) != 0 || setresuid(-1, 65534, 0) != 0 || setreuid(-1, 0) != 0)
        return 1;
    tell("root can come back");
    WAY
    tell("for good");
    return 0;
}
"""
WAYS = {
    "setuid(65534)": "65534",
    "setreuid(65534, 65534)": "65534",
    "setresuid(65534, 65534, 65534)": "65534",
    "setuid(0)": "0",
}
"""How a process changes its user for good, and whose its spool is then."""

__all__ = ["library", "variables"]
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="expected root, who may start programs of another user")


@pytest.fixture
def service(variables: dict[str, str]) -> Iterator[Path]:
    """The files of the service, in a folder that the server's user can enter and write to."""
    if absent := lacking("postgresql", variables["PATH"]):
        pytest.skip(f"not installed: {', '.join(absent)}")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        place("postgresql", Path(folder) / "service")
        (Path(folder) / "service").chmod(0o777)
        yield Path(folder) / "service"


def blocks(library: Path) -> list[str]:
    """The blocks of the recipe, with a cluster's own places and program in the place of the usual ones."""
    texts = re.findall(r"^```\n(.*?)^```$", SECTION, re.MULTILINE | re.DOTALL)
    places = {
        "/etc/postgresql/15/main": "$PG_CLUSTER_CONF_ROOT/$version/main",
        "/var/lib/postgresql/15/main": "$folder/data",
        "pg_ctlcluster 15 main": CONTROL,
        "/usr/local/lib/libheap.so": str(library),
        "/var/tmp/traces": "traces",
        "pg_ctlcluster --skip-systemctl-redirect 15 main": CONTROL,
    }
    for usual, own in places.items():
        assert any(usual in text for text in texts), usual
        texts = [text.replace(usual, own) for text in texts]
    return texts


def ran(script: str, service: Path, environment: dict[str, str]) -> str:
    """What a script prints in the service's folder; it must succeed."""
    words = ["bash", "-eu", "-o", "pipefail", "-c", script]
    done = subprocess.run(
        words, cwd=service, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.thorough
def test_a_canary_has_the_library_and_goes_back(service: Path, variables: dict[str, str], library: Path) -> None:
    """Before, under the canary, after: the process that answers a client says which."""
    named = Path(shutil.copy(library, service.parent / "libheap.so"))
    canary, back, _ = blocks(named)
    stop = f"trap '{CONTROL} stop' EXIT\n"
    printed = ran(BEGIN + stop + f"{CONTROL} start\n" + LOOK + canary + LOOK + back + LOOK, service, variables)
    assert re.findall(r"^([tf])\|(\d+)$", printed, re.MULTILINE) == [("f", "500500"), ("t", "500500"), ("f", "500500")]
    shown = printed.partition("\nt|")[0]
    assert re.search(r"postgres\S* .*-D ", shown)
    assert re.search(r"^default [0-9a-f]{12}", shown, re.MULTILINE)


@needs_root
@pytest.mark.thorough
def test_a_recording_of_the_server_has_its_backends(service: Path, variables: dict[str, str], library: Path) -> None:
    (service / "traces").mkdir()
    (service / "traces").chmod(0o777)
    *_, recipe = blocks(library)
    ran(BEGIN + recipe.rstrip() + " > server.log 2>&1 &\n" + RECORD, service, variables)
    dropped = re.findall(r"DROPPED of (\S+)", (service / "server.log").read_text())
    assert set(dropped) <= {"/usr/bin/perl"}  # pg_ctlcluster, which keeps a way back to root until it is the server
    traces = sorted((service / "traces").glob("*.hst"), key=lambda one: one.stat().st_size)
    assert len(traces) > 5  # the server, what works for it all the time, and the clients' backends
    told = [trace_info(one) for one in traces]
    assert {Path(one.command[0]).name for one in told} >= {"postgres"}
    assert max(one.peak_live_bytes for one in told) > 1 << 20


@needs_root
@pytest.mark.thorough
def test_a_comparison_of_the_server(service: Path, variables: dict[str, str], library: Path) -> None:
    """The answers are the same, and all that works has the library."""
    words = ("compare", "--everywhere", "--json", "--rounds", "1", "--lib", "glibc", "--lib", library)
    done = heapsmith(service, variables, *words, "--", "bash", "-eu", "job.sh", "keep")
    found = json.loads(done.stdout)
    assert "does not serve" not in done.stderr
    assert len(found["rows"]) == 2


@needs_root
@pytest.mark.parametrize("everywhere", [False, True])
def test_a_program_that_gives_up_rights_is_recorded_to_its_end(everywhere: bool) -> None:
    """Of servers the workers do so; without --everywhere what they lose is counted."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "job.c").write_text(GIVES_UP)
        job = compile_c([folder / "job.c"], folder / "job", flags=["-O1", "-fno-builtin"])
        found = record([str(job)], folder / "t.hst", processes=Processes(everywhere=everywhere))
    (trace,) = found.traces
    assert found.exit_status == 0
    assert trace.events + trace.drops >= 40_000
    assert (trace.drops == 0) == everywhere


@needs_root
@pytest.mark.parametrize("way", WAYS)
def test_a_spool_is_open_to_its_process_alone(way: str) -> None:
    """A child that has root's memory, or no event yet, hands nothing of its parent over."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "job.c").write_text(TELLS.replace("WAY", f"if ({way} != 0) return 1;"))
        job = compile_c([folder / "job.c"], folder / "job", flags=["-O1", "-fno-builtin", "-D_GNU_SOURCE"])
        with (folder / "said").open("w") as said:
            found = record([str(job)], folder / "t.hst", stdout=said, processes=Processes(everywhere=True))
        lines = (folder / "said").read_text().splitlines()
    assert found.exit_status == 0
    assert lines == ["at first: 600 0", "root can come back: 600 0", f"for good: 600 {WAYS[way]}"]
