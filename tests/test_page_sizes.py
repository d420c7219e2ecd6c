"""Pages of 4, 16 and 64 KiB: one library agrees with the model on all, and asks the system for whole pages alone.

An emulator only says that pages are longer, and maps by 4 KiB: programs/whole_pages.c ends what relies on that.
"""

import json
import subprocess
from pathlib import Path

import msgspec
import pytest
from conftest import process
from systems import ARM, PROGRAMS, System, hold_to_model, library_for, plan_of, run_anywhere, trace
from traces import random_chunk, random_trace

from heapsmith.codegen.build import build_emitted
from heapsmith.codegen.generate import generate
from heapsmith.codegen.layers import HEAP
from heapsmith.model.constants import PAGE_SIZES
from heapsmith.model.design.design import load
from heapsmith.model.design.fitted import fitted
from heapsmith.model.design.plan import make_plan
from heapsmith.model.errors import BadInput
from heapsmith.model.heap.ledger import ledger
from heapsmith.model.heap.simulator import Simulator
from heapsmith.model.memory.hardware import load_hardware
from heapsmith.model.memory.listener import Listener
from heapsmith.model.trace.reader import Op

LONGEST = PAGE_SIZES[-1]
WHOLE_PAGES = PROGRAMS / "whole_pages.c"


def on_pages(system: System, page_bytes: int, preloaded: Path) -> System:
    """The system with pages of this length. One object alone: the emulator gives ld.so less room than it says."""
    return system._replace(under=(*system.under, "-p", str(page_bytes), "-E", f"LD_PRELOAD={preloaded}"))


def guard(system: System, folder: Path) -> Path:
    """To be preloaded: programs may ask for whole pages alone."""
    system.tools()
    flags = ["-O1", "-Wall", "-Werror", "-shared", "-fPIC"]
    subprocess.run([system.compiler, *flags, "-o", folder / "whole_pages.so", WHOLE_PAGES], check=True)
    return folder / "whole_pages.so"


def run(page_bytes: int, library: Path, folder: Path) -> tuple[int, str, str]:
    """The threaded program with the library preloaded, in which it may ask for whole pages alone."""
    program = folder / "program"
    if not program.exists():
        run_anywhere(ARM, folder, WHOLE_PAGES, "-rdynamic")
    words = [*on_pages(ARM, page_bytes, library).under, program]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


MORE = ["lean", "hardened", "unmap", "records-head", "prewarm", "huge-cache", "own-superslabs", "populate", "growth"]


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["default", *MORE])
def test_one_library_agrees_with_the_model_on_pages_of_all_sizes(name: str, tmp_path: Path) -> None:
    library, chunk = library_for(ARM, name, tmp_path, checked=True), trace(1000)
    preloaded = guard(ARM, tmp_path)
    for page_bytes in PAGE_SIZES:
        hold_to_model(on_pages(ARM, page_bytes, preloaded), library, plan_of(ARM, name, page_bytes), chunk)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["default", "hardened"])
def test_a_release_build_serves_threads_on_long_pages(name: str, tmp_path: Path) -> None:
    library = library_for(ARM, name, tmp_path, checked=False)
    for page_bytes in PAGE_SIZES:
        assert run(page_bytes, library.path, tmp_path) == (0, "0 0\n", "")


def library_of_short_pages(name: str, folder: Path) -> Path:
    """A library that takes all pages for those of 4 KiB."""
    emitted, runtime = folder / "emitted", folder / "heap"
    generate(fitted(load(name)), emitted)
    page = runtime / "1_base/page.c"
    page.parent.mkdir(parents=True)
    line = "    hs_page_shift = (unsigned)__builtin_ctzl(bytes);\n"
    text = (HEAP / "1_base/page.c").read_text()
    assert text.count(line) == 1
    page.write_text(text.replace(line, ""))
    unit = emitted / "heap.c"
    unit.write_text(unit.read_text().replace('"1_base/page.c"', f'"{page}"'))
    return build_emitted(emitted, folder / "libshort.so", compiler=ARM.tools().compiler)


@pytest.mark.thorough
def test_the_guard_ends_a_program_whose_library_takes_pages_for_short(tmp_path: Path) -> None:
    library = library_of_short_pages("default", tmp_path)
    assert run(PAGE_SIZES[0], library, tmp_path) == (0, "0 0\n", "")
    for page_bytes in PAGE_SIZES[1:]:
        status, _, said = run(page_bytes, library, tmp_path)
        assert status != 0
        assert f"no whole pages of {page_bytes:#x} bytes" in said


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "most"), [("lean", 4096), ("owner", 16_384)])
def test_a_library_with_short_slabs_refuses_longer_pages_in_a_line(name: str, most: int, tmp_path: Path) -> None:
    """`build` makes none such: it is made of C that `generate` wrote."""
    generate(load(name), tmp_path / "emitted")
    library = build_emitted(tmp_path / "emitted", tmp_path / "libshort.so", compiler=ARM.tools().compiler)
    for page_bytes in PAGE_SIZES:
        found = run(page_bytes, library, tmp_path)
        if page_bytes <= most:
            assert found == (0, "0 0\n", "")
        else:
            assert found[0] != 0
            assert f"pages of {page_bytes} bytes, and this library is for pages of at most {most}\n" in found[2]


