"""Libraries of changed C, built fast: every source is an object, and only what a mutant changes is compiled again."""

import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import numpy as np
from nasty import nasty_trace
from numpy.typing import NDArray

from heapsmith.codegen.difference import counter_names, counter_row
from heapsmith.codegen.driver import Driver, DriverFailed
from heapsmith.codegen.generate import PURPOSES, RUNTIME, generate, runtime_sources
from heapsmith.codegen.mutants import Mutant
from heapsmith.codegen.toolchain import find_gcc
from heapsmith.model.design import Design
from heapsmith.model.machine import Machine
from heapsmith.model.plan import make_plan
from heapsmith.model.trace import Chunk

COMPILE = [
    *("-std=gnu17", "-O0", "-w", "-c", "-fPIC", "-pthread", "-fvisibility=hidden", "-ftls-model=initial-exec"),
    *("-fno-builtin-malloc", "-fno-builtin-calloc", "-fno-builtin-realloc", "-fno-builtin-free"),
    "-DHEAPSMITH_CHECKED=1",
]
LINK = ["-shared", "-pthread", "-Wl,-Bsymbolic-functions", "-Wl,-z,now"]
CHECK_EVERY = 16
TIMEOUT_S = 3


class Expected(NamedTuple):
    """What the model says of the trace."""

    chunk: Chunk
    addresses: NDArray[np.int64]
    counters: NDArray[np.int64]


def expect(design: Design) -> Expected:
    """The nasty trace of a design and what must come of it."""
    plan = make_plan(design)
    chunk = nasty_trace(plan)
    machine = Machine(plan, compiled=False)
    addresses = np.empty(len(chunk.op), np.int64)
    machine.feed(chunk, addresses)
    return Expected(chunk, addresses, counter_row(machine.counters()))


class Workshop:
    """The C of one design in a folder, its objects, and the library of whatever is changed."""

    def __init__(self, design: Design, folder: Path) -> None:
        self.plan = make_plan(design)
        self.tree = folder / "runtime"
        self.emitted = folder / "emitted"
        self.library = folder / "library.so"
        shutil.copytree(RUNTIME, self.tree)
        generate(design, self.emitted)
        names = [str(source.relative_to(RUNTIME)) for source in runtime_sources(self.plan)]
        self.sources = [self.emitted / "plan.c", self.emitted / "fast.c", *(self.tree / name for name in names)]
        self.files = {name: self.emitted / name for name in PURPOSES}
        self.files |= {name: self.tree / name for name in names}
        self.files |= {header.name: header for header in self.tree.glob("*.h")}
        assert self.compile(self.sources) and self.link()

    def compile(self, sources: list[Path]) -> bool:
        """The objects of these sources; False if one does not compile."""
        commands = [
            [find_gcc().path, *COMPILE, f"-I{self.emitted}", f"-I{self.tree}", str(source), "-o", f"{source}.o"]
            for source in sources
        ]
        return all(subprocess.run(command, capture_output=True, check=False).returncode == 0 for command in commands)

    def link(self) -> bool:
        """The library of all objects."""
        objects = [f"{source}.o" for source in self.sources]
        command = [find_gcc().path, *LINK, *objects, "-o", str(self.library)]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    def try_out(self, mutant: Mutant, expected: Expected) -> str | None:
        """How the mutant was noticed; None if it was not. The C is as before afterwards."""
        file = self.files[mutant.file]
        original = file.read_text()
        again = [file] if file.suffix == ".c" else self.sources
        try:
            file.write_text(mutant.apply(original))
            if not (self.compile(again) and self.link()):
                return "does not compile"
            return self.perform(expected)
        finally:
            file.write_text(original)
            self.compile(again)

    def perform(self, expected: Expected) -> str | None:
        """What is wrong with the library as it is: the trace, again after a reset, and the facts; None if nothing is."""
        counters = len(counter_names(self.plan))
        try:
            with Driver(
                self.library, self.plan.grain, counters, check_every=CHECK_EVERY, timeout_s=TIMEOUT_S
            ) as driver:
                for _ in range(2):
                    driver.send(expected.chunk)
                    addresses, counts = driver.receive(len(expected.chunk.op))
                    if not np.array_equal(addresses, expected.addresses):
                        return "address differs"
                    if not np.array_equal(counts, expected.counters):
                        return "counter differs"
                    driver.reset()
                driver.close()
        except DriverFailed as failure:
            return failure.what
        return None
