"""Names of code: separate debug files wherever they lie, code that a program generated, plain names of functions."""

import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from preloaded import PROGRAMS

from heapsmith.codegen.toolchain import compile_c
from heapsmith.model.trace.elf import build_id
from heapsmith.model.trace.reader import TraceReader
from heapsmith.model.trace.stacks import Module
from heapsmith.tools.common import debug_files
from heapsmith.tools.common.debug_files import debug_file
from heapsmith.tools.common.perf_map import Generated, covering, generated_code
from heapsmith.tools.common.symbols import Place, names
from heapsmith.tools.record.record import record
from heapsmith.tools.sites.functions import WRAPPERS, plain
from heapsmith.tools.sites.grouping import group_sites

FLAGS = ("-O1", "-g", "-fno-builtin", "-Wl,--build-id")


@pytest.fixture
def stripped(tmp_path: Path) -> tuple[Path, Path, int]:
    """A stripped program, its symbols and DWARF in a file beside it, and the offset of a call in `leak_row`."""
    program, debug = tmp_path / "planted", tmp_path / "planted.debug"
    compile_c([PROGRAMS / "sites_planted.c"], program, flags=FLAGS)
    listing = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", program], check=True, capture_output=True, text=True
    )
    body = listing.stdout.split("<leak_row>:\n")[1]
    found = re.search(r"([0-9a-f]+):\s+call.*malloc", body)
    assert found
    subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True)
    subprocess.run(["strip", program], check=True)
    return program, debug, int(found[1], 16)


def place(program: Path, offset: int) -> Place:
    """The innermost place of an offset in a program."""
    return names(Module(str(program), build_id(str(program))), [offset]).places[0][0]


def test_a_stripped_program_has_no_names(stripped: tuple[Path, Path, int]) -> None:
    program, _, offset = stripped
    assert place(program, offset) == Place(f"planted+{offset:#x}")


