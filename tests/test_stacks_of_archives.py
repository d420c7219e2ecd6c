"""Call stacks where the unwinder is the program's: archives in static programs, and programs of musl."""

import re
import signal
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from systems import MUSL

from heapsmith.bench.attacks.guarded import guarded
from heapsmith.codegen.build import build
from heapsmith.codegen.target import Toolchain, native

pytestmark = pytest.mark.thorough

PROGRAMS = Path(__file__).parent / "programs"
TABLE = "-Wl,--eh-frame-hdr"
"""musl-gcc links without it; then no unwinder finds what a program was compiled with."""
EACH_REQUEST = {"HEAPSMITH": "sample=1"}
THROWS = """
#include <cstdio>
#include <stdexcept>
int main()
{
    int caught = 0;
    for (int turn = 0; turn < 3; turn++) {
        try {
            throw std::runtime_error("thrown");
        } catch (const std::exception &) {
            caught++;
        }
    }
    std::printf("%d\\n", caught);
}
"""
Built = Callable[[Toolchain, bool], Path]
UNKNOWN = "; its call stack is not known"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """A library that guards each request that is a sample, by a compiler: an archive, or one to preload."""
    folder = tmp_path_factory.mktemp("libraries")

    @cache
    def built(tools: Toolchain, static: bool) -> Path:
        out = folder / Path(tools.compiler[0]).name / f"libheap.{'a' if static else 'so'}"
        out.parent.mkdir(exist_ok=True)
        return build(guarded("sampled"), out, static=static, tools=tools)

    return built


def linked(library: Path, tools: Toolchain, out: Path, *flags: str) -> tuple[list[str], dict[str, str]]:
    """The program that misuses a block, and its environment: with the library preloaded, or the archive linked."""
    is_archive = library.suffix == ".a"
    words = [*tools.compiler, "-g", "-O1", "-w", "-pthread", "-o", out, PROGRAMS / "guarded.c", *flags]
    subprocess.run([*words, library] if is_archive else words, check=True)
    return [str(out), "read-freed"], EACH_REQUEST | ({} if is_archive else {"LD_PRELOAD": str(library)})


def report_of(command: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == -signal.SIGSEGV, done.stderr
    assert done.stderr.startswith("heapsmith: use after free: ")
    return done.stderr


def functions(report: str, program: str) -> list[set[str]]:
    """Those of the program on the stacks of the report: who accessed, freed and allocated the block."""
    found = []
    for part in re.split(r"\n  (?=\w)", report)[1:]:
        places = re.findall(rf"#\d+ (0x[0-9a-f]+) \({re.escape(program)}\+(0x[0-9a-f]+)\)", part)
        words = ["addr2line", "-f", "-e", program, *(word for place in places for word in place)]
        found.append(set(subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()[::2]))
    return found


def check(command: list[str], environment: dict[str, str]) -> None:
    accessed, freed, allocated = functions(report_of(command, environment), command[0])
    assert {"use", "main"} <= accessed
    assert {"drop", "main"} <= freed
    assert {"take", "main"} <= allocated


@pytest.mark.parametrize("kind", [[], ["-static"], ["-static-pie"]], ids=["dynamic", "static", "static-pie"])
def test_an_archive_unwinds_by_the_program_s_libgcc(library: Built, kind: list[str], tmp_path: Path) -> None:
    """In a static program its first walk asks for memory."""
    check(*linked(library(native(), True), native(), tmp_path / "program", *kind))


@pytest.mark.parametrize("static", [False, True], ids=["preloaded", "static"])
def test_a_program_of_musl_unwinds(library: Built, static: bool, tmp_path: Path) -> None:
    tools = MUSL.tools()
    check(*linked(library(tools, static), tools, tmp_path / "program", TABLE, *["-static"] * static))


def test_without_a_table_stacks_are_not_known(library: Built, tmp_path: Path) -> None:
    tools = MUSL.tools()
    command, environment = linked(library(tools, True), tools, tmp_path / "program", "-static")
    assert report_of(command, environment).count(UNKNOWN) == 3


def test_a_static_program_that_throws_before_all_else_ends(library: Built, tmp_path: Path) -> None:
    """What its own unwinder asks for is a sample, whose stack would need the lock that the unwinder holds."""
    (tmp_path / "throws.cc").write_text(THROWS)
    program = tmp_path / "throws"
    words = ["g++", "-O1", "-static", "-o", program, tmp_path / "throws.cc", library(native(), True)]
    subprocess.run(words, check=True)
    done = subprocess.run([program], env=EACH_REQUEST, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "3\n", "")
