"""Hardening on 64-bit Arm, under an emulator: misuse ends as on x86-64, and so do the attacks; fork and signals."""

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from covering import soon
from systems import ARM, small
from test_hardening import ATTACKS, LEVELS, PROGRAMS, design_of, judge, table

from heapsmith.bench.attacks import attacks
from heapsmith.codegen.build import build
from heapsmith.codegen.toolchain import build_tool
from heapsmith.model.design.design import Design, load

UNCAUGHT = re.compile(r"qemu: uncaught target signal \d+ \([\w ]+\) - core dumped\n")
"""What qemu adds to the words of a program that a signal ends."""

BEHAVIOURS = Path(__file__).parent / "behaviours"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hardening")


def library(folder: Path, design: Design) -> Path:
    """The design's with short spans, built once."""
    design = small(design)
    path = folder / f"lib{design.hash()}.so"
    return path if path.exists() else build(design, path, tools=ARM.tools())


def run(tool: Path, *settings: str, words: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    """Under the emulator, without a core file."""
    words = [*ARM.under, *(word for setting in settings for word in ("-E", setting)), str(tool), *words]
    limited = ["prlimit", "--core=0", *words]
    done = subprocess.run(limited, capture_output=True, text=True, timeout=300, check=False)
    done.stderr = UNCAUGHT.sub("", done.stderr)
    return done


@pytest.mark.thorough
@pytest.mark.parametrize("level", LEVELS)
def test_misuse_ends_as_the_page_says(level: str, folder: Path) -> None:
    """Every program of the page's table."""
    for name in sorted(table()):
        flags = ["-O1", "-fno-builtin", "-w", f"-I{PROGRAMS}"]
        tool = build_tool(name, [PROGRAMS / f"{name}.c"], flags, compiler=ARM.tools().compiler[0])
        heap = library(folder, design_of(level, listed=name == "write_link"))
        judge(run(tool, f"LD_PRELOAD={heap}"), name, level)


@pytest.mark.big
@pytest.mark.parametrize(("level", "name"), list(zip(LEVELS, ("default", "basic", "checks", "hardened"), strict=True)))
def test_attacks_end_as_the_page_says(level: str, name: str, folder: Path) -> None:
    source = Path(attacks.__file__).with_name("attacks.cc")
    compiler = ARM.compiler.replace("gcc", "g++")
    if shutil.which(compiler) is None:
        pytest.skip(f"not installed: {compiler}")
    tool = build_tool("attacks", [source], attacks.FLAGS, compiler=compiler)
    said = run(tool, f"LD_PRELOAD={library(folder, load(name))}").stdout
    found: dict[str, list[str]] = {}
    for attack in (attacks.Attack(*row) for row in attacks.LINE.findall(said)):
        cell = {"stopped": [attack.size], "foiled": [f"({attack.size})"], "hit": []}[attack.end]
        found.setdefault(attack.name, []).extend(cell)
    found.pop("free_far_1g")  # 1 GiB further there is no heap with short spans
    assert {attack: " ".join(cell) for attack, cell in found.items()} == {
        attack: cells[level] for attack, cells in table(ATTACKS).items() if attack != "free_far_1g"
    }


OF_SYSTEM = [*sorted(path.stem for path in BEHAVIOURS.glob("fork_*.c")), "thread_at_once", "thread_free_elsewhere"]


@pytest.mark.thorough
@pytest.mark.parametrize("name", soon(("default", "hardened", "processor", "background"), [], ["default", "hardened"]))
def test_fork_and_threads(name: str, folder: Path) -> None:
    for program in OF_SYSTEM:
        flags = ["-O1", "-fno-builtin", "-w", "-pthread", f"-I{BEHAVIOURS}"]
        tool = build_tool(program, [BEHAVIOURS / f"{program}.c"], flags, compiler=ARM.tools().compiler[0])
        done = run(tool, f"LD_PRELOAD={library(folder, load(name))}")
        assert (done.returncode, done.stderr) == (0, ""), program


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["default", "hardened"])
def test_signals_amid_malloc(name: str, folder: Path) -> None:
    """A timer's signals while threads allocate; the emulator delivers them between its blocks of instructions."""
    source = BEHAVIOURS.with_name("programs") / "run_signals.c"
    flags = ["-O1", "-fno-builtin", "-pthread"]
    tool = build_tool("run_signals", [source], flags, compiler=ARM.tools().compiler[0])
    done = run(tool, f"LD_PRELOAD={library(folder, load(name))}", words=["300"])
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
