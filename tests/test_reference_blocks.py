"""The blocks of reference pages: each runs here, or is listed with the test that runs it or with why none does."""

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest
from conftest import Answer, complaint

from heapsmith import Trace
from heapsmith.codegen.built import library_of
from heapsmith.model.design.design import Design, load
from heapsmith.model.design.plan import make_plan
from heapsmith.tools.common.preload import preloadable

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent / "docs"
PAGES = ("api", "design-fields", "trace", "live", "recipes")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PID = "4711"
"""The number of a process on the pages, in whose place a test puts a real one."""

ELSEWHERE = {
    "api heapsmith build default -o libheap.a --static --target": "test_targets.py",
    "live heapsmith run sampling-ready -- ./service": "test_sampled_thread.py",
    "live if (hs_sample != NULL": "test_sampled_thread.py",
    "live heapsmith top 4711 --interval 15s": "test_top_metrics.py",
    "live                                                  keep_large": "test_sampled.py",
    "live Whose blocks keep slabs": "test_pinned.py",
    "live $ heapsmith core core.4711": "test_core.py",
    "trace memory            160.6 MiB were r": "test_resident_kinds.py",
    "recipes add_subdirectory(c)": "test_projects.py",
    "recipes # the folder is subprojects": "test_projects.py",
    "recipes # BUILD.bazel": "test_projects.py",
    "recipes FROM debian:12": "test_recipes.py",
    "recipes [program:job]": "test_starters.py",
    "recipes LD_PRELOAD=/usr/local/lib": "test_starters.py",
    'recipes echo "LD_PRELOAD = ': "test_other_users.py",
    "recipes sed -i '/^LD_PRELOAD/d'": "test_other_users.py",
    "recipes heapsmith record --everywhere -o /var/tmp": "test_other_users.py",
}
"""By page and begin of a block: the test of its commands or of its forms."""
WHY_NOT = {
    "recipes systemd-run": "no test has a system's manager of systemd; that of a user is in test_systemd.py",
    "recipes [Service]": "no unit of a test records; the drop-in's form is that of the shell blocks",
    "recipes FROM alpine": "no test fetches images; its commands run in the shell block below it",
    "recipes heapsmith record --everywhere -o job": "it preloads to all programs of the machine: test_served.py does",
}
"""By page and begin of a block: why no test runs it."""

SERVICE = """\
import time
held = [bytearray(600 + i % 900) for i in range(20_000)]
print("ready", flush=True)
while True:
    for i in range(2_000):
        held[i * 7 % len(held)] = bytearray(600 + i % 900)
    time.sleep(0.01)
"""
JOB = """\
#include <stdlib.h>
#include <string.h>
int main(void)
{
    void *held[1000];
    for (int i = 0; i < 1000; i++)
        held[i] = memset(malloc(2000), 1, 2000);
    for (int i = 0; i < 1000; i += 2)
        free(held[i]);
    return 0;
}
"""


def blocks(page: str) -> list[tuple[str, str]]:
    """The kind and the text of each block."""
    return BLOCK.findall((DOCS / f"{page}.md").read_text())


def block(page: str, begin: str) -> str:
    """The one block of a page that begins so."""
    (found,) = [text for _, text in blocks(page) if text.startswith(begin)]
    return found


