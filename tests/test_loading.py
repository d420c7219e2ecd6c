"""How the library comes into a process: preloaded early and among others, by dlopen, linked, in a static program."""

import struct
import subprocess
import sys
from pathlib import Path

import pytest
from covering import soon
from preloaded import FLAGS, PROGRAMS, library, program, run, shim

from heapsmith.codegen.build import build
from heapsmith.codegen.toolchain import find_gcc, links_with_gnu_ld
from heapsmith.model.design.design import load

DESIGNS = ("default", "owner", "region", "hardened")
TLS = 7  # PT_TLS (elf(5))

designs = pytest.mark.parametrize("design", soon(DESIGNS, ["default"], ["owner"]))
linked_designs = pytest.mark.parametrize("design", soon(DESIGNS, ["owner"]))
"""test_static.py links the default one."""


def plain() -> Path:
    return program("run_plain", "-rdynamic")


def others(count: int) -> list[Path]:
    """That many different libraries, each with 32 bytes of initial-exec TLS."""
    return [shim("shim_tls", f"-DLIBRARY={number}") for number in range(count)]


@pytest.mark.parametrize("scope", ["local", "global"])
@designs
def test_dlopen_in_a_running_program(design: str, scope: str) -> None:
    command: list[str | Path | int] = [program("run_dlopen"), scope, library(design), *others(12)]
    assert run(command) == "done\n"


def test_the_library_takes_few_bytes_of_static_tls() -> None:
    image = library("default", checked=False).read_bytes()
    offset, size, count = (*struct.unpack_from("<Q", image, 32), *struct.unpack_from("<HH", image, 54))
    headers = [struct.unpack_from("<II6Q", image, offset + size * index) for index in range(count)]
    assert [header[6] for header in headers if header[0] == TLS] == pytest.approx([32], abs=32)  # p_memsz


RESIDENT = """
import ctypes, sys, threading

def resident():
    kilobytes, where = [], None
    for line in open("/proc/self/smaps"):
        if line.split()[0].count("-") == 1:
            where = line
        elif line.startswith("Rss:") and " r-xp " in where and where.rstrip().endswith("/" + sys.argv[1]):
            kilobytes.append(int(line.split()[1]))
    return kilobytes

def work():
    sizes = {8: 100, 1000: 100, 30000: 100, 100000: 10, 3000000: 3}  # no heap that looks whether huge pages pay
    blocks = [bytearray(size) for size, count in sizes.items() for turn in range(count)]
    blocks[0] += bytes(100000)

threads = [threading.Thread(target=work) for number in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
before = resident()
ctypes.CDLL(None).mallopt(0, 0)
print(*before, *resident())
"""


@pytest.mark.parametrize("design", soon(("default", "owner-batch", "lean"), ["default"]))
def test_no_page_of_the_cold_functions_is_read_before_one_is_called(design: str) -> None:
    if not links_with_gnu_ld(find_gcc().path):
        pytest.skip("only GNU ld lays cold functions apart")
    heap = library(design, checked=False)
    hot, cold, hot_later, cold_later = map(int, run([sys.executable, "-c", RESIDENT, heap.name], heap).split())
    assert 0 < hot <= hot_later
    assert cold == 0 < cold_later


@designs
def test_under_an_audit_library_that_allocates(design: str) -> None:
    environment = {"LD_AUDIT": str(shim("shim_audit")), "SHIM_AUDIT": "1"}
    wrote = run([plain()], library(design), environment=environment)
    assert wrote.startswith(f"audited\n{design} ")


@pytest.mark.parametrize("first", [True, False])
@designs
def test_constructors_of_other_preloads_allocate_and_fork(design: str, first: bool) -> None:
    preloads = [shim("shim_early"), library(design)]
    wrote = run([plain()], *(preloads if first else reversed(preloads)))
    assert wrote.startswith(f"{design} ")


@designs
def test_another_malloc_in_front_that_finds_this_one_by_dlsym(design: str) -> None:
    wrote = run([plain()], shim("shim_early", "-DWRAP=1"), library(design))
    assert wrote.startswith(f"{design} ")


@designs
def test_a_program_with_a_malloc_of_its_own_keeps_it(design: str) -> None:
    assert run([program("run_own_malloc", "-rdynamic")], library(design)) == "done\n"


@designs
def test_a_plugin_that_is_bound_deeply_has_the_same_heap(design: str) -> None:
    assert run([program("run_deepbind"), shim("shim_deepbind")], library(design)) == "done\n"


def test_threads_that_open_plugins_at_once_have_the_same_heap() -> None:
    assert run([program("run_deepbind_threads"), shim("shim_deepbind")], library("default")) == "done\n"


def test_a_plugin_is_found_where_the_programs_own_path_leads(tmp_path: Path) -> None:
    """The library has a dlopen, but to the dynamic linker the program is the caller."""
    (tmp_path / "libplugin.so").symlink_to(shim("shim_deepbind"))
    own_path = program("run_deepbind", f"-Wl,-rpath,{tmp_path}")
    assert run([own_path, "libplugin.so"], library("default", checked=False)) == "done\n"
    assert run([own_path, "libplugin.so"], library("default")) == "done\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where libheap-DESIGN.a lies, as a user builds it, and the programs linked with libraries."""
    return tmp_path_factory.mktemp("linked")


def archive(folder: Path, design: str) -> Path:
    out = folder / f"libheap-{design}.a"
    if not out.exists():
        build(load(design), out, static=True)
    return out


def linked(folder: Path, name: str, *flags: str | Path) -> Path:
    """A program compiled by hand against what lies in the folder, C++ if its name says so."""
    source = PROGRAMS / name
    compiler = ["g++", "-std=c++17"] if source.suffix == ".cc" else ["gcc"]
    out = folder / f"{source.stem}-{len(list(folder.iterdir()))}"
    command = [*compiler, *FLAGS, str(source), *map(str, flags), "-o", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return out


plain_programs = pytest.mark.parametrize("name", ["run_plain.c", "run_plain_cc.cc"])
static_forms = pytest.mark.parametrize("form", [[], ["-static"]], ids=["dynamic program", "static program"])


@plain_programs
@linked_designs
def test_linked_with_l(folder: Path, design: str, name: str) -> None:
    place = library(design, checked=False).parent
    tool = linked(folder, name, f"-L{place}", f"-l{design}", f"-Wl,-rpath,{place}")
    assert run([tool]).startswith(f"{design} ")


@static_forms
@plain_programs
@linked_designs
def test_the_static_form(folder: Path, design: str, name: str, form: list[str]) -> None:
    tool = linked(folder, name, archive(folder, design), *form)
    assert run([tool]).startswith(f"{design} ")
    symbols = subprocess.run(["nm", str(tool)], capture_output=True, text=True, check=True).stdout.splitlines()
    kinds = {line.split()[-1]: line.split()[-2] for line in symbols}
    assert [kinds[symbol] for symbol in ("malloc", "free", "heapsmith_design")] == ["T"] * 3


@static_forms
@linked_designs
def test_the_static_form_forks(folder: Path, design: str, form: list[str]) -> None:
    tool = linked(folder, "run_fork.c", archive(folder, design), *form)
    assert run([tool, "load", 10]) == "done\n"
