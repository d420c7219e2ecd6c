"""The library under hard conditions: fork handlers that allocate, little address space, threads without end."""

import resource
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from traces import random_trace

from heapsmith.bench.built import library_of
from heapsmith.codegen.toolchain import build_tool
from heapsmith.codegen.verify import verify
from heapsmith.model.design import load

PROGRAMS = Path(__file__).parent / "programs"
DESIGNS = ["default", "owner", "header", "lean", "two-level"]


def run(program: str, design: str, *, address_space: int | None = None) -> str:
    """The program's output under the design's library, in an address space of that many bytes."""
    tool = build_tool(program, [PROGRAMS / f"{program}.c"], ["-O1", "-pthread", "-Wall", "-Wextra"])
    preloaded = [f"LD_PRELOAD={library_of(load(design))}", str(tool)]

    def limit() -> None:
        if address_space is not None:
            resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))

    done = subprocess.run(
        ["env", *preloaded], capture_output=True, text=True, timeout=60, check=False, preexec_fn=limit
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize("design", DESIGNS)
def test_fork_handlers_of_others_may_allocate(design: str) -> None:
    assert run("run_fork_handlers", design) == "forked\n"


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("mebibytes", [300, 1000])
def test_little_address_space(design: str, mebibytes: int) -> None:
    assert run("run_little_space", design, address_space=mebibytes << 20) == "fine\n"


def test_regions_wider_than_32_bits_do_not_overlap(tmp_path: Path) -> None:
    design = msgspec.structs.replace(load("region"), name="region34", slab_span_bytes=1 << 34)
    trace = random_trace(tmp_path / "t.hst", 20_000, seed=3, max_size=20_000)
    report = verify(design, [trace], audit=False)
    assert [run.difference for run in report.runs] == [None, None]


def test_a_dead_thread_leaves_its_heap_to_the_next() -> None:
    threads = 300
    code = (
        "import ctypes, sys, threading\n"
        "library = ctypes.CDLL(sys.argv[1])\n"
        "library.malloc.restype = ctypes.c_void_p\n"
        "def work():\n"
        "    blocks = [library.malloc(size) for size in range(1, 2000, 50)]\n"
        "    for block in blocks: library.free(ctypes.c_void_p(block))\n"
        f"for _ in range({threads}):\n"
        "    thread = threading.Thread(target=work); thread.start(); thread.join()\n"
        "counts = (ctypes.c_uint64 * library.heapsmith_counter_count())()\n"
        "library.heapsmith_counters(counts)\n"
        "print(*counts[4:6])\n"
    )
    library = library_of(load("default"))
    done = subprocess.run([sys.executable, "-c", code, str(library)], capture_output=True, text=True, check=True)
    heaps, adoptions = map(int, done.stdout.split())
    assert heaps <= 3  # a thread may still be on its way out when the next one starts
    assert heaps + adoptions == threads