def bytes_of(op: Op, size: int, page_bytes: int, align_log2: int = 0) -> tuple[int, int]:
    """The address code of a block, and the committed bytes with it."""
    simulator = Simulator(make_plan(load("default"), page_bytes), compiled=False)
    code = simulator.step(op, 0, 0, size, align_log2)
    simulator.check()
    return code, simulator.counters().totals["committed"]


@pytest.mark.quick
def test_what_follows_the_page_and_what_does_not() -> None:
    """By hand, from docs/machine.md: runs, aligned runs, first pages of a slab, a huge mapping."""
    run_code, huge_code = 1 << 60, 1 << 61
    for page, pages in ((4096, 10), (16_384, 3), (65_536, 1)):
        assert bytes_of(Op.MALLOC, 40_000, page) == (run_code, pages * page)
        assert bytes_of(Op.MALLOC, 16, page) == (0, page)
        plan = make_plan(load("default"), page)
        huge = plan.huge_bytes + 1
        assert bytes_of(Op.MALLOC, huge, page) == (huge_code, -(-huge // page) * page)
        assert (plan.run_span_pages * page, plan.run_step_pages * page) == (plan.run_span_bytes, 1 << 22)
    assert bytes_of(Op.ALIGNED, 64, 4096, align_log2=13)[0] == huge_code
    assert bytes_of(Op.ALIGNED, 64, 65_536, align_log2=13) == (run_code, 65_536)
    assert bytes_of(Op.ALIGNED, 64, 65_536, align_log2=12)[0] == bytes_of(Op.ALIGNED, 64, 4096, align_log2=12)[0]


def heapsmith(*words: str | Path) -> tuple[int, str, str]:
    done = process(*words)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.thorough
def test_the_commands_take_a_page_size(tmp_path: Path) -> None:
    status, said, _ = heapsmith("design", "show", "lean", "--page-size", "64K", "--json")
    assert status == 0
    plan = json.loads(said)
    assert (plan["page_bytes"], plan["slab_bytes"], plan["run_step_pages"]) == (65_536, 65_536, 64)
    trace = random_trace(tmp_path / "t.hst", 500, 3)
    words = ("simulate", trace, "--design", "default", "--page-size", "64K")
    status, said, _ = heapsmith(*words, "--json")
    assert status == 0
    assert json.loads(said)["rows"][0]["counters"]["totals"]["committed_peak"] % LONGEST == 0
    status, said, complaint = heapsmith(*words, "--machine", "default")
    assert (status, said) == (2, "")
    assert complaint.endswith("machine default: has pages of 4096 bytes, not of 65536\n")
    status, _, complaint = heapsmith("verify", "lean", "--page-size", "64K")
    assert (status, complaint.count("\n")) == (2, 1)
    assert "--under and --page-size: expected --target too" in complaint


@pytest.mark.thorough
def test_verify_holds_a_library_of_long_pages_to_the_model(tmp_path: Path) -> None:
    ARM.tools()
    trace = random_trace(tmp_path / "t.hst", 1000, 4, threads=2)
    under = " ".join([*ARM.under, "-p", str(LONGEST)])
    words = ("verify", "lean", trace, "--target", ARM.target, "--under", under, "--json")
    status, said, _ = heapsmith(*words, "--page-size", "64K")
    assert status == 0
    assert [run["difference"] for run in json.loads(said)["runs"]] == [None, None]
    assert {row["check"] for row in json.loads(said)["audit"]["rows"]} >= {"shape", "numbers", "machine code"}
    status, said, _ = heapsmith(*words, "--page-size", "4K")
    assert status == 1
    assert all(run["difference"] for run in json.loads(said)["runs"])


@pytest.mark.quick
def test_a_design_with_short_slabs_has_slabs_of_whole_pages() -> None:
    for name, superslab in (("lean", 262_144), ("owner", 1 << 20), ("default", load("default").superslab_bytes)):
        design = fitted(load(name))
        assert (design.slab_bytes, design.superslab_bytes) == (65_536, superslab)
        assert (design.hash() == load(name).hash()) == (name == "default")


@pytest.mark.parametrize(
    "name",
    [
        "default",
        *(
            pytest.param(one, marks=pytest.mark.thorough)
            for one in ("huge-pages", "populate-growing", "populate", "hardened", "background")
        ),
    ],
)
def test_the_equations_and_the_resident_bytes_hold_on_long_pages(name: str) -> None:
    """A listener's pages are as long: the ledger holds them to the committed bytes."""
    machine = load_hardware("default")
    long_pages = Listener(msgspec.structs.replace(machine, page_bytes=LONGEST))
    simulator = Simulator(make_plan(fitted(load(name)), LONGEST), compiled=False, listener=long_pages)
    simulator.feed(random_chunk(300, 3, threads=2, max_size=1 << 18, live=60))
    simulator.check()
    touches = long_pages.counts()
    assert touches.resident_bytes % LONGEST == 0
    assert touches.faults_4k > 0
    assert ledger(simulator).resident == touches.resident_bytes
    with pytest.raises(BadInput, match="has pages of 4096 bytes, not of 65536"):
        Simulator(simulator.plan, compiled=False, listener=Listener(machine))
