"""The demo: its program is one that every Debian runs; and what README says that `default` does not stop."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Answer

from heapsmith.codegen.built import library_of
from heapsmith.codegen.toolchain import compile_c
from heapsmith.model.design.design import load
from heapsmith.tools.common.preload import preloadable

ROOT = Path(__file__).resolve().parent.parent
JOB = ROOT / "bench" / "programs" / "demo_job.pl"

MISUSE = """
#include <stdlib.h>
#include <string.h>
int main(int count, char **argument)
{
    char here[64], *volatile block = malloc(40), *volatile next = malloc(2000), *volatile end = malloc(40);
    switch (count > 1 ? argument[1][0] : '-') {
    case 'd': free(block); free(block); break;
    case 'm': free(next + 16); break;
    case 's': block = here + 16; free(block); break;
    case 'o': for (int at = 0; at < 64; at++) block[at] = 'x'; free(next); free(block); free(end);
    }
    return 0;
}
"""


def test_make_demo_runs_the_program_as_it_is() -> None:
    """No setting of the program stands in the recipe, and it needs nothing that perl-base lacks."""
    (recipe,) = re.findall(r"^demo:.*\n\t(.*)", (ROOT / "Makefile").read_text(), re.M)
    assert recipe.endswith(" -o $(DEMO) -- perl bench/programs/demo_job.pl")
    assert re.findall(r"^(?:use|require) (\w+)", JOB.read_text(), re.M) == ["strict", "warnings"]


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("perl") is None, reason="perl is not installed")
def test_the_demos_program_prints_the_same_under_every_malloc(call: Callable[..., Answer]) -> None:
    command = ["perl", str(JOB), "3000"]
    plain = [subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(2)]
    assert plain[0] == plain[1]
    assert plain[0].startswith("3000 requests, ")
    assert len(plain[0].splitlines()) == 31
    for design in ("default", "lean", "checks"):
        assert call("run", design, "--", *command).out == plain[0]


@pytest.fixture(scope="module")
def misuse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("misuse")
    (folder / "misuse.c").write_text(MISUSE)
    return compile_c([folder / "misuse.c"], folder / "misuse", flags=["-O0", "-w", "-fno-builtin"])


@pytest.mark.parametrize(
    ("kind", "stopped_by"),
    [
        ("double free", {"glibc", "checks", "hardened"}),
        ("middle of a block", {"glibc", "checks", "hardened"}),
        ("stack", {"glibc", "default", "checks", "hardened"}),
        ("overflow", {"glibc", "hardened"}),
        ("-none", set[str]()),
    ],
)
def test_what_a_malloc_stops(misuse: Path, kind: str, stopped_by: set[str]) -> None:
    """The overflow is a loop of the program's own: `checks` looks at copies of the C library (docs/hardening.md)."""
    stopped = set()
    for name in ("glibc", "default", "checks", "hardened"):
        preloads = {} if name == "glibc" else {"LD_PRELOAD": preloadable(library_of(load(name)))}
        done = subprocess.run([misuse, kind], env=os.environ | preloads, capture_output=True, check=False)
        assert done.returncode in (0, -6, -11), done.stderr
        stopped |= {name} if done.returncode != 0 else set()
    assert stopped == stopped_by
