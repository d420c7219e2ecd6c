"""The system's clock of a delay in milliseconds, in a program that goes on with little."""

import pytest
from loaded import checked_library, unchecked_library
from preloaded import program, run

from heapsmith.model.design.design import Design, changed, load

DELAY_MS = 100


def decaying(base: str) -> Design:
    release = {"kind": "delay", "unit": "milliseconds", "delay": DELAY_MS, "most": 64}
    return changed(load(base), "decaying", {"release": release})


@pytest.mark.parametrize(("base", "checked"), [("delay", False), ("owner", True)], ids=["release", "checked"])
def test_pages_of_a_program_go_back(base: str, checked: bool) -> None:
    design = decaying(base)
    library = checked_library(design) if checked else unchecked_library(design)
    run([program("run_decays"), str(DELAY_MS)], library)


def test_library_has_no_clock_without_the_choice() -> None:
    assert b"heapsmith_clock" in unchecked_library(decaying("delay")).read_bytes()
    assert b"heapsmith_clock" not in unchecked_library(load("delay")).read_bytes()
