"""Other processors and C libraries: libraries for them agree with the model and serve programs; what is missing."""

import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import process
from covering import soon
from systems import ARM, MUSL, PROGRAMS, RISC, System, hold_to_model, library_for, plan_of, run_anywhere, small, trace
from traces import random_trace

from heapsmith.codegen.build import COMPILE, build
from heapsmith.codegen.difference import counted
from heapsmith.codegen.driver import Driver, DriverFailed, Host
from heapsmith.codegen.generate import UNIT, generate
from heapsmith.codegen.layers import HEAP
from heapsmith.codegen.target import Toolchain, native, toolchain
from heapsmith.codegen.toolchain import compile_c
from heapsmith.codegen.verify import Library, side_by_side
from heapsmith.model.design.design import Design, builtin_names, load
from heapsmith.model.design.fitted import fitted
from heapsmith.model.design.plan import make_plan
from heapsmith.model.errors import Missing
from heapsmith.tools.common.elf import image_of

LATER = [
    (RISC, "default"),
    *((ARM, name) for name in ("hardened", "lock-free-claims", "owner-batch", "benchfast-whole")),
]
CASES = [(ARM, "default"), *(pytest.param(*case, marks=pytest.mark.thorough) for case in [(ARM, "processor"), *LATER])]
WITH_MUSL = [
    "hardened",
    "processor",
    "lean",
    "background",
    "owner-batch",
    "lock-free-claims",
    "benchfast-whole",
    "nodes",
]
CASES_OF_MUSL = [
    (MUSL, "default"),
    *(pytest.param(MUSL, name, marks=pytest.mark.thorough) for name in WITH_MUSL),
]


@pytest.mark.thorough
@pytest.mark.parametrize(("system", "name"), [*CASES, *CASES_OF_MUSL])
def test_library_and_model_agree(system: System, name: str, tmp_path: Path) -> None:
    """Each address and counter of four threads, which allocate, free each other's blocks and end."""
    library = library_for(system, name, tmp_path, checked=True)
    hold_to_model(system, library, plan_of(system, name), trace(2000))


@pytest.mark.thorough
@pytest.mark.parametrize("compiler", ["gcc", MUSL.compiler])
def test_the_driver_names_the_signal_that_ended_it(compiler: str, tmp_path: Path) -> None:
    tools = native() if compiler == "gcc" else MUSL.tools()
    plan, library = make_plan(load("default")), build(load("default"), tmp_path / "lib.so", checked=True, tools=tools)
    with Driver(library, plan.grain, len(counted(plan, checked=True)), compiler=compiler) as driver:
        driver.send(trace(100))
        driver.receive(100)
        os.kill(driver._process.pid, signal.SIGSEGV)
        with pytest.raises(DriverFailed, match=r"^SEGV$") as failed:
            driver.close()
    assert failed.value.event == 100


@pytest.mark.thorough
def test_verify_takes_a_target_of_musl(tmp_path: Path) -> None:
    MUSL.tools()
    taken = random_trace(tmp_path / "with space.hst", 3000, 5, threads=4, cross_thread=0.2)
    status, said, complaint = heapsmith("verify", "default", taken, "--target", MUSL.target, "--json")
    assert (status, complaint) == (0, "")
    runs = json.loads(said)["runs"]
    assert [(run["build"], run["events"], run["difference"]) for run in runs] == [
        ("checked", 3000, None),
        ("release", 3000, None),
    ]
    assert all(run["addresses"] > 1000 and run["threads"] == 4 for run in runs)


@pytest.mark.thorough
@pytest.mark.parametrize(("system", "name"), [(ARM, "default"), (MUSL, "default"), *LATER])
def test_threads_at_once(system: System, name: str | Design, tmp_path: Path) -> None:
    """The release build agrees with the model, and then serves many threads that fork (runtime/verify/storm.c)."""
    plan, library = plan_of(system, name), library_for(system, name, tmp_path, checked=False)
    (side,) = side_by_side(
        plan, [library], iter([trace(5000)]), lambda done: None, host=Host(system.under, system.compiler)
    )
    assert side.difference is None
    assert side.events == 5000


