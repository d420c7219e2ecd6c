"""Walks of the stack (runtime/heap/1_base/frames.c): the frames are libgcc's, and libgcc is seldom asked."""

import subprocess

import pytest
from preloaded import FLAGS, PROGRAMS

from heapsmith.codegen.layers import HEAP
from heapsmith.codegen.toolchain import build_tool


@pytest.mark.parametrize("flags", [("-O2",), ("-O0",), ("-O2", "-fno-omit-frame-pointer"), ("-Os", "-fcf-protection")])
def test_each_frame_is_that_of_libgcc(flags: tuple[str, ...]) -> None:
    """Of a stack that is aligned anew, and of one that a signal interrupted, libgcc walks the rest."""
    sources = [PROGRAMS / "walks.c", *(HEAP / f"1_base/{name}.c" for name in ("frames", "unwind"))]
    words = [*FLAGS, "-Wno-unused-parameter", "-Wl,--wrap=_Unwind_Backtrace", *flags]
    built = build_tool("walks", sources, words, include=[HEAP])
    done = subprocess.run([built], capture_output=True, text=True, check=False)
    plain, ended, others, of_others, frames = map(int, done.stdout.split())
    assert done.returncode == 0, done.stdout
    assert plain > 40
    assert ended == 0
    assert others > 10
    assert of_others == others
    assert frames > 400
