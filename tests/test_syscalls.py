"""System calls: those that the model counts are those that strace sees of the library in a replay."""

import shutil
from pathlib import Path

import pytest
from traces import random_trace

from heapsmith.bench.common.built import library_of
from heapsmith.bench.replay.script import write_script
from heapsmith.bench.replay.syscalls import memory_calls
from heapsmith.model.design.design import load
from heapsmith.model.memory.hardware import load_hardware
from heapsmith.model.predict.cost import system_calls
from heapsmith.model.predict.simulate import simulate


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_the_model_counts_the_calls_that_strace_sees(tmp_path: Path) -> None:
    designs = [load("default"), load("lean"), load("hardened"), load("probing"), load("growth")]
    trace = random_trace(tmp_path / "t.hst", 20_000, 7, max_size=300_000)
    script = tmp_path / "script"
    write_script(trace, script)
    counted = [system_calls(row) for row in simulate(trace, designs, hardware=load_hardware()).rows]
    assert counted == [memory_calls(script, library_of(design)) for design in designs]
    assert len(set(counted)) == len(designs)
