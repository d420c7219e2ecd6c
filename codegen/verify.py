"""Conformance: a design's libraries and the model must agree on all addresses and counters."""

import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from heapsmith.codegen.audit import AuditReport, audit_emitted
from heapsmith.codegen.build import build
from heapsmith.codegen.built import library_of
from heapsmith.codegen.difference import (
    BYTES,
    LOCK_NAMES,
    Difference,
    by_address,
    by_counter,
    byte_row,
    counted,
    counter_row,
    lock_row,
    operation,
)
from heapsmith.codegen.driver import Driver, DriverFailed, Host
from heapsmith.codegen.generate import generate
from heapsmith.codegen.reach import Reach, Reached
from heapsmith.codegen.ship import folder_of
from heapsmith.codegen.target import Toolchain, pages_vary, toolchain
from heapsmith.model.design.design import Design, ask_sites
from heapsmith.model.design.fitted import PAGE_NAMES, fitted, plan_for
from heapsmith.model.design.plan import Plan, make_plan
from heapsmith.model.errors import BadInput, Missing
from heapsmith.model.files import scratch
from heapsmith.model.heap.simulator import Simulator
from heapsmith.model.memory.numa_nodes import why_no_nodes
from heapsmith.model.predict.simulate import Progress, site_notes
from heapsmith.model.trace.reader import Chunk, TraceReader

CHECK_EVERY = 4096
"""Events between two checks of the whole heap by the checked build."""


class Run(msgspec.Struct, frozen=True):
    """One trace on one build; counts end at the first difference.

    addresses: number of blocks whose address was compared. counters: number compared after each
    chunk. walks: checks of the whole heap by the checked build.
    """

    trace: str
    build: str
    events: int
    threads: int
    addresses: int
    counters: int
    walks: int
    seconds: float
    difference: Difference | None


class VerifyReport(msgspec.Struct, frozen=True):
    """The result of `verify`: the audit (None: not requested), and a row per trace and build.

    reach: how often the functions of the library that count something ran on all traces, by the model's counters.
    """

    design: str
    hash: str
    ok: bool
    audit: AuditReport | None
    runs: list[Run]
    notes: list[str] = []  # about traces that do not have the call sites that the design asks for
    reach: list[Reached] = []


class Elsewhere(NamedTuple):
    """Another system: how its libraries are compiled, how its programs run here, and its pages for `plan_for`."""

    tools: Toolchain
    host: Host
    page_bytes: int | None

    def library(self, design: Design, folder: Path, *, checked: bool = False) -> Path:
        """A build of the library, in the folder."""
        path = folder / ("checked" if checked else "release") / f"lib{design.name}.so"
        path.parent.mkdir()
        return build(design, path, checked=checked, tools=self.tools)


class Library(NamedTuple):
    """A build under test; `compared` marks the counters that it keeps.

    check_every: events between two checks of its heap (0: never).
    """

    name: str
    path: Path
    check_every: int
    compared: NDArray[np.bool_]

    @property
    def counts_locks(self) -> bool:
        """Return whether the build counts locks by path: with the hit path."""
        return bool(self.compared.all())


def system_of(target: str | None, under: str, page_size: str | None) -> Elsewhere | None:
    """What a system's name, a command that runs its programs, and the name of its page size say; None: this system.

    Raises BadInput where they do not fit, Missing without a compiler.
    """
    if target is None:
        if under or page_size:
            raise BadInput("--under and --page-size: expected --target too, the system whose programs run so")
        return None
    tools = toolchain(target=target)
    if len(tools.compiler) != 1:
        raise Missing(f"--target {target}: verify needs {target}-gcc")
    vary = pages_vary(tools)
    if page_size and not vary:
        raise BadInput(f"--page-size {page_size}: pages have 4K on {target}")
    try:
        words = shlex.split(under)
    except ValueError as error:
        raise BadInput(f"--under {under}: {error}") from None
    return Elsewhere(tools, Host(words, tools.compiler[0]), PAGE_NAMES[page_size or "4K"] if vary else None)


