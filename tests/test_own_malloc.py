"""The malloc that a command has by itself is found and named, and glibc's is measured beside it."""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from preloaded import program

from heapsmith.bench.programs.programs import Program
from heapsmith.bench.suite import rows as suite_rows
from heapsmith.codegen.toolchain import compile_c
from heapsmith.tools.common.obstacles import find_program
from heapsmith.tools.common.preload import preloadable
from heapsmith.tools.common.program_start import Start
from heapsmith.tools.common.rounds import Stop
from heapsmith.tools.compare.measure import MeasureTable, measure
from heapsmith.tools.compare.own_malloc import OwnMalloc, own_malloc
from heapsmith.tools.peers.peers import GLIBC, find_library, is_c_library, preload

SOURCES = Path(__file__).parent / "programs"
OPERATORS = """
#include <stdlib.h>
/* What C++ calls operator new and operator delete. */
void *_Znwm(unsigned long bytes) { return malloc(bytes); }
void _ZdlPv(void *block) { free(block); }
"""
ASK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
/* The file names of the objects that have malloc and operator new. */
int main(void)
{
    void *(*volatile allocate)(size_t) = malloc;
    Dl_info found = {.dli_fname = "none"};
    dladdr(allocate, &found);
    printf("%s", found.dli_fname);
    void *operator = dlsym(RTLD_DEFAULT, "_Znwm");
    found.dli_fname = "none";
    if (operator != NULL) dladdr(operator, &found);
    printf("\\n%s\\n", found.dli_fname);
}
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with programs that ask: `plain`, `linked` to libown.so, `cplusplus` to one with operators too."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "operators.c").write_text(OPERATORS)
    (folder / "ask.c").write_text(ASK)
    sources = [SOURCES / "rec_own_malloc.c"]
    shared = ["-O1", "-fno-builtin", "-shared", "-fPIC"]
    own = compile_c(sources, folder / "libown.so", flags=shared)
    more = compile_c([*sources, folder / "operators.c"], folder / "libmore.so", flags=shared)
    for name, libraries in {"plain": [], "linked": [own], "cplusplus": [more]}.items():
        compile_c([folder / "ask.c", *libraries], folder / name, flags=["-fno-builtin", "-Wl,--no-as-needed"])
    return folder


def found(command: list[str], folder: Path, env: Mapping[str, str] | None = None) -> OwnMalloc:
    return own_malloc(Start(command, find_program(command), env), folder)


def said(command: Path, library_path: str) -> list[str]:
    """The names of the files that the program names under that LD_PRELOAD."""
    done = subprocess.run([command], env=os.environ | {"LD_PRELOAD": library_path}, capture_output=True, check=True)
    return [Path(path).name for path in done.stdout.decode().splitlines()]


def rows(table: MeasureTable) -> list[tuple[str, bool | None]]:
    return [(row.library, row.same_output) for row in table.rows]


def test_a_program_of_the_c_librarys_malloc_has_no_other(built: Path, tmp_path: Path) -> None:
    own = found([str(built / "plain")], tmp_path)
    assert own == OwnMalloc([], [], operators=False)
    assert own.baselines() == [find_library(GLIBC)]
    assert measure(["sh", "-c", "true"], ["glibc"], stop=Stop(1)).own == []


@pytest.mark.parametrize("name", ["linked", "cplusplus"])
def test_glibc_beside_another_malloc_is_glibc(built: Path, tmp_path: Path, name: str) -> None:
    library = built / {"linked": "libown.so", "cplusplus": "libmore.so"}[name]
    own = found([str(built / name)], tmp_path)
    assert own == OwnMalloc([str(library)], [], operators=name == "cplusplus")
    assert said(built / name, "") == [library.name, library.name if own.operators else "none"]
    malloc, operator_new = said(built / name, preload(own.glibc(), {}))
    assert is_c_library(malloc)
    assert operator_new.startswith("libstdc++." if own.operators else "none")


def test_a_linkage_table_is_no_malloc(built: Path, tmp_path: Path) -> None:
    """An executable at a fixed address that takes malloc's address: that of an entry of its own linkage table."""
    fixed = compile_c([built / "ask.c"], tmp_path / "fixed", flags=["-fno-builtin", "-no-pie", "-fno-pie"])
    assert found([str(fixed)], tmp_path) == OwnMalloc([], [], operators=False)


def test_any_process_of_the_command_counts(built: Path, tmp_path: Path) -> None:
    command = ["sh", "-c", f"true; '{built}/plain'; '{built}/linked'; '{built}/linked'"]
    assert found(command, tmp_path).objects == [str(built / "libown.so")]


def test_a_malloc_of_the_environment_is_the_commands_own(built: Path, tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "LD_PRELOAD": preloadable(built / "libown.so")}
    own = found([str(built / "plain")], tmp_path, environment)
    assert own.objects == [environment["LD_PRELOAD"]]
    assert is_c_library(said(built / "plain", preload(own.glibc(), environment))[0])


def test_measured_columns_are_named_after_what_they_measure(built: Path) -> None:
    table = measure([str(built / "linked")], ["glibc", str(built / "libmore.so")], stop=Stop(1))
    assert rows(table) == [("glibc", False), ("own (libown.so)", True), ("libmore.so", False)]
    assert table.output_of == "own (libown.so)"
    assert table.own == [str(built / "libown.so")]
    assert [row.path for row in table.rows] == [None, None, str(built / "libmore.so")]


def test_a_malloc_inside_the_executable_is_out_of_reach() -> None:
    static = program("run_own_malloc", "-rdynamic")
    (row,) = measure([str(static)], ["glibc"], stop=Stop(1)).rows
    assert row.library == f"own ({static.name})"
    assert f"no preloaded library replaces the malloc inside {static}" in row.note


def test_a_command_that_cannot_run_has_no_malloc(tmp_path: Path) -> None:
    (tmp_path / "odd").write_bytes(b"\x01\x02")
    (tmp_path / "odd").chmod(0o755)
    assert found([str(tmp_path / "odd")], tmp_path) == OwnMalloc([], [], operators=False)


def test_the_benchmarks_glibc_is_glibc(built: Path, tmp_path: Path) -> None:
    row = suite_rows._program_row(Program("linked", "linked", [str(built / "linked")], ()), "programs", None)
    sample = row.prepare(tmp_path)(find_library(GLIBC), 60)
    own = found([str(built / "linked")], tmp_path)
    environment = os.environ | {"LD_PRELOAD": preload(own.glibc(), {})}
    shown = subprocess.run([built / "linked"], env=environment, capture_output=True, check=True).stdout
    assert b"libc." in shown
    assert sample.output == f"{hashlib.sha256(shown).hexdigest()} 0 0"


@pytest.mark.skipif(shutil.which("redis-server") is None, reason="redis-server is not installed")
def test_redis_is_measured_under_its_own_malloc_and_glibc() -> None:
    table = measure(["redis-server", "--version"], ["glibc"], stop=Stop(1))
    needed = subprocess.run(["ldd", shutil.which("redis-server") or ""], capture_output=True, text=True, check=True)
    if "libjemalloc.so.2" not in needed.stdout:
        assert rows(table) == [("glibc", True)]
        return
    assert rows(table) == [("glibc", True), ("own (libjemalloc.so.2)", True)]
