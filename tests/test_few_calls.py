"""A sandbox that refuses mprotect(2) and futex(2), but not mmap(2): a program does in it what it does with glibc."""

from pathlib import Path

import pytest
from preloaded import library, program, start

from heapsmith.tools.record.record import record

SERVED = "0 refused, 0 wrong\n"


def said(*preloads: Path) -> str:
    done = start([program("few_calls")], *preloads)
    if done.returncode == 77:
        pytest.skip("this kernel has no filters of system calls")
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_c_library() -> None:
    assert said() == SERVED


@pytest.mark.parametrize(
    "design", ["default", *(pytest.param(n, marks=pytest.mark.thorough) for n in ("hardened", "lean"))]
)
def test_a_library(design: str) -> None:
    """Pages of a reservation are mapped again where they cannot be opened."""
    assert said(library(design, checked=False)) == SERVED


@pytest.mark.parametrize("stacks", [0, 16])
def test_the_recorder(stacks: int, tmp_path: Path) -> None:
    """Its first walk of a stack, for which libgcc needs futex(2), is before the sandbox."""
    said()  # or the kernel has no filters
    with open(tmp_path / "said", "w") as out:
        result = record([str(program("few_calls"))], tmp_path / "t.hst", stacks=stacks, stdout=out)
    assert result.exit_status == 0
    assert (tmp_path / "said").read_text() == SERVED