def verify(
    design: Design,
    traces: list[Path],
    *,
    audit: bool = True,
    release: Path | None = None,
    nodes: Sequence[str] = (),
    elsewhere: Elsewhere | None = None,
    progress: Progress | None = None,
) -> VerifyReport:
    """Audit the emitted C of a design, and compare both builds with the model on each trace.

    `release` is the release build if it exists. nodes: the processors of each node of memory, in
    place of the system's; none: one node. Checked build: compares
    every address and counter, runs its own assertions, and checks its heap every CHECK_EVERY events. Release
    build: compares every address and the counters outside the hit path. Both: compare the contents of blocks and
    check the facts of runtime/verify/facts.c. The report holds the differences. Raises BadInput for
    a trace that cannot be read and for nodes that are none, Missing without gcc or objdump or
    memory, CheckFailed if the C does not compile.
    """
    if reason := why_no_nodes(nodes):
        raise BadInput(f"--node {reason}")
    tell = progress or (lambda what, done, total: None)
    plan = plan_for(design, elsewhere.page_bytes) if elsewhere else make_plan(design)
    notes: list[str] = []
    for trace in traces:
        with TraceReader(trace) as reader:  # reports a missing or foreign file before the builds
            notes += (f"{trace.name}: {note}" for note in site_notes(reader, [design]))
    with scratch() as folder:
        emitted = folder / "emitted"
        design = fitted(design) if elsewhere and elsewhere.page_bytes else design
        generate(design, emitted)
        checked = elsewhere.library(design, folder, checked=True) if elsewhere else library_of(design, checked=True)
        release = elsewhere.library(design, folder) if elsewhere else release or library_of(design)
        libraries = [
            Library("checked", checked, CHECK_EVERY, counted(plan, checked=True)),
            Library("release", release, 0, counted(plan, checked=False)),
        ]
        host = elsewhere.host if elsewhere else None
        # Claims count instructions under the usual flags: a library with flags of its own is not audited.
        claimed = None if design.compile_flags else release
        tools = elsewhere.tools if elsewhere else None
        audited = audit_emitted(design, emitted, library=claimed, tools=tools) if audit else None
        reach = Reach(plan)
        runs = [run for trace in traces for run in replay(plan, libraries, trace, tell, nodes, host, reach)]
    ok = all(run.difference is None for run in runs) and (audited is None or audited.ok)
    reached = reach.functions(folder_of(design)) if traces else []
    return VerifyReport(design.name, plan.hash, ok, audited, runs, notes, reached)


class Side:
    """One library during a trace, until its first difference. with_bytes: its BYTES are compared too."""

    def __init__(self, library: Library, driver: Driver, *, with_bytes: bool) -> None:
        self.library = library
        self.driver = driver
        besides = np.full(len(LOCK_NAMES), library.counts_locks), np.full(len(BYTES), with_bytes)
        self.compared = np.concatenate((library.compared, *besides))
        self.events = 0
        self.addresses = 0
        self.difference: Difference | None = None
        self.at_counter = False

    @contextmanager
    def _noted(self, chunk: Chunk | None) -> Iterator[None]:
        """Record a failure of the library in the chunk or after the last one."""
        try:
            yield
        except DriverFailed as failure:
            index = -1 if failure.event is None else failure.event - self.events
            inside = chunk is not None and 0 <= index < len(chunk.op)
            what = operation(chunk, index) if chunk is not None and inside else "after the last event"
            self.difference = Difference(failure.event, what, "the library", "no complaint", failure.what)

    def send(self, chunk: Chunk, groups: NDArray[np.uint8], processors: NDArray[np.int64]) -> None:
        """Send a chunk to the driver, with the groups of its call sites and the processors of its events."""
        with self._noted(chunk):
            self.driver.send(chunk, groups, processors)

    def compare(self, plan: Plan, chunk: Chunk, addresses: NDArray[np.int64], counters: NDArray[np.int64]) -> None:
        """Compare the driver's answer to a chunk with the model's; `counters` ends with its locks and BYTES."""
        if self.difference is not None:
            return
        with self._noted(chunk):
            got, counts = self.driver.receive(len(chunk.op))
        if self.difference is not None:
            return
        self.difference = by_address(plan, self.events, chunk, addresses, got)
        if self.difference is None:
            counts = np.concatenate((counts, self.driver.locks[: len(LOCK_NAMES)], self.driver.bytes))
            self.difference = by_counter(plan, self.events, chunk, counters, counts, self.compared)
            self.at_counter = self.difference is not None
        if self.difference is not None and self.driver.refused_bytes:
            refused = f"the system refused it {self.driver.refused_bytes:,} bytes of memory"
            raise Missing(f"the {self.library.name} build cannot be held against the model: {refused}")
        self.events += len(chunk.op)
        self.addresses += int(np.count_nonzero(addresses >= 0))

    def close(self) -> None:
        """End the driver after the last chunk."""
        if self.difference is None:
            with self._noted(None):
                self.driver.close()