@pytest.mark.big
@pytest.mark.parametrize("name", builtin_names())
def test_all_designs_on_musl(name: str, tmp_path: Path) -> None:
    test_threads_at_once(MUSL, name, tmp_path)


MORE = [
    "owner-queue",
    "owner-mutex",
    "sharded",
    "page-map",
    "header",
    "levels",
    "by-class",
    "lock-free-lists",
    "steady",
]


@pytest.mark.parametrize("name", soon(builtin_names(), [], MORE))
def test_all_designs_on_arm(name: str, tmp_path: Path) -> None:
    """With short spans."""
    test_threads_at_once(ARM, small(load(name)), tmp_path)


SERVED = ["default", "hardened", "background", "lean", "processor"]
OF_MUSL = soon(SERVED, SERVED[:1], SERVED)


@pytest.mark.parametrize(
    "static", [pytest.param(False, id="preloaded"), pytest.param(True, id="static", marks=pytest.mark.thorough)]
)
@pytest.mark.parametrize("name", OF_MUSL)
def test_a_library_serves_a_threaded_program_of_musl(name: str, static: bool, tmp_path: Path) -> None:
    """It reads its options too, though a constructor is passed nothing there."""
    out = build(load(name), tmp_path / f"lib{name}.{'a' if static else 'so'}", static=static, tools=MUSL.tools())
    program = run_anywhere(MUSL, tmp_path, *(["-static", out] if static else []))
    environment = {"HEAPSMITH": f"stats={tmp_path / 'stats.json'}"} | ({} if static else {"LD_PRELOAD": str(out)})
    done = subprocess.run([program], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 0\n", "")
    report = json.loads((tmp_path / "stats.json").read_text())
    assert report["design"].split()[0] == name
    assert report["counters"]["heaps"] > 0


@pytest.mark.thorough
def test_the_first_thread_of_musl_has_one_heap(tmp_path: Path) -> None:
    """Though the start of its heap registers handlers of fork, for which musl allocates."""
    library = build(load("default"), tmp_path / "libdefault.so", tools=MUSL.tools())
    (tmp_path / "one.c").write_text("#include <stdlib.h>\nint main(void) { return malloc(100) == NULL; }\n")
    program = compile_c([tmp_path / "one.c"], tmp_path / "one", flags=["-O0"], compiler=MUSL.tools().compiler)
    stats = tmp_path / "stats.json"
    subprocess.run([program], env={"LD_PRELOAD": str(library), "HEAPSMITH": f"stats={stats}"}, check=True)
    assert json.loads(stats.read_text())["counters"]["heaps"] == 1


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("system", "wanted"),
    [(MUSL, ["libc.so"]), (ARM, ["libc.so.6"]), (RISC, ["libc.so.6", "libatomic.so.1"])],
    ids=lambda one: one.target if isinstance(one, System) else "",
)
def test_what_a_library_asks_for(system: System, wanted: list[str], tmp_path: Path) -> None:
    """Of another gcc than Debian's, perhaps less."""
    found = image_of(build(load("default"), tmp_path / "lib.so", tools=system.tools())).needed
    assert set(found) <= set(wanted)
    assert found[0] == wanted[0]


