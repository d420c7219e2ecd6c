"""Libraries of changed C, built fast: every source is an object, and only what a mutant changes is compiled again."""

import resource
import shutil
import signal
import subprocess
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import test_behaviours
import test_hardening
from advice import wrong_advice
from figures import wrong_figures
from nasty import exhausting_trace, nasty_trace
from numpy.typing import NDArray
from preloaded import program, start

from heapsmith.bench.gates.mutating import Mutant
from heapsmith.codegen import rooms
from heapsmith.codegen.difference import counter_row, lock_row
from heapsmith.codegen.driver import Driver, DriverFailed
from heapsmith.codegen.generate import generate
from heapsmith.codegen.layers import HEAP
from heapsmith.codegen.toolchain import build_tool, find_gcc
from heapsmith.model.design.design import Design
from heapsmith.model.design.plan import Plan, make_plan
from heapsmith.model.heap.simulator import Simulator
from heapsmith.model.trace.reader import Chunk
from heapsmith.tools.common.preload import preloadable

COMPILE = [
    *("-std=gnu17", "-O0", "-w", "-pipe", "-fPIC", "-pthread", "-fvisibility=hidden", "-ftls-model=initial-exec"),
    *("-fno-builtin-malloc", "-fno-builtin-calloc", "-fno-builtin-realloc", "-fno-builtin-free"),
    "-DHEAPSMITH_CHECKED=1",
]
LINK = ["-shared", "-pthread", "-Wl,-Bsymbolic-functions", "-Wl,-z,now"]

Judge = Callable[[Path, str | None], str | None]
"""What is wrong with a library in which one file was changed (None: perhaps any); None if nothing is seen."""


def sees_nothing(library: Path, file: str | None) -> None:
    """Judge where libraries are only built."""


OF_DESIGN = ("plan.h", "plan.c", "fast.c")
"""The emitted files in which mutants are made."""


class Workshop:
    """The C of one design in a folder, its objects, and the library of whatever is changed; a judge looks at it."""

    def __init__(self, design: Design, folder: Path, judge: Judge = sees_nothing) -> None:
        self.design = design
        self.judge = judge
        self.folder = folder
        self.tree = folder / "runtime"
        self.emitted = folder / "emitted"
        shutil.copytree(HEAP, self.tree)
        generate(design, self.emitted)
        names = [str(source.relative_to(HEAP)) for source in rooms.sources(make_plan(design))]
        self.sources = [self.emitted / "plan.c", self.emitted / "fast.c", *(self.tree / name for name in names)]
        self.files = {name: self.emitted / name for name in OF_DESIGN}
        self.files |= {name: self.tree / name for name in names}
        for header in self.tree.rglob("*.h"):
            self.files[str(header.relative_to(self.tree))] = header

    def is_open(self) -> bool:
        """Whether its objects are compiled."""
        return Path(f"{self.sources[-1]}.o").exists()

    def opened(self) -> "Workshop":
        """The shop, its objects compiled: what everything but `texts` needs."""
        for source in self.sources:
            assert self._compile(["-c", "-MMD", str(source), "-o", f"{source}.o", "-MF", f"{source}.d"])
        return self

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
        built = self._build_source if file.suffix == ".c" else self._build_header
        assert built(file, mutant.apply(file.read_text()), number, library)
        return library

    def try_out(self, mutant: Mutant, number: int) -> str | None:
        """How the mutant was noticed, None if it was not; several may be tried at once if their numbers differ."""
        library = self.folder / f"{number}.so"
        file = self.files[mutant.file]
        try:
            built = self._build_source if file.suffix == ".c" else self._build_header
            if not built(file, mutant.apply(file.read_text()), number, library):
                return "does not compile"
            return self.judge(library, mutant.file)
        finally:
            library.unlink(missing_ok=True)

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
        """The library with one header changed: a copy of everything, of which the sources that need it are compiled."""
        copy = self.folder / f"copy-{number}"
        needing = [source for source in self.sources if f"/{file.name}" in Path(f"{source}.d").read_text()]
        try:
            for part in (self.tree, self.emitted):
                shutil.copytree(part, copy / part.name, ignore=shutil.ignore_patterns("*.o", "*.d", "[0-9]*-*"))
            (copy / file.relative_to(self.folder)).write_text(text)
            sources = [str(copy / source.relative_to(self.folder)) for source in needing]
            objects = [f"{source}.o" for source in self.sources if source not in needing]
            return self._compile([*LINK, *sources, *objects, "-o", str(library)], copy)
        finally:
            shutil.rmtree(copy, ignore_errors=True)

    def _compile(self, arguments: list[str], folder: Path | None = None) -> bool:
        include = [f"-I{(folder or self.folder) / part.name}" for part in (self.emitted, self.tree)]
        command = [find_gcc().path, *COMPILE, "-D_GNU_SOURCE=", *include, *arguments]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0