def replay(
    plan: Plan,
    libraries: list[Library],
    trace: Path,
    tell: Progress,
    nodes: Sequence[str] = (),
    host: Host | None = None,
    reach: Reach | None = None,
) -> list[Run]:
    """Run one trace on the model and on several libraries: a row per library. reach: is told the model's counters."""
    begin = time.perf_counter()
    models: list[Simulator] = []
    with TraceReader(trace, sited=ask_sites([plan.design])) as reader:
        threads, events = reader.footer.threads, reader.footer.events
        sides = side_by_side(
            plan,
            libraries,
            iter(reader),
            lambda done: tell(trace.name, done, events),
            nodes=nodes,
            host=host,
            watch=lambda _, model: models.append(model),
        )
    if reach and models:
        reach.add(models[-1].counters())
    seconds = time.perf_counter() - begin
    rows = []
    for side in sides:
        library = side.library
        difference = _first_event(plan, side, trace, nodes, host) if side.at_counter else side.difference
        walks = side.events // library.check_every if library.check_every else 0
        compared = int(np.count_nonzero(library.compared)) + len(LOCK_NAMES) * library.counts_locks
        done = (side.events, threads, side.addresses, compared, walks)
        rows.append(Run(str(trace), library.name, *done, seconds, difference))
    return rows


def side_by_side(
    plan: Plan,
    libraries: list[Library],
    chunks: Iterator[Chunk],
    tell: Callable[[int], None],
    *,
    with_bytes: bool = True,
    nodes: Sequence[str] = (),
    host: Host | None = None,
    watch: Callable[[list[Side], Simulator], None] | None = None,
) -> list[Side]:
    """Run libraries and model through the chunks until all libraries have a difference.

    The drivers and the model perform a chunk at the same time; only one chunk is in memory. host: of the drivers.
    watch: called after each chunk, while all are at rest.
    """
    simulator = Simulator(plan, nodes=nodes)
    with ExitStack() as stack:
        sides = []
        for library in libraries:
            driver = Driver(
                library.path,
                plan.grain,
                len(library.compared),
                check_every=library.check_every,
                under=host.under if host else (),
                compiler=host.compiler if host else None,
                nodes=nodes,
            )
            sides.append(Side(library, stack.enter_context(driver), with_bytes=with_bytes))
        done = 0
        for chunk in chunks:
            running = [side for side in sides if side.difference is None]
            if not running:
                break
            groups, processors = simulator.groups(chunk), simulator.processors(chunk)
            for side in running:
                side.send(chunk, groups, processors)
            addresses = np.empty(len(chunk.op), np.int64)
            simulator.feed(chunk, addresses)
            said = byte_row(simulator) if with_bytes else np.zeros(len(BYTES), np.int64)
            found = simulator.counters()
            counters = np.concatenate((counter_row(found), lock_row(found), said))
            for side in running:
                side.compare(plan, chunk, addresses, counters)
            done += len(chunk.op)
            tell(done)
            if watch:
                watch(sides, simulator)
        for side in sides:
            side.close()
    return sides


def _first_event(plan: Plan, side: Side, trace: Path, nodes: Sequence[str], host: Host | None) -> Difference | None:
    """Find the event of a counter's difference: repeat with the last chunk as single events.

    The bytes, a walk of the whole heap for each event, are looked at only if they differ.
    """
    with_bytes = side.difference is not None and side.difference.what in BYTES
    with TraceReader(trace, sited=ask_sites([plan.design])) as reader:
        chunks = _last_chunk_split(reader, side.events)
        again = side_by_side(
            plan, [side.library], chunks, lambda done: None, with_bytes=with_bytes, nodes=nodes, host=host
        )
    return again[0].difference


def _last_chunk_split(reader: TraceReader, stop: int) -> Iterator[Chunk]:
    """The chunks before the chunk that ends at event `stop`, then that chunk as single events."""
    done = 0
    for chunk in reader:
        done += len(chunk.op)
        if done < stop:
            yield chunk
            continue
        for index in range(len(chunk.op)):
            yield chunk.part(index, index + 1)
        return
