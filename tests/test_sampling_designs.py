"""Samples in designs of six kinds: library, model and claims agree, programs run, misuse is told as without samples.

docs/lab/sampling.md names them.
"""

import re
from pathlib import Path

import pytest
from loaded import checked_library
from preloaded import program, run
from test_hardening import LEVELS, design_of, holds, table
from test_hardening import run as misuse
from test_sampling import OFTEN, SEED, threaded_trace
from test_stress import SHORT, counts, grain
from test_stress import library as preloaded

from heapsmith.codegen.verify import verify
from heapsmith.model.design.design import Design, changed, load

SIX = ("default", "lean", "hardened", "owner", "ring", "header")
six_designs = pytest.mark.parametrize("name", SIX)
MOST_MISUSES = 28
"""Programs of misuse, of 33, that each of the designs stops with all checks."""
PAGE = Path(__file__).resolve().parent.parent / "docs" / "lab" / "sampling.md"


def sampled(base: Design, **fields: int) -> Design:
    """The design, which takes samples from the start."""
    return changed(base, f"{base.name}-sampled", {"sampling": {"kind": "countdown", "seed": SEED} | fields})


@pytest.mark.thorough
@six_designs
def test_library_and_model_agree(name: str, tmp_path: Path) -> None:
    report = verify(sampled(load(name), mean_bytes=OFTEN), [threaded_trace(tmp_path)])
    assert [one.difference for one in report.runs] == [None, None]
    assert report.ok  # and the claims about its C hold


@pytest.mark.thorough
@six_designs
def test_forks_signals_and_threads(name: str) -> None:
    """The checked library, of whose requests each third or so is a sample."""
    preload = checked_library(sampled(load(name), mean_bytes=OFTEN))
    assert run([program("run_fork"), "load", 10], preload) == "done\n"
    assert run([program("run_fork"), "handler", 10], preload) == "done\n"
    assert run([program("run_signals"), 100], preload) == "done\n"
    early, late, _ = map(int, run([program("run_threads"), "sequential", 500, 100], preload).split())
    assert late < early + 2048  # as in test_runtime.py; the table of samples becomes resident as it is used


@pytest.mark.thorough
@pytest.mark.parametrize("guards", [0, 64])
@six_designs
def test_threads_at_random(name: str, guards: int) -> None:
    """The stress program looks at each promise of malloc, of samples too, and at the heap in the end."""
    design = sampled(load(name), mean_bytes=OFTEN, guards=guards)
    words = [*SHORT, *grain(design), "--seed", str(SIX.index(name)), "--statistics", "1"]
    found = counts(words, LD_PRELOAD=preloaded(design))
    assert found["heap_checked"]
    assert found["births"] == found["deaths"] > found["operations"] / 5
    assert found["moves"] > 0


@pytest.mark.thorough
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", sorted(set(table()) - {"write_link"}))
def test_misuse_is_told_as_the_page_says(name: str, level: str) -> None:
    holds(name, level, sampled(design_of(level)))


def ends(design: Design) -> dict[str, tuple[int, str]]:
    """How each program of misuse ends and what is said of it; the address that it prints is left out."""
    found = {}
    for name in sorted(table()):
        done = misuse(name, design)
        address = f"{int(done.stdout or '0', 16):#018x}"
        found[name] = done.returncode, done.stderr.replace(address, "its address")
    return found


@pytest.mark.thorough
@six_designs
def test_misuse_is_told_as_without_samples(name: str) -> None:
    """With all checks. The blocks that are misused are no samples themselves: of those more is known."""
    design = changed(load(name), f"{name}-full", {"hardening": {"kind": "full"}})
    without = ends(changed(design, f"{design.name}-unsampled", {"sampling": {"kind": "off"}}))
    assert ends(sampled(design)) == without
    assert sum(status != 0 for status, _ in without.values()) >= MOST_MISUSES


def test_the_page_names_the_designs() -> None:
    said = " ".join(PAGE.read_text().split("## With samples on")[1].split("\n## ")[0].split())
    assert ", ".join(f"`{name}`" for name in SIX) in said
    assert len(set(SIX)) == 6
    assert {name for name in re.findall(r"`(test_\w+)`", said)} <= globals().keys()
