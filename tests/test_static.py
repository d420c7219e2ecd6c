"""Libraries to link with: `build --static` archives in C, threaded and C++ programs, all static or not, and -lheap."""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from conftest import PROGRAM
from loaded import FAST_TO_BUILD
from test_top import Stepped

from heapsmith.codegen.build import build
from heapsmith.model.design.design import load
from heapsmith.model.errors import Missing
from heapsmith.tools.top.watch import Watch

PROGRAMS = Path(__file__).parent / "programs"
DESIGN = load("default")
NAME = f"{DESIGN.name} {DESIGN.hash()}"
LINKS = {"dynamic": [], "static": ["-static"], "static-pie": ["-static-pie"]}

API = """
    aligned_alloc calloc cfree free free_aligned_sized free_sized mallinfo mallinfo2 malloc malloc_info malloc_stats
    __libc_calloc __libc_cfree __libc_free __libc_malloc __libc_memalign __libc_pvalloc __libc_realloc __libc_valloc
    __posix_memalign malloc_trim malloc_usable_size mallopt memalign mlockall posix_memalign pvalloc realloc
    reallocarray valloc
    heapsmith_check heapsmith_checked heapsmith_counter_count heapsmith_counters heapsmith_design heapsmith_locate
    heapsmith_reset
"""
FOR_THE_HEADER = re.compile(rf"hs_heap_{DESIGN.hash()}_[0-9a-f]{{6}}")
needs_musl = pytest.mark.skipif(shutil.which("musl-gcc") is None, reason="musl-gcc is not installed")
OPERATORS = "_Znwm _ZnwmSt11align_val_t _ZdlPv _ZdlPvSt11align_val_t"


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Callable[[bool], Path]:
    """The archive that the command builds, checked or not."""
    folder = tmp_path_factory.mktemp("archives")

    @cache
    def built(checked: bool) -> Path:
        out = folder / f"checked-{checked}" / "libheap.a"
        out.parent.mkdir()
        words = [*PROGRAM, "build", DESIGN.name, "--static", *(["--checked"] if checked else []), "-o", str(out)]
        assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == f"{out}\n"
        assert list(out.parent.iterdir()) == [out]
        return out

    return built