CHECK_EVERY = 64
TIMEOUT_S = 120
CPU_S = 2
"""A trace takes a fifth of a second; what goes round in circles is ended soon, and a busy machine ends nothing."""

SHORT_SPAN = 1 << 24
"""Bytes of each span where there is little to use; of all regions together."""


class Expected(NamedTuple):
    """What the model says of a trace."""

    chunk: Chunk
    groups: NDArray[np.uint8]
    processors: NDArray[np.int64]
    addresses: NDArray[np.int64]
    counters: NDArray[np.int64]
    locks: NDArray[np.int64]


def expect(plan: Plan, chunk: Chunk) -> Expected:
    """A trace and what must come of it."""
    simulator = Simulator(plan, compiled=False)
    groups, processors = simulator.groups(chunk), simulator.processors(chunk)
    addresses = np.empty(len(chunk.op), np.int64)
    simulator.feed(chunk, addresses)
    found = simulator.counters()
    return Expected(chunk, groups, processors, addresses, counter_row(found), lock_row(found))


def short_of_space(plan: Plan) -> Plan:
    """The plan where so much of its spans may be used as heapsmith_reset(SHORT_SPAN) lets a library use."""
    region = max(SHORT_SPAN // plan.regions, plan.superslab_bytes)
    return msgspec.structs.replace(
        plan, run_span_pages=SHORT_SPAN // plan.page_bytes, region_superslabs=-(-region // plan.superslab_bytes)
    )


class AgainstModel:
    """Judge of a design's library: the driver's facts and threads at once, traces that the model performed too, and
    the pages that the library asks for."""

    def __init__(self, design: Design) -> None:
        self.plan = make_plan(design)

    @cached_property
    def expected(self) -> Expected:
        return expect(self.plan, nasty_trace(self.plan))

    @cached_property
    def expected_in_short_space(self) -> Expected:
        short = short_of_space(self.plan)
        return expect(short, exhausting_trace(short))

    def __call__(self, library: Path, file: str | None) -> str | None:
        """The trace, and after a reset again; then one in short space.

        Where a prewarm maps superslabs of several regions, their numbers do not tell in which order.
        """
        short = self.expected_in_short_space
        found = self._perform(library, self.expected) or self._perform(library, short, SHORT_SPAN)
        tells = (file is None or file in ADVISES) and not (self.plan.regions > 1 and self.plan.design.prewarm)
        return found or (wrong_advice(library, self.plan) if tells else None)

    def _perform(self, library: Path, expected: Expected, span_bytes: int | None = None) -> str | None:
        driver = Driver(
            library,
            self.plan.grain,
            len(expected.counters),
            check_every=CHECK_EVERY,
            stall_s=TIMEOUT_S,
        )
        resource.prlimit(driver._process.pid, resource.RLIMIT_CPU, (CPU_S, 2 * CPU_S))
        with driver:
            try:
                if span_bytes is not None:
                    driver.reset(span_bytes)
                    return self._differs(driver, expected)
                for _ in range(2):
                    if found := self._differs(driver, expected):
                        return found
                    driver.reset()
                driver.close()
            except DriverFailed as failure:
                return failure.what
        return None

    @staticmethod
    def _differs(driver: Driver, expected: Expected) -> str | None:
        driver.send(expected.chunk, expected.groups, expected.processors)
        addresses, counts = driver.receive(len(expected.chunk.op))
        if not np.array_equal(addresses, expected.addresses):
            return "an address differs"
        if not np.array_equal(driver.locks[: len(expected.locks)], expected.locks):
            return "a count of locks differs"
        return None if np.array_equal(counts, expected.counters) else "a counter differs"


BEHAVIOURS = {
    **dict.fromkeys(
        ("6_slabs/slabs.c", "6_slabs/transfer/batches.c", "8_threads/large.c", "7_large/huge.c", "2_system/os.c"),
        ("malloc_trim", "memory_"),
    ),
    **dict.fromkeys(
        (
            *("7_large/runs.c", "7_large/run_ages.c", "7_large/run_cache/newest.c", "7_large/run_extents.c"),
            "7_large/run_pages.c",
        ),
        ("malloc_trim", "memory_"),
    ),
    "4_blocks/hardening/guards.c": ("limit_aligned", "memory_"),
    "9_api/glibc.c": ("mall", "errno_extras"),
    "9_api/operator_new.c": ("new_",),
    "9_api/operators.c": ("new_", "delete_"),
    "8_threads/life.c": ("thread_", "exit_", "memory_"),
    "8_threads/heaps/thread.c": ("thread_", "exit_", "memory_"),
    "2_system/locks.c": ("fork_",),
}
"""Files of which programs of tests/behaviours show what no trace does, and how the names of those begin."""

NO_TRACE = frozenset(("9_api/glibc.c", "9_api/operator_new.c", "9_api/operators.c"))
"""Those of them that no trace shows anything of."""

ADVISES = frozenset(
    ("2_system/os.c", "6_slabs/slabs.c", "7_large/thp/sampled_runs.c", "7_large/run_pages.c", "7_large/huge.c")
)
"""Files that ask for huge pages, which no counter and no address shows."""

MISUSE = {
    "9_api/api.c",
    "7_large/huge.c",
    "8_threads/large.c",
    "7_large/runs.c",
    "4_blocks/links.h",
    "3_records/span.h",
}
MISUSE |= {
    "4_blocks/hardening/misuse.c",
    "4_blocks/hardening/live.h",
    "4_blocks/hardening/full.h",
    "4_blocks/hardening/full.c",
    "4_blocks/hardening/live.c",
    "9_api/copies/judged.c",
}
MISUSE |= {"4_blocks/hardening/guards.h", "4_blocks/hardening/guards.c"}
"""The same for the programs of tests/misuse."""


class ByPrograms:
    """Judge of a library hardened at level full: its figures, and the programs that have to do with the file."""

    def __init__(self, design: Design) -> None:
        self.plan = make_plan(design)

    def __call__(self, library: Path, file: str | None) -> str | None:
        misuse = by_misuse(library) if file is None or file in MISUSE else None
        begins = ("",) if file is None else BEHAVIOURS.get(file, ())
        return wrong_figures(library, self.plan) or misuse or by_behaviours(library, begins)


def by_behaviours(library: Path, begins: tuple[str, ...]) -> str | None:
    """The first behaviour of those whose names begin so that does not hold."""
    for name, behaviour in test_behaviours.programs().items():
        if name.startswith(begins) and (fault := test_behaviours.fault(behaviour, library)):
            return f"{name}: {fault}"
    return None


def by_misuse(library: Path) -> str | None:
    """The first misuse that does not end as docs/lab/hardening.md says of level full."""
    for name, cells in test_hardening.table().items():
        flags = ["-O1", "-fno-builtin", "-w", f"-I{test_hardening.PROGRAMS}"]
        tool = build_tool(name, [test_hardening.PROGRAMS / f"{name}.c"], flags)
        command = ["env", f"LD_PRELOAD={preloadable(library)}", str(tool)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        status, said = -signal.SIGABRT, f"heapsmith: {cells['full']}: {int(done.stdout or '0', 16):#018x}\n"
        if cells["full"] == "SIGSEGV":
            status, said = -signal.SIGSEGV, ""
        if (done.returncode, done.stderr) != (status, said):
            return f"{name}: status {done.returncode}, {done.stderr!r}"
    for words in ("copies", "every_guard", "refused_moves", "every_copy full", "every_byte 8"):
        name, *arguments = words.split()
        done = start([program(name), *arguments], library)
        if done.returncode:
            return f"{name}: {done.stderr or done.stdout!r}"
    return None
