"""What the wheels of platforms bring compiled: it fits old systems, and serves where no compiler is."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection
from systems import ARM as EMULATED
from systems import run_anywhere
from test_record_elsewhere import elsewhere, here
from traces import random_chunk, random_trace

import heapsmith
from heapsmith.bench.gates.wheels import DEPTH, DESIGNS, PLATFORMS, Platform, prebuild, tools
from heapsmith.bench.programs.instructions import FORMS, per_operation
from heapsmith.codegen import built
from heapsmith.codegen.build import build
from heapsmith.codegen.built import library_file, library_of
from heapsmith.codegen.difference import counted
from heapsmith.codegen.driver import Driver
from heapsmith.codegen.target import toolchain
from heapsmith.codegen.toolchain import build_tool
from heapsmith.model.design.design import load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.errors import Missing
from heapsmith.model.heap.simulator import Simulator
from heapsmith.tools.common.elf import image_of
from heapsmith.tools.peers.peers import replay_tool
from heapsmith.tools.record.record import recorder_tool
from heapsmith.tools.replay.script import write_script

pytestmark = pytest.mark.thorough

HERE, ARM = PLATFORMS
COMPILERS = ("cc", "gcc", "c89", "c99", "clang", "g++", "c++", "cpp", "musl-gcc")
GREETING = "use strict; my %h; $h{$_} = 'x' x ($_ % 300) for 1 .. 3000; print scalar(keys %h), qq(\\n)"


@pytest.fixture(scope="module")
def brought(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled files of this platform's wheel."""
    return compiled(HERE, tmp_path_factory.mktemp("brought"))


def compiled(platform: Platform, folder: Path) -> Path:
    if importlib.util.find_spec("ziglang") is None:
        pytest.skip("not installed: ziglang")
    prebuild(folder, toolchain(target=platform.target))
    return folder


def test_the_compiled_part_of_a_wheel_for_musl(tmp_path: Path) -> None:
    """docs/lab/platforms.md says how many files, and of how many bytes."""
    prebuild(tmp_path, toolchain(target="x86_64-linux-musl"))
    files = [*tmp_path.iterdir()]
    page = (Path(__file__).resolve().parent.parent / "docs" / "lab" / "platforms.md").read_text()
    said = re.search(r"makes the (\d+) files of a wheel for musl, of ([\d.]+) MB", " ".join(page.split()))
    assert said is not None
    assert len(files) == int(said[1])
    assert sum(file.stat().st_size for file in files) / 1e6 == pytest.approx(float(said[2]), rel=0.15)
    assert {image.libc for image in map(image_of, files) if image is not None} == {"musl"}


def newest_glibc(file: Path) -> tuple[int, ...]:
    """The newest version of glibc that a file asks for."""
    found = [(0,)]
    with file.open("rb") as opened:
        for section in ELFFile(opened).iter_sections():
            if isinstance(section, GNUVerNeedSection):
                names = [version.name for _, versions in section.iter_versions() for version in versions]
                found += [tuple(map(int, name[6:].split("."))) for name in names if name.startswith("GLIBC_2")]
    return max(found)


def test_files_ask_for_no_newer_glibc_than_the_wheel_says(brought: Path) -> None:
    files = sorted(brought.iterdir())
    assert len(files) == len(tools()) + len(DESIGNS)
    assert {file.name: newest_glibc(file) for file in files if newest_glibc(file) > (2, 28)} == {}
    assert {os.access(file, os.X_OK) for file in files} == {True}


def test_a_newer_glibc_would_be_seen(tmp_path: Path) -> None:
    source = tmp_path / "asks.c"
    source.write_text("#include <threads.h>\nint main(void) { thrd_yield(); return 0; }\n")
    assert newest_glibc(build_tool("asks", [source])) >= (2, 28)


@pytest.fixture(scope="module")
def for_arm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(ARM, tmp_path_factory.mktemp("for_arm"))


def test_files_for_arm_too(for_arm: Path) -> None:
    files = sorted(for_arm.iterdir())
    assert len(files) == len(tools()) + len(DESIGNS)
    assert max(map(newest_glibc, files)) <= (2, 28)


