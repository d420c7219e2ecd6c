"""System calls: those that the model counts are those that strace sees of the library in a replay."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from traces import random_trace

from heapsmith.bench.replay.script import write_script
from heapsmith.bench.replay.syscalls import memory_calls
from heapsmith.codegen.built import library_of
from heapsmith.model.design.design import Design, changed, load
from heapsmith.model.memory.application import Application
from heapsmith.model.memory.hardware import load_hardware
from heapsmith.model.predict.cost import system_calls
from heapsmith.model.predict.simulate import simulate

pytestmark = pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")


def counted_alike(folder: Path, events: int, names: Sequence[str | Design], **how: Any) -> list[int]:
    """The calls of each design, as the model counts them and as strace sees them. how: for `simulate`."""
    designs = [load(name) if isinstance(name, str) else name for name in names]
    trace = random_trace(folder / "t.hst", events, 7, max_size=300_000)
    write_script(trace, folder / "script")
    counted = [system_calls(row) for row in simulate(trace, designs, **how).rows]
    assert counted == [memory_calls(folder / "script", library_of(design)) for design in designs]
    return counted


def test_the_model_counts_the_calls_that_strace_sees(tmp_path: Path) -> None:
    small = {"slab_bytes": 32_768, "superslab_bytes": 65_536, "front": {"kind": "none"}}
    goes = changed(load("unmap"), "goes", {**small, "unmapping": {"kind": "superslabs", "keep": 0}})
    counted = counted_alike(tmp_path, 20_000, ["default", "lean", "hardened", "growth", goes])
    assert len(set(counted)) == len(counted)


def test_probes_of_pointers_are_calls(tmp_path: Path) -> None:
    """The model counts probes only if it follows what is touched."""
    hardware = msgspec.structs.replace(load_hardware(), zeroing_caches=False)  # plain Python would zero huge pages
    program = Application(births="none", deaths="none")
    default, probing = counted_alike(tmp_path, 1000, ["default", "probing"], hardware=hardware, application=program)
    assert probing > default + 200


@pytest.mark.big
def test_the_compiled_model_counts_them_with_hardware_too(tmp_path: Path) -> None:
    counted_alike(tmp_path, 20_000, ["default", "lean", "hardened", "probing", "growth"], hardware=load_hardware())