@pytest.mark.thorough
@pytest.mark.parametrize(("system", "name"), CASES)
def test_a_library_serves_a_threaded_program_under_an_emulator(system: System, name: str, tmp_path: Path) -> None:
    out = build(load(name), tmp_path / f"lib{name}.so", tools=system.tools())
    program = run_anywhere(system, tmp_path)
    settings = [f"HEAPSMITH=stats={tmp_path / 'stats.json'}", f"LD_PRELOAD={out}", "HEAPSMITH_BENCHFAST=1"]
    words = [*system.under, *(word for setting in settings for word in ("-E", setting)), program]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 0\n", "")
    assert json.loads((tmp_path / "stats.json").read_text())["design"].split()[0] == name


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["default", "hardened"])
def test_an_archive_serves_a_threaded_program_under_an_emulator(name: str, tmp_path: Path) -> None:
    out = build(small(load(name)), tmp_path / f"lib{name}.a", static=True, tools=ARM.tools())
    words = [
        *ARM.under,
        "-E",
        f"HEAPSMITH=stats={tmp_path / 'stats.json'}",
        run_anywhere(ARM, tmp_path, "-static", out),
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 0\n", "")
    assert json.loads((tmp_path / "stats.json").read_text())["counters"]["heaps"] > 0


MUSL_OF_ARM = System("aarch64-linux-musl", ("qemu-aarch64-static",))
LOADER = Path(os.environ.get("QEMU_LD_PREFIX", "/")) / "lib/ld-musl-aarch64.so.1"
ZIG_AS_GCC = """#!/bin/sh
case " $* " in *" -shared "* | *" -static "* | *" --version "*) first= ;; *) first=$LIBC ;; esac
exec "$PYTHON" -m ziglang cc -target aarch64-linux-musl -dynamic $first "$@"
"""
"""The driver's own malloc is that of the C library, so that goes before the library under test."""


@pytest.fixture
def zig() -> Toolchain:
    """ziglang for musl on 64-bit Arm, if programs run here."""
    if importlib.util.find_spec("ziglang") is None or shutil.which(MUSL_OF_ARM.under[0]) is None:
        pytest.skip(f"not installed: ziglang, {MUSL_OF_ARM.under[0]}")
    tools = toolchain(target=MUSL_OF_ARM.target)
    assert "ziglang" in tools.compiler
    return tools


@pytest.fixture
def dynamic(zig: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compiler of gcc's name that links programs with musl's loader, which Debian's musl:arm64 has."""
    if not LOADER.exists():
        pytest.skip(f"not installed: {LOADER} (Debian: dpkg --add-architecture arm64, musl:arm64)")
    bin = tmp_path / "bin"
    bin.mkdir()
    (bin / MUSL_OF_ARM.compiler).write_text(ZIG_AS_GCC)
    (bin / MUSL_OF_ARM.compiler).chmod(0o755)
    monkeypatch.setenv("PATH", f"{bin}:{os.environ['PATH']}")
    monkeypatch.setenv("LIBC", str(LOADER.resolve()))
    monkeypatch.setenv("PYTHON", sys.executable)


@pytest.mark.big
@pytest.mark.parametrize("name", ["default", "hardened"])
def test_musl_on_arm_agrees_and_serves(name: str, zig: Toolchain, dynamic: None, tmp_path: Path) -> None:
    design = load(name)
    plan = make_plan(fitted(design))
    checked = build(design, tmp_path / "libchecked.so", checked=True, tools=zig)
    library = Library("checked", checked, 512, counted(plan, checked=True))
    hold_to_model(MUSL_OF_ARM, library, plan, trace(2000))
    out = build(design, tmp_path / "lib.so", tools=zig)
    served(run_anywhere(MUSL_OF_ARM, tmp_path), tmp_path, "-E", f"LD_PRELOAD={out}")


@pytest.mark.big
def test_an_archive_serves_a_static_program_of_musl_on_arm(zig: Toolchain, tmp_path: Path) -> None:
    out = build(small(load("default")), tmp_path / "libdefault.a", static=True, tools=zig)
    program = tmp_path / "program"
    words = [*zig.compiler, "-static", "-O1", "-o", program, PROGRAMS / "run_anywhere.c", out, "-pthread"]
    subprocess.run(words, check=True)
    served(program, tmp_path)


def served(program: Path, folder: Path, *settings: str) -> None:
    """The threaded program of musl on 64-bit Arm finds each byte as it was, under a library."""
    words = [*MUSL_OF_ARM.under, "-E", f"HEAPSMITH=stats={folder / 'stats.json'}", *settings, program]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 0\n", "")
    assert json.loads((folder / "stats.json").read_text())["counters"]["heaps"] > 0


@pytest.mark.parametrize(
    ("system", "name"),
    [
        (MUSL, "default"),
        *(
            pytest.param(*case, marks=pytest.mark.thorough)
            for case in ((ARM, "default"), (ARM, "hardened"), (MUSL, "hardened"))
        ),
    ],
)
def test_the_c_compiles_without_a_warning(system: System, name: str, tmp_path: Path) -> None:
    compiler = system.tools().compiler
    generate(load(name), tmp_path)
    for unit in ("fast.c", UNIT):
        words = [*compiler, *COMPILE, "-Werror", "-c", "-o", tmp_path / "unit.o", f"-I{tmp_path}", f"-I{HEAP}"]
        done = subprocess.run([*words, tmp_path / unit], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


def heapsmith(*words: str | Path) -> tuple[int, str, str]:
    done = process(*words)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.thorough
def test_the_commands_know_which_c_library_fits(tmp_path: Path) -> None:
    MUSL.tools()
    fits = tmp_path / "libfits.so"
    assert heapsmith("build", "lean", "-o", fits, "--target", MUSL.target) == (0, f"{fits}\n", "")
    program = run_anywhere(MUSL, tmp_path)
    assert heapsmith("run", fits, "--", program) == (0, "0 0\n", "")
    assert heapsmith("compare", "--lib", fits, "--rounds", "1", "--json", "--", program)[0] == 0
    other = "linked with musl (ld-musl-x86_64.so.1), and {} with glibc"
    for words, what in [
        (["run", "lean"], "liblean.so"),
        (["compare", "--lib", "glibc", "--lib", fits], "what this command preloads"),
        (["compare", "--lib", "lean", "--lib", fits], "liblean.so"),
    ]:
        status, said, complaint = heapsmith(*words, "--", program)
        assert (status, said, complaint.count("\n")) == (3, "", 1)
        assert other.format(what) in complaint
    for words in (["run", fits], ["compare", "--lib", fits]):
        status, said, complaint = heapsmith(*words, "--", sys.executable, "-c", "")
        assert (status, said, complaint.count("\n")) == (3, "", 1)
        assert "linked with glibc (ld-linux-x86-64.so.2), and libfits.so with musl" in complaint


@pytest.mark.thorough
def test_a_compiler_of_ones_own(tmp_path: Path) -> None:
    ARM.tools()
    out = tmp_path / "libown.so"
    assert heapsmith("build", "lean", "-o", out, "--cc", f"{ARM.compiler} -g0") == (0, f"{out}\n", "")
    image = image_of(out)
    assert image is not None
    assert (image.machine, image.libc) == ("AArch64", "glibc")


@pytest.mark.parametrize(
    ("words", "status", "complaint"),
    [
        (["--target", "sparc64-linux-gnu"], 2, r"--target sparc64-linux-gnu: not known; expected x86_64, aarch64"),
        (["--cc", "no-such-gcc -m64"], 3, r"--cc no-such-gcc -m64: no-such-gcc not found on PATH"),
        (["--cc", "'"], 2, r"--cc ': No closing quotation"),
    ],
)
def test_what_is_missing_is_one_line(
    words: list[str], status: int, complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found, said, line = heapsmith("build", "lean", "-o", tmp_path / "lib.so", *words)
    assert (found, said, line.count("\n")) == (status, "", 1)
    assert re.search(complaint, line)
    assert not (tmp_path / "lib.so").exists()


@pytest.mark.parametrize(
    ("target", "complaint"),
    [
        ("riscv64-linux-gnu", r"no compiler: expected riscv64-linux-gnu-gcc \(Debian: apt install"),
        ("aarch64-linux-musl", r"no compiler: expected aarch64-linux-musl-gcc, clang with"),
        ("x86_64-linux-gnu.2.28", r"ziglang makes libraries for older versions of glibc: pip install ziglang"),
    ],
)
def test_a_compiler_that_is_missing_is_named(
    target: str, complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(importlib.util, "find_spec", lambda *_: None)  # ziglang
    with pytest.raises(Missing, match=complaint):
        toolchain(target=target)
