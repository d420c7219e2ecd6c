"""What a library says of a fault in its own code, and of a block that comes back to its slab twice."""

import re
import signal
import subprocess
from pathlib import Path

import msgspec
import pytest
from loaded import unchecked_library
from preloaded import program

from heapsmith.codegen.build import build_archive
from heapsmith.codegen.disassembly import disassemble
from heapsmith.codegen.generate import generate
from heapsmith.model.design.design import Design, changed, load
from heapsmith.tools.common.preload import preloadable

NAMED = load("named")
LISTED = changed(load("lean"), "lean-named", {"crash": "named"})


def crash(design: Design, kind: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": "/usr/bin:/bin", "LD_PRELOAD": preloadable(unchecked_library(design))}
    return subprocess.run([str(program("crash")), kind], env=environment, capture_output=True, text=True, check=False)


def test_the_built_in_named_is_default_with_this_row() -> None:
    """So what is measured of `default` is true of it."""
    expected = changed(load("default"), "named", {"crash": "named"})
    assert msgspec.structs.replace(expected, about=NAMED.about) == NAMED


def test_a_fault_in_the_heap_is_named_and_ends_the_program_as_before() -> None:
    done = crash(LISTED, "write")
    assert done.returncode == -signal.SIGSEGV
    place = re.fullmatch(
        r"heapsmith: SIGSEGV in the heap, at an address that no program can have: a freed block was written, a block "
        r"overflowed, or no block was freed \(.*\+0x([0-9a-f]+)\)\n",
        done.stderr,
    )
    assert place, done.stderr
    found = subprocess.run(
        ["addr2line", "-f", "-e", unchecked_library(LISTED), f"0x{place[1]}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "fast.c" in found.stdout  # emitted functions, where the links of lists are followed


def test_memory_that_is_gone_is_named() -> None:
    """A link leads behind the end of a mapped file."""
    done = crash(LISTED, "bus")
    assert done.returncode == -signal.SIGBUS
    assert re.match(r"heapsmith: SIGBUS in the heap, at 0x[0-9a-f]+: a freed block was written, ", done.stderr)


def test_a_block_that_comes_to_its_slab_twice_is_named() -> None:
    done = crash(NAMED, "twice")
    assert (done.returncode, done.stdout) == (-signal.SIGABRT, "")
    assert re.fullmatch(r"heapsmith: double free: 0x[0-9a-f]{16}\n", done.stderr)


@pytest.mark.parametrize(
    ("kind", "status", "out"),
    [
        ("own", -signal.SIGSEGV, ""),
        ("sent", -signal.SIGSEGV, ""),
        ("handled", 7, "mine\n"),
        ("none", 0, "end\n"),
    ],
)
def test_other_faults_are_the_programs_own(kind: str, status: int, out: str) -> None:
    done = crash(LISTED, kind)
    assert (done.returncode, done.stdout, done.stderr) == (status, out, "")


def test_a_silent_library_says_nothing() -> None:
    done = crash(load("lean"), "write")
    assert (done.returncode, done.stderr) == (-signal.SIGSEGV, "")
    done = crash(load("default"), "twice")
    assert "heapsmith" not in done.stderr


def mnemonics(design: Design, function: str) -> list[str]:
    listing = disassemble(unchecked_library(design))
    start = listing.symbols[function]
    end = min(address for address in listing.symbols.values() if address > start)
    return [listing.code[address].mnemonic for address in sorted(listing.code) if start <= address < end]


@pytest.mark.parametrize("function", ["malloc", "free"])
def test_hits_cost_no_more(function: str) -> None:
    found = mnemonics(NAMED, function)
    assert len(found) > 10
    assert found == mnemonics(changed(NAMED, "unnamed", {"crash": None}), function)


@pytest.mark.thorough
def test_a_program_with_the_library_inside_is_told_of_nothing(tmp_path: Path) -> None:
    """Which code is the heap's cannot be told there."""
    archive = tmp_path / "heap.a"
    generate(LISTED, tmp_path / "emitted")
    build_archive(tmp_path / "emitted", archive)
    source = Path(__file__).parent / "programs/crash.c"
    subprocess.run(["gcc", "-w", str(source), str(archive), "-o", str(tmp_path / "crash"), "-pthread"], check=True)
    done = subprocess.run([str(tmp_path / "crash"), "write"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (-signal.SIGSEGV, "")
