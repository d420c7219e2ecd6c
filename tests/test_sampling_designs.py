"""Samples in designs of six kinds: library, model and claims agree, programs run, misuse is told as without samples."""

from pathlib import Path

import pytest
from loaded import checked_library
from preloaded import program, run
from test_hardening import LEVELS, design_of, holds, table
from test_sampling import OFTEN, SEED, threaded_trace

from heapsmith.codegen.verify import verify
from heapsmith.model.design.design import Design, changed, load

SIX = ("default", "lean", "hardened", "owner", "ring", "header")
six_designs = pytest.mark.parametrize("name", SIX)


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
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", sorted(set(table()) - {"write_link"}))
def test_misuse_is_told_as_without_samples(name: str, level: str) -> None:
    holds(name, level, sampled(design_of(level)))
