"""Walks of the stack (runtime/heap/1_base/frames.c): the frames are libgcc's, and libgcc is seldom asked."""

import shutil
import subprocess
from pathlib import Path

import pytest
from preloaded import FLAGS, PROGRAMS
from systems import ARM, RISC, System

from heapsmith.codegen.layers import HEAP
from heapsmith.codegen.toolchain import build_tool, compile_c

SOURCES = [PROGRAMS / "walks.c", *(HEAP / f"1_base/{name}.c" for name in ("frames", "unwind"))]
WORDS = [*FLAGS, "-Wno-unused-parameter", "-Wl,--wrap=_Unwind_Backtrace"]


def walked(*command: str | Path) -> tuple[int, int]:
    """Of the walks of plain frames, how many were compared, and how many libgcc ended; each frame is libgcc's."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    plain, ended, others, of_others, frames = map(int, done.stdout.split())
    assert plain > 40
    assert others > 10
    assert 0 < of_others <= others
    assert frames > 400
    return plain, ended


@pytest.mark.parametrize("flags", [("-O2",), ("-O0",), ("-O2", "-fno-omit-frame-pointer"), ("-Os", "-fcf-protection")])
def test_each_frame_is_that_of_libgcc(flags: tuple[str, ...]) -> None:
    """Of a stack that is aligned anew, and of one that a signal interrupted, libgcc walks the rest."""
    assert walked(build_tool("walks", SOURCES, [*WORDS, *flags], include=[HEAP]))[1] == 0


def elsewhere(system: System, folder: Path, compiler: tuple[str, ...], *flags: str) -> tuple[int, int]:
    """The walks on the system. RISC-V's compilers write no tables for C unless they are told to."""
    if missing := ", ".join(word for word in (system.compiler, compiler[0], system.under[0]) if not shutil.which(word)):
        pytest.skip(f"not installed: {missing}")
    words = [*WORDS, "-fasynchronous-unwind-tables", "-Wno-unknown-attributes", *flags]
    compile_c(SOURCES, folder / "walks", flags=words, include=[HEAP], compiler=compiler)
    return walked(*system.under, folder / "walks")


@pytest.mark.thorough
@pytest.mark.parametrize("flags", [("-O2",), ("-O0",)])
@pytest.mark.parametrize("system", [ARM, RISC], ids=lambda system: system.target)
def test_elsewhere_each_frame_is_that_of_libgcc(system: System, flags: tuple[str, ...], tmp_path: Path) -> None:
    """Libgcc walks the rest behind long frames, too: the return address lies at their other end."""
    plain, ended = elsewhere(system, tmp_path, (system.compiler,), *flags)
    assert ended < plain


@pytest.mark.thorough
@pytest.mark.parametrize("flags", [("-O2", "-fomit-frame-pointer"), ("-O2", "-fno-omit-frame-pointer")])
@pytest.mark.parametrize("system", [ARM, RISC], ids=lambda system: system.target)
def test_elsewhere_clang_leaves_each_walk_to_libgcc(system: System, flags: tuple[str, ...], tmp_path: Path) -> None:
    """It does not tell where the first frame ends."""
    plain, ended = elsewhere(system, tmp_path, ("clang", f"--target={system.target}"), *flags)
    assert ended == plain
