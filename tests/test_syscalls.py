"""System calls: those that the model counts are those that strace sees of the library in a replay."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from loaded import unchecked_library
from traces import random_trace

from heapsmith.bench.validate.syscalls import memory_calls
from heapsmith.model.design.design import Design, changed, load
from heapsmith.model.files import scratch
from heapsmith.model.memory.application import Application
from heapsmith.model.memory.hardware import load_hardware
from heapsmith.model.predict.cost import system_calls
from heapsmith.model.predict.simulate import simulate
from heapsmith.tools.replay.script import write_script

pytestmark = pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")


def counted_alike(folder: Path, events: int, names: Sequence[str | Design], **how: Any) -> list[int]:
    """The calls of each design, as the model counts them and as strace sees them. how: for `simulate`."""
    designs = [load(name) if isinstance(name, str) else name for name in names]
    trace = random_trace(folder / "t.hst", events, 7, max_size=MAX_SIZE)
    write_script(trace, folder / "script")
    counted = [system_calls(row) for row in simulate(trace, designs, **how).rows]
    assert counted == [memory_calls(folder / "script", unchecked_library(design)) for design in designs]
    return counted


EVENTS, MAX_SIZE = 20_000, 300_000
SMALL = {"slab_bytes": 65_536, "superslab_bytes": 131_072, "front": {"kind": "none"}}
GOES = changed(
    load("unmap"),
    "goes",
    {
        **SMALL,
        "unmapping": {"kind": "superslabs", "keep": 0},
        "hardening": {"kind": "full"},
        "populate": {"kind": "batches", "pages": 4},
    },
)
GROWS = changed(
    load("populate-growing"),
    "grows",
    {
        **SMALL,
        "populate": {"kind": "growing", "pages": 16, "share": 4},
        "release": {"kind": "budget", "slab_budget_bytes": 0, "most_budget_bytes": 0},
    },
)
MAPPED = changed(load("lean"), "mapped", {**SMALL, "classifier": "page_map"})


def wrong_calls(library: Path, design: Design) -> str | None:
    """How the calls of a library in a replay differ in number from the design's; None if they do not."""
    with scratch() as folder:
        trace = random_trace(folder / "t.hst", EVENTS, 7, max_size=MAX_SIZE)
        write_script(trace, folder / "script")
        expected = system_calls(simulate(trace, [design]).rows[0])
        found = memory_calls(folder / "script", library)
    return None if found == expected else f"calls: {found}, expected {expected}"


@pytest.mark.thorough
def test_the_model_counts_the_calls_that_strace_sees(tmp_path: Path) -> None:
    counted = counted_alike(tmp_path, EVENTS, ["default", "lean", "hardened", "growth", GOES, GROWS, MAPPED])
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