@pytest.mark.parametrize("folder", ["", ".debug", "global"])
def test_debug_files_by_link(
    stripped: tuple[Path, Path, int], tmp_path: Path, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, debug, offset = stripped
    subprocess.run(["objcopy", f"--add-gnu-debuglink={debug}", program], check=True)
    monkeypatch.setattr(debug_files, "DEBUG", tmp_path / "lib")
    to = tmp_path / "lib" / str(tmp_path)[1:] if folder == "global" else tmp_path / folder
    to.mkdir(parents=True, exist_ok=True)
    shutil.move(debug, to / debug.name)
    assert place(program, offset) == Place("leak_row", "sites_planted.c:20", file=str(PROGRAMS / "sites_planted.c"))
    with (to / debug.name).open("ab") as file:
        file.write(b"another file")
    assert place(program, offset).line is None


def test_debug_files_by_build_id(
    stripped: tuple[Path, Path, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, debug, offset = stripped
    build = build_id(str(program))
    assert build
    monkeypatch.setattr(debug_files, "DEBUG", tmp_path / "lib")
    for variable, cache in (("DEBUGINFOD_CACHE_PATH", tmp_path / "c"), ("XDG_CACHE_HOME", tmp_path / "x")):
        monkeypatch.delenv("DEBUGINFOD_CACHE_PATH", raising=False)
        monkeypatch.setenv(variable, str(cache))
        to = (cache if variable.startswith("DEBUG") else cache / "debuginfod_client") / build / "debuginfo"
        to.parent.mkdir(parents=True)
        shutil.copy(debug, to)
        assert place(program, offset) == Place("leak_row", "sites_planted.c:20", file=str(PROGRAMS / "sites_planted.c"))
        to.write_bytes(b"")  # what debuginfod's client keeps of a file that no server has
        assert debug_file(str(program), build) is None
    to = tmp_path / "lib" / ".build-id" / build[:2] / f"{build[2:]}.debug"
    to.parent.mkdir(parents=True)
    shutil.copy(debug, to)
    assert place(program, offset) == Place("leak_row", "sites_planted.c:20", file=str(PROGRAMS / "sites_planted.c"))
    shutil.copy("/bin/true", to)
    assert debug_file(str(program), build) is None


def test_symbols_without_dwarf(stripped: tuple[Path, Path, int], tmp_path: Path) -> None:
    program, debug, offset = stripped
    subprocess.run(["strip", "--strip-debug", debug], check=True)
    subprocess.run(["objcopy", f"--add-gnu-debuglink={debug}", program], check=True)
    assert place(program, offset) == Place("leak_row")


def test_generated_code_has_the_names_of_its_map(tmp_path: Path) -> None:
    compile_c([PROGRAMS / "sites_generated.c"], tmp_path / "generated", flags=("-O1", "-g"))
    [trace] = record([str(tmp_path / "generated")], tmp_path / "t.hst", stacks=64).traces
    Path(f"/tmp/perf-{trace.pid}.map").unlink()
    groups = group_sites(Path(trace.path))
    with TraceReader(trace.path) as reader:
        sites = {
            group for chunk, site in reader.sited() for group in groups.grouped.group_of_site[site[chunk.size == 4321]]
        }
    assert [groups.name(group) for group in sites] == ["py::Maker.make (maker.py)"]


def test_maps_of_others_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "perf-7.map").write_text("10 8 one\n18 8 two words\nbad\n20 0 empty\n")
    both = [Generated(0x10, 8, "one"), Generated(0x18, 8, "two words")]
    assert generated_code(7, [0x11, 0x1F, 0x20, 5], 0, tmp_path) == both
    assert generated_code(7, [0x11], time.time() + 5, tmp_path) == []
    assert generated_code(8, [0x11], 0, tmp_path) == []
    (tmp_path / "perf-9.map").symlink_to("/etc")
    assert generated_code(9, [0x11], 0, tmp_path) == []
    assert covering(both, 0x17) == both[0]
    assert covering(both, 0x20) is None


LAMBDA = "main::{lambda#1}::operator()::{lambda#1}::operator()"
PLAIN: list[tuple[str, str, bool]] = [
    ("operator new(unsigned long)", "operator new", True),
    ("operator new[](unsigned long, std::nothrow_t const&)", "operator new[]", True),
    ("void made::by_container<char>(unsigned int)", "made::by_container", False),
    ("std::vector<int, std::allocator<int> >::push_back(int&&)", "std::vector::push_back", True),
    ("(anonymous namespace)::Cache::insert(int)", "{anonymous}::Cache::insert", False),
    ("alloc::raw_vec::finish_grow::h0123456789abcdef", "alloc::raw_vec::finish_grow", True),
    ("<mine::Foo as core::clone::Clone>::clone", "<mine::Foo as core::clone::Clone>::clone", False),
    ("<alloc[fdfd2bd8633a6659]::alloc::Global>::grow", "<alloc::alloc::Global>::grow", True),
    ("mine[317d481089b8c8fe]::Cache::insert", "mine::Cache::insert", False),
    ("main::{lambda(int)#1}::operator()(int) const::{lambda()#1}::operator()() const", LAMBDA, False),
    ("<alloc::vec::Vec<T> as Clone>::clone", "<alloc::vec::Vec<T> as Clone>::clone", True),
    ("foo(int)::{lambda(int)#1}::operator()(int) const", "foo::{lambda#1}::operator()", False),
    ("Foo::operator<(Foo const&) const", "Foo::operator<", False),
    ("Foo::operator bool() const", "Foo::operator bool", False),
    ("unsigned long ns::f<int, std::pair<a, b>>(int (*)(int))", "ns::f", False),
    ("insert.part.0", "insert", False),
    ("foo(int) [clone .constprop.0]", "foo", False),
    ("zmalloc_usable", "zmalloc_usable", True),
    ("PyObject_Malloc", "PyObject_Malloc", True),
    ("list_resize", "list_resize", False),
    ("redis-server+0x1234", "redis-server+0x1234", False),
]


@pytest.mark.parametrize(("function", "name", "is_wrapper"), PLAIN)
def test_plain_names(function: str, name: str, is_wrapper: bool) -> None:
    assert plain(function) == name
    assert bool(WRAPPERS.fullmatch(name)) == is_wrapper
