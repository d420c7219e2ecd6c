"""Libraries of changed C, built fast: every source is an object, and only what a mutant changes is compiled again."""

import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import numpy as np
from mutants import Mutant
from nasty import nasty_trace
from numpy.typing import NDArray

from heapsmith.codegen.difference import counter_row
from heapsmith.codegen.driver import Driver, DriverFailed
from heapsmith.codegen.generate import PURPOSES, RUNTIME, generate, runtime_sources
from heapsmith.codegen.toolchain import find_gcc
from heapsmith.model.design import Design
from heapsmith.model.machine import Machine
from heapsmith.model.plan import Plan, make_plan
from heapsmith.model.trace import Chunk

COMPILE = [
    *("-std=gnu17", "-O0", "-w", "-pipe", "-fPIC", "-pthread", "-fvisibility=hidden", "-ftls-model=initial-exec"),
    *("-fno-builtin-malloc", "-fno-builtin-calloc", "-fno-builtin-realloc", "-fno-builtin-free"),
    "-DHEAPSMITH_CHECKED=1",
]
LINK = ["-shared", "-pthread", "-Wl,-Bsymbolic-functions", "-Wl,-z,now"]
CHECK_EVERY = 64
TIMEOUT_S = 3


class Expected(NamedTuple):
    """What the model says of the trace."""

    chunk: Chunk
    addresses: NDArray[np.int64]
    counters: NDArray[np.int64]


LITTLE_SPACE = (1 << 28) - (1 << 20)
"""Address space in which both spans of a covering design must be halved at least once."""

NO_SPACE = 1 << 24
"""Address space in which there is no room for a span, so that every allocation fails."""


def expect(plan: Plan, chunk: Chunk) -> Expected:
    """A trace and what must come of it."""
    machine = Machine(plan, compiled=False)
    addresses = np.empty(len(chunk.op), np.int64)
    machine.feed(chunk, addresses)
    return Expected(chunk, addresses, counter_row(machine.counters()))


class Workshop:
    """The C of one design in a folder, its objects, and the library of whatever is changed."""

    def __init__(self, design: Design, folder: Path) -> None:
        self.design = design
        self.plan = make_plan(design)
        self.folder = folder
        self.tree = folder / "runtime"
        self.emitted = folder / "emitted"
        shutil.copytree(RUNTIME, self.tree)
        generate(design, self.emitted)
        names = [str(source.relative_to(RUNTIME)) for source in runtime_sources(self.plan)]
        self.sources = [self.emitted / "plan.c", self.emitted / "fast.c", *(self.tree / name for name in names)]
        self.files = {name: self.emitted / name for name in PURPOSES}
        self.files |= {name: self.tree / name for name in names}
        self.files |= {header.name: header for header in self.tree.glob("*.h")}
        self.expected = expect(self.plan, nasty_trace(self.plan))
        short = nasty_trace(self.plan, waves=4, crowd=0)
        self.expected_in_little_space = expect(self.plan, short)
        nothing = np.full(len(short.op), -1, np.int64), np.zeros_like(self.expected.counters)
        self.expected_in_no_space = Expected(short, *nothing)
        for source in self.sources:
            assert self._compile(["-c", str(source), "-o", f"{source}.o"])

    def texts(self) -> dict[str, str]:
        """The text of every file that can be changed, by its name in mutants."""
        return {name: file.read_text() for name, file in self.files.items()}

    def pristine(self) -> Path:
        """The library of the C as it is."""
        library = self.folder / "pristine.so"
        assert self._compile([*LINK, *(f"{source}.o" for source in self.sources), "-o", str(library)])
        return library

    def keep(self, mutant: Mutant, number: int) -> Path:
        """The library of one changed source, which must compile."""
        library = self.folder / f"kept-{number}.so"
        file = self.files[mutant.file]
        assert self._build_source(file, mutant.apply(file.read_text()), number, library)
        return library

    def try_out(self, mutant: Mutant, number: int) -> str | None:
        """How the mutant was noticed, None if it was not; several may be tried at once if their numbers differ."""
        library = self.folder / f"{number}.so"
        file = self.files[mutant.file]
        try:
            built = self._build_source if file.suffix == ".c" else self._build_header
            if not built(file, mutant.apply(file.read_text()), number, library):
                return "does not compile"
            return self.perform(library)
        finally:
            library.unlink(missing_ok=True)

    def perform(self, library: Path) -> str | None:
        """What is wrong with a library: the trace, again after a reset, and the facts; then with little address space.

        A class region that lies beyond a halved span is not there, so that designs with those differ in little space.
        """
        found = self._perform(library, self.expected, None)
        if not found and self.design.classifier != "class_region":
            found = self._perform(library, self.expected_in_little_space, LITTLE_SPACE)
        return found or self._perform(library, self.expected_in_no_space, NO_SPACE)

    def _perform(self, library: Path, expected: Expected, address_space: int | None) -> str | None:
        driver = Driver(
            library,
            self.plan.grain,
            len(expected.counters),
            check_every=CHECK_EVERY,
            timeout_s=TIMEOUT_S,
            address_space=address_space,
        )
        with driver:
            try:
                for _ in range(2):
                    driver.send(expected.chunk)
                    addresses, counts = driver.receive(len(expected.chunk.op))
                    if not np.array_equal(addresses, expected.addresses):
                        return "an address differs"
                    if not np.array_equal(counts, expected.counters):
                        return "a counter differs"
                    driver.reset()
                if address_space is None:
                    driver.close()
            except DriverFailed as failure:
                return failure.what
        return None

    def _build_source(self, file: Path, text: str, number: int, library: Path) -> bool:
        """The library with one source changed: it is compiled where it stands, under another name."""
        changed = file.with_name(f"{number}-{file.name}")
        changed.write_text(text)
        objects = [f"{source}.o" for source in self.sources if source != file]
        try:
            return self._compile([*LINK, str(changed), *objects, "-o", str(library)])
        finally:
            changed.unlink()

    def _build_header(self, file: Path, text: str, number: int, library: Path) -> bool:
        """The library with one header changed: a copy of everything, compiled anew."""
        copy = self.folder / f"copy-{number}"
        try:
            for part in (self.tree, self.emitted):
                shutil.copytree(part, copy / part.name, ignore=shutil.ignore_patterns("*.o", "[0-9]*"))
            (copy / file.relative_to(self.folder)).write_text(text)
            sources = [str(copy / source.relative_to(self.folder)) for source in self.sources]
            return self._compile([*LINK, *sources, "-o", str(library)], copy)
        finally:
            shutil.rmtree(copy, ignore_errors=True)

    def _compile(self, arguments: list[str], folder: Path | None = None) -> bool:
        include = [f"-I{(folder or self.folder) / part.name}" for part in (self.emitted, self.tree)]
        command = [find_gcc().path, *COMPILE, *include, *arguments]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