@pytest.mark.parametrize("name", DESIGNS)
def test_libraries_for_arm_serve_a_threaded_program_under_an_emulator(name: str, for_arm: Path, tmp_path: Path) -> None:
    EMULATED.tools()
    settings = [f"LD_PRELOAD={for_arm / library_file(load(name))}", f"HEAPSMITH=stats={tmp_path / 'stats.json'}"]
    words = [*EMULATED.under, *(word for setting in settings for word in ("-E", setting))]
    done = subprocess.run([*words, run_anywhere(EMULATED, tmp_path)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 0\n", "")
    report = json.loads((tmp_path / "stats.json").read_text())
    assert report["design"].split()[0] == name
    assert report["counters"]["heaps"] > 1


@pytest.mark.parametrize("stacks", [0, DEPTH])
def test_the_recorder_for_arm_tells_what_the_one_of_here_tells(stacks: int, for_arm: Path, tmp_path: Path) -> None:
    recorder = for_arm / recorder_tool(stacks).file()
    assert elsewhere(EMULATED, stacks, tmp_path / "elsewhere", recorder) == here(tmp_path / "here")


def test_the_replayer_for_arm_replays_a_trace_of_here(for_arm: Path, tmp_path: Path) -> None:
    EMULATED.tools()
    facts = write_script(random_trace(tmp_path / "t.hst", 2000, 5, threads=3), tmp_path / "script")
    words = [*EMULATED.under, for_arm / replay_tool().file(), tmp_path / "script", "--check", "--unsampled"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    assert (told["operations"], told["threads"], told["checked"]) == (facts.operations, facts.threads, True)


def test_a_library_of_ziglang_is_the_models_heap(brought: Path, tmp_path: Path) -> None:
    """Each address of four threads, in the build that checks itself."""
    plan, chunk = make_plan(load("default")), random_chunk(2000, 4, threads=4, max_size=1 << 17, cross_thread=0.2)
    library = build(load("default"), tmp_path / "lib.so", checked=True, tools=toolchain(target=HERE.target))
    simulator, expected = Simulator(plan), np.empty(len(chunk.op), np.int64)
    simulator.feed(chunk, expected)
    with Driver(library, plan.grain, len(counted(plan, checked=True)), check_every=500) as driver:
        driver.send(chunk, simulator.groups(chunk), simulator.processors(chunk))
        addresses, _ = driver.receive(len(chunk.op))
    assert addresses.tolist() == expected.tolist()


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
@pytest.mark.parametrize("name", ["default", "lean"])
def test_its_hot_paths_are_no_longer_than_those_of_gcc(name: str, brought: Path) -> None:
    """But for 2 instructions a pair."""
    libraries = [library_of(load(name)), brought / library_file(load(name))]
    by_gcc, by_zig = [per_operation(FORMS["pair-32"], library, operations=2000) for library in libraries]
    assert by_zig <= by_gcc + 2


@pytest.fixture
def no_compiler(tmp_path: Path) -> dict[str, str]:
    """The variables of a system without one."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("perl", "sh", "env", "true"):
        if path := shutil.which(name):
            (programs / name).symlink_to(path)
    return {"PATH": str(programs), "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}


@pytest.fixture
def installed(brought: Path, tmp_path: Path) -> Path:
    """The package as a wheel lays it down: its folders, and the compiled files among them."""
    package = tmp_path / "site" / "heapsmith"
    package.mkdir(parents=True)
    for child in Path(heapsmith.__file__).parent.iterdir():
        (package / child.name).symlink_to(child.resolve())
    (package / "prebuilt").symlink_to(brought)
    return package.parent


@pytest.mark.skipif(shutil.which("perl") is None, reason="perl is not installed")
def test_record_and_run_need_no_compiler(installed: Path, no_compiler: dict[str, str], tmp_path: Path) -> None:
    def said(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "heapsmith", *words]
        environment = no_compiler | {"PYTHONPATH": str(installed)}
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    job = ("--", "perl", "-e", GREETING)
    for name in DESIGNS:
        done = said("run", name, *job)
        assert (done.returncode, done.stdout, done.stderr) == (0, "3000\n", "")
    stats = said("run", "--stats", str(tmp_path / "stats"), "lean", *job)
    assert stats.returncode == 0
    assert '"lean' in (tmp_path / "stats").read_text()
    for stacks in ([], ["--stacks"]):
        done = said("record", *stacks, "-o", str(tmp_path / "t.hst"), *job)
        assert (done.returncode, done.stdout) == (0, "3000\n"), done.stderr
    assert said("replay", str(tmp_path / "t.hst"), "--lib", "default").returncode == 0
    assert said("compare", "--lib", "default", "--time", "1s", *job).returncode == 0
    done = said("run", "ring", *job)
    assert done.returncode == 3
    assert done.stderr.endswith("; ready without it: default, hardened, lean\n")


def test_a_changed_design_is_not_served_by_the_library_of_its_name(
    brought: Path, no_compiler: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(built, "PREBUILT", brought)
    for name, value in no_compiler.items():
        monkeypatch.setenv(name, value)
    assert library_of(load("default")) == brought / library_file(load("default"))
    changed = msgspec.structs.replace(load("default"), slab_bytes=131072)
    with pytest.raises(Missing, match=r"gcc not found.*; ready without it: default, hardened, lean$"):
        library_of(changed)
    with pytest.raises(Missing, match="gcc not found"):
        library_of(load("default"), checked=True)