@pytest.fixture(scope="module")
def by_name(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shared library to link with by -lheap."""
    return build(DESIGN, tmp_path_factory.mktemp("shared") / "libheap.so", flags=FAST_TO_BUILD)


def link(out: Path, source: str, *flags: object) -> Path:
    """The program made of a source and what the flags name."""
    compiler = "g++" if source.endswith(".cc") else "gcc"
    words = [compiler, "-O1", "-w", "-pthread", "-o", str(out), str(PROGRAMS / source), *map(str, flags)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return out


def run(command: list[Path], **environment: str) -> tuple[int, str, str]:
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=environment)
    return done.returncode, done.stdout, done.stderr


def symbols(library: Path, *flags: str) -> set[str]:
    """The names that a library defines for others, but for what heapsmith.h asks for."""
    listed = subprocess.run(["nm", "-g", "--defined-only", *flags, library], capture_output=True, text=True, check=True)
    names = {line.split()[-1] for line in listed.stdout.splitlines() if len(line.split()) == 3}
    assert len([name for name in names if FOR_THE_HEADER.fullmatch(name)]) == 1
    return {name for name in names if not FOR_THE_HEADER.fullmatch(name)}


@pytest.mark.thorough
@pytest.mark.parametrize("kind", LINKS)
@pytest.mark.parametrize("checked", [False, pytest.param(True, marks=pytest.mark.big)], ids=["release", "checked"])
def test_c_program(archive: Callable[[bool], Path], kind: str, checked: bool, tmp_path: Path) -> None:
    program = link(tmp_path / "program", "run_linked.c", archive(checked), *LINKS[kind])
    assert run([program]) == (0, f"{NAME} {checked:d} 0 1 1\n", "")


@pytest.mark.thorough
@pytest.mark.parametrize("kind", LINKS)
def test_top_sees_a_stripped_program(archive: Callable[[bool], Path], kind: str, tmp_path: Path) -> None:
    program = link(tmp_path / "program", "run_top.c", "-s", "-Wl,--gc-sections", archive(False), *LINKS[kind])
    run = Stepped([str(program), "2"])
    with run.process:
        run.step("w")
        (found,) = Watch(run.pid).look()
        assert found.design == NAME
        assert found.bytes.small + found.bytes.runs == run.said[0]
        run.process.kill()


@pytest.mark.parametrize("kind", ["dynamic", "static"])
def test_cpp_program(archive: Callable[[bool], Path], kind: str, tmp_path: Path) -> None:
    program = link(tmp_path / "program", "run_linked.cc", archive(False), *LINKS[kind])
    assert run([program]) == (0, f"{NAME} 1 1 3\n", "")


def test_only_the_api_is_global(archive: Callable[[bool], Path]) -> None:
    assert symbols(archive(False)) == set(API.split())


@pytest.mark.thorough
def test_linked_by_name(by_name: Path, tmp_path: Path) -> None:
    """-lheap: the program asks for the library's SONAME, its file name; also where it was linked by its path."""
    assert symbols(by_name, "-D") == {*API.split(), *OPERATORS.split(), "__register_atfork", "dlopen"}
    for source, words, answer in [
        ("run_linked.c", [f"-L{by_name.parent}", "-lheap"], f"{NAME} 0 0 1 1\n"),
        ("run_linked.cc", [by_name], f"{NAME} 1 1 3\n"),
    ]:
        program = link(tmp_path / "program", source, *words)
        assert run([program], LD_LIBRARY_PATH=str(by_name.parent)) == (0, answer, "")
        status, _, complaint = run([program])
        assert status == 127
        assert "libheap.so" in complaint


def test_operator_new_in_a_c_program(by_name: Path, tmp_path: Path) -> None:
    """With a plug-in that brings a C++ library it throws; with none at all it says so and aborts."""
    plugin = link(tmp_path / "plugin.so", "run_plugin.cc", "-shared", "-fPIC")
    program = link(tmp_path / "program", "run_plugin.c", "-Wl,--no-as-needed", f"-L{by_name.parent}", "-lheap")
    assert run([program, plugin], LD_LIBRARY_PATH=str(by_name.parent)) == (0, "104\n", "")
    complaint = "heapsmith: operator new: out of memory, and no C++ library to throw std::bad_alloc\n"
    assert run([program], LD_LIBRARY_PATH=str(by_name.parent)) == (-signal.SIGABRT, "", complaint)


def test_options_are_ignored_in_a_program_that_is_setuid(archive: Callable[[bool], Path], tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can make a program that belongs to somebody else")
    program = link(tmp_path / "program", "run_linked.c", archive(False), "-static")
    assert run([program], HEAPSMITH="nonsense")[2] == 'heapsmith: HEAPSMITH: unknown word "nonsense"\n'
    os.chown(program, 65534, 65534)
    program.chmod(0o4755)
    assert run([program], HEAPSMITH="nonsense") == (0, f"{NAME} 0 0 1 1\n", "")


def test_without_binutils_it_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    for name in ("gcc", "as", "ld"):
        (tmp_path / "bin" / name).symlink_to(f"/usr/bin/{name}")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(Missing, match=r"^objcopy not found on PATH"):
        build(DESIGN, tmp_path / "libheap.a", static=True)
    assert not (tmp_path / "libheap.a").exists()


@needs_musl
@pytest.mark.parametrize("kind", LINKS)
def test_another_c_library_is_refused_at_link(archive: Callable[[bool], Path], kind: str, tmp_path: Path) -> None:
    """An archive is of one C library: the linker names what the other one lacks."""
    words = ["musl-gcc", "-w", "-o", tmp_path / "program", tmp_path / "main.c", archive(False), *LINKS[kind]]
    (tmp_path / "main.c").write_text("#include <stdlib.h>\nint main(void) { free(malloc(1)); return 0; }\n")
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert re.search(r"heapsmith_needs_glibc.*\n?.*undefined reference to `gnu_get_libc_version'", done.stderr)
    assert not (tmp_path / "program").exists()
