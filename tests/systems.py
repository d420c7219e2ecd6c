"""Other systems than this one: their compilers, their programs under an emulator, their libraries held to the model."""

import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray
from traces import random_chunk

from heapsmith.codegen.build import build
from heapsmith.codegen.difference import by_address, byte_row, counted, counter_row
from heapsmith.codegen.driver import Driver, DriverFailed
from heapsmith.codegen.target import Toolchain, pages_vary, toolchain
from heapsmith.codegen.verify import Library
from heapsmith.model.constants import PAGE
from heapsmith.model.design.design import Design, load
from heapsmith.model.design.fitted import fitted
from heapsmith.model.design.plan import Plan, make_plan
from heapsmith.model.heap.simulator import Simulator
from heapsmith.model.trace.reader import Chunk

PROGRAMS = Path(__file__).parent / "programs"


class System(NamedTuple):
    """A system under test: its name, and the command that runs its programs here."""

    target: str
    under: tuple[str, ...]

    @property
    def compiler(self) -> str:
        return f"{self.target}-gcc"

    def missing(self) -> str:
        words = (self.compiler, *self.under[:1])
        return ", ".join(word for word in words if shutil.which(word) is None)

    def tools(self) -> Toolchain:
        if missing := self.missing():
            pytest.skip(f"not installed: {missing}")
        return toolchain(target=self.target)


def emulated(processor: str) -> System:
    target = f"{processor}-linux-gnu"
    return System(target, (f"qemu-{processor}-static", "-L", f"/usr/{target}"))


ARM, RISC = emulated("aarch64"), emulated("riscv64")
MUSL = System("x86_64-linux-musl", ())


def small(design: Design) -> Design:
    """The design with short spans: the emulator marks each page of a reservation, seconds for those of `default`.

    Regions of a class stay, which take what is their part of a span, and fronts that take all their blocks at once.
    """
    if make_plan(design).regions > 1 or design.front.__struct_config__.tag == "prepared":
        return design
    return msgspec.structs.replace(design, slab_span_bytes=1 << 28, run_span_bytes=1 << 28)


def design_of(name: str | Design) -> Design:
    return load(name) if isinstance(name, str) else name


def plan_of(system: System, name: str | Design, page_bytes: int = PAGE) -> Plan:
    """The plan of the library that `build` makes for the system, whose pages are so long."""
    varies, design = pages_vary(system.tools()), design_of(name)
    return make_plan(fitted(design), page_bytes) if varies else make_plan(design)


def library_for(system: System, name: str | Design, folder: Path, *, checked: bool) -> Library:
    design = design_of(name)
    path = build(design, folder / f"lib{design.name}.so", checked=checked, tools=system.tools())
    compared = counted(plan_of(system, name), checked=checked)
    return Library("checked" if checked else "release", path, 512 if checked else 0, compared)


def trace(events: int) -> Chunk:
    return random_chunk(events, 4, threads=4, max_size=1 << 17, cross_thread=0.2, live=300)


def hold_to_model(system: System, library: Library, plan: Plan, chunk: Chunk) -> None:
    """Each address, each counter and each sum of bytes of the library is the model's, and its facts hold."""
    simulator = Simulator(plan, compiled=plan.page_bytes == PAGE)
    expected = np.empty(len(chunk.op), np.int64)
    simulator.feed(chunk, expected)
    try:
        addresses, counters, sums = performed(system, library, plan, chunk, simulator)
    except DriverFailed as failure:
        if not (system.under and "with forks" in failure.what):
            raise
        # Seen once: an emulator has locks of its own, which another thread may hold at a fork. What hangs again fails
        addresses, counters, sums = performed(system, library, plan, chunk, simulator)
    assert np.count_nonzero(addresses >= 0) > 500
    assert by_address(plan, 0, chunk, expected, addresses) is None
    assert counters.tolist() == counter_row(simulator.counters()).tolist()
    assert sums.tolist() == byte_row(simulator).tolist()


def performed(
    system: System, library: Library, plan: Plan, chunk: Chunk, simulator: Simulator
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The library's addresses, counters and sums of bytes; the driver's own checks hold."""
    with Driver(
        library.path, plan.grain, len(library.compared), check_every=500, under=system.under, compiler=system.compiler
    ) as driver:
        driver.send(chunk, simulator.groups(chunk), simulator.processors(chunk))
        addresses, counters = driver.receive(len(chunk.op))
        driver.close()
    return addresses, counters, driver.bytes


def run_anywhere(system: System, folder: Path, *words: str | Path) -> Path:
    """The threaded program, linked with these words too."""
    program, source = folder / "program", PROGRAMS / "run_anywhere.c"
    subprocess.run([system.compiler, "-O1", "-Wall", "-Werror", "-o", program, source, *words, "-pthread"], check=True)
    return program
