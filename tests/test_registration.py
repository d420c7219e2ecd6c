"""When the library registers its handlers of fork (docs/lab/threads.md), and what a start costs."""

import subprocess

import pytest
from preloaded import LIVE_DESIGNS, PROGRAMS, library, program, run, shim

from heapsmith.codegen.toolchain import build_tool

ORDER = {
    "alone": ["begin", "end"],
    "threads": ["begin", "registered", "thread", "thread", "end"],
    "handlers": ["begin", "registered", "registered", "mine", "end"],
}


@pytest.mark.parametrize("mode", ORDER)
@pytest.mark.parametrize("design", LIVE_DESIGNS)
def test_handlers_come_before_a_thread_and_before_those_of_others(design: str, mode: str) -> None:
    """`handlers` hangs if the library's handlers come behind the program's."""
    said = run([program("run_registers"), mode], library(design), shim("shim_registrations"))
    assert said.splitlines() == ORDER[mode]


def test_a_start_takes_few_page_faults() -> None:
    """Of /bin/true, beyond glibc alone; an empty library takes up to 7."""
    tool = build_tool("turns", [PROGRAMS.parents[1] / "bench" / "programs" / "turns.c"])
    words = [tool, "20", "/bin/true", "-", library("default", checked=False)]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    alone, under = (float(line.split()[-2]) for line in said.splitlines())
    assert 2 < under - alone < 10