def shell(command: str, folder: Path, environment: dict[str, str]) -> str:
    """What a command prints; it must succeed and complain of nothing."""
    words = ["bash", "-eu", "-o", "pipefail", "-c", command]
    done = subprocess.run(
        words, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + complaint(done.stderr)


@contextmanager
def service(design: str) -> Iterator[int]:
    """The number of a process that allocates all the time under a built-in design."""
    environment = os.environ | {"LD_PRELOAD": preloadable(library_of(load(design))), "PYTHONMALLOC": "malloc"}
    with subprocess.Popen([sys.executable, "-S", "-c", SERVICE], env=environment, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == b"ready\n"
            yield process.pid
        finally:
            process.kill()


def names_of(text: str) -> set[str]:
    """The words of a text that have no digit: what rows, columns and figures are called."""
    return {word for word in re.findall(r"[^\s(),:]+", text) if re.fullmatch(r"(?=.*[A-Za-z])[A-Za-z/-]{2,}[.]?", word)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the programs ./program and ./job, which is the same."""
    made = tmp_path_factory.mktemp("programs")
    (made / "job.c").write_text(JOB)
    subprocess.run(["gcc", "-g", "-O1", "-fno-builtin", "-o", "job", "job.c"], cwd=made, check=True)
    (made / "program").hardlink_to(made / "job")
    (made / "input.txt").touch()
    return made


def test_each_block_runs_somewhere_or_says_why_not() -> None:
    here = Path(__file__).read_text()
    listed = {**ELSEWHERE, **WHY_NOT}
    begins = [f"{page} {text}" for page in PAGES for kind, text in blocks(page) if (page, kind) != ("recipes", "sh")]
    for begin in begins:
        own = any(begin.startswith(f"{page} {word}") for page, word in re.findall(r'block\("(\w+)", "(.*?)"\)', here))
        assert own or any(begin.startswith(name) for name in listed), begin[:60]
    for name in listed:
        assert any(begin.startswith(name) for begin in begins), name
    assert all((HERE / test).exists() for test in ELSEWHERE.values())


@pytest.mark.thorough
def test_a_library_is_built_and_reports(folder: Path, shell_environment: dict[str, str]) -> None:
    assert '"design"' in shell(block("api", "heapsmith build default -o libheap.so"), folder, shell_environment)


def test_tables_of_designs_are_legal() -> None:
    fields = {name: value for name, value in msgspec.to_builtins(load("default")).items() if value is not None}
    for text in (block("api", "[release]"), block("api", "[shards]")):
        design = msgspec.convert(fields | tomllib.loads(text), Design)
        assert design.why_not_valid() is None
        assert make_plan(design).hash != make_plan(load("default")).hash


def test_a_line_of_print_is_as_the_page_has_it(call: Callable[..., Answer], tmp_path: Path) -> None:
    form, _, lines = block("trace", "<event's number>").partition("\n")
    events = [line.split() for line in lines.split("\n") if line]
    numbers = [[0 if word == "-" else int(word) for word in (*one[1:3], *one[4:])] for one in events]
    time_ns, thread, block_number, size, align = map(list, zip(*numbers, strict=True))
    Trace.from_arrays(
        tmp_path / "t.hst",
        op=[one[3] for one in events],
        block=block_number,
        size=size,
        thread=thread,
        time_ns=time_ns,
        align_log2=[max(0, one.bit_length() - 1) for one in align],
    )
    assert call("trace", "print", tmp_path / "t.hst").out.splitlines() == [line for line in lines.split("\n") if line]
    assert len(re.findall(r"<.*?>", form)) == 8


@pytest.mark.thorough
def test_a_program_and_a_process_are_recorded(folder: Path, shell_environment: dict[str, str]) -> None:
    *commands, last = block("live", "heapsmith record").strip().splitlines()
    for command in commands:
        assert " events of ./job input.txt" in shell(command, folder, shell_environment)
    with service("sampling-ready") as pid:
        now = last.replace(PID, str(pid)).replace("--seconds 60", "--seconds 1")
        assert f" --pid {pid} --seconds 1" in now
        assert " events of " in shell(now, folder, shell_environment)


@pytest.mark.thorough
@pytest.mark.parametrize(("begin", "design"), [("$ heapsmith top", "counting"), ("$ heapsmith pins", "default")])
def test_the_rows_of_a_view_are_called_so(
    begin: str, design: str, call: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    shown = {"$ heapsmith top": block("live", "$ heapsmith top"), "$ heapsmith pins": block("live", "$ heapsmith pins")}
    command, _, text = shown[begin].partition("\n")
    with service(design) as pid:
        words = command.replace("$ heapsmith ", "").replace(PID, str(pid)).split()
        said = call(*words, *(["--once", "--interval", "0.2s"] if words[0] == "top" else []))
    programs = {"perl", "job.pl", "job.py", "..."}
    assert names_of(text) - programs - names_of(said.out) == set()
    assert said.status == 0


@pytest.mark.thorough
def test_profiles_of_a_service_and_of_a_command(folder: Path, shell_environment: dict[str, str]) -> None:
    _, now, minute, command = block("live", "heapsmith run sampled").strip().splitlines()
    with service("sampled") as pid:
        for line in (now, minute.replace("--seconds 60", "--seconds 1")):
            assert "asked for" in shell(line.replace("PID", str(pid)), folder, shell_environment)
    assert "live" in shell(command, folder, shell_environment)


@pytest.mark.thorough
def test_a_program_asks_for_a_profile(folder: Path, tmp_path: Path, shell_environment: dict[str, str]) -> None:
    asks = block("live", "if (hs_profile_dump").replace("/tmp/heap", str(tmp_path / "heap"))
    shell("heapsmith build sampled -o libsampled.so --header heapsmith.h", folder, shell_environment)
    text = f'#include <stdio.h>\n#include "heapsmith.h"\nint main(void)\n{{\n{asks}return 0;\n}}\n'
    (folder / "asks.c").write_text(text)
    linked = "gcc -O1 -o asks asks.c -L. -Wl,--no-as-needed -lsampled"  # it calls no malloc itself
    assert linked.split("-L. ")[1].split(" -l")[0] in (DOCS / "api.md").read_text()
    assert shell(f"{linked} && LD_LIBRARY_PATH=. ./asks", folder, shell_environment) == ""
    (profile,) = tmp_path.glob("heap.*")
    assert profile.read_text().startswith("heap profile: ")
