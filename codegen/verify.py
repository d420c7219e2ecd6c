"""Conformance: a design's libraries and the model perform the same traces; all addresses and counters must agree."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from heapsmith.codegen.audit import AuditReport, audit_emitted
from heapsmith.codegen.build import build_emitted
from heapsmith.codegen.difference import Difference, by_address, by_counter, counted, counter_row, operation
from heapsmith.codegen.driver import Driver, DriverFailed
from heapsmith.codegen.generate import generate
from heapsmith.model.design.design import Design
from heapsmith.model.design.plan import Plan, make_plan
from heapsmith.model.errors import Missing
from heapsmith.model.files import scratch
from heapsmith.model.heap.machine import Machine
from heapsmith.model.trace.reader import Chunk, TraceReader

Progress = Callable[[str, int, int], None]
"""Called as (what is being done, events done, events in all)."""

CHECK_EVERY = 4096
"""Events from one walk of the checked build's heap to the next."""


class Run(msgspec.Struct, frozen=True):
    """One trace on one build. All counts are of what was done up to the first difference, if there is one.

    addresses: blocks whose address was compared; counters: how many were compared after each chunk; walks: of the whole
    heap, by the checked build.
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
    """What `verify` found: the audit (None: not asked for), and a row per trace and build."""

    design: str
    hash: str
    ok: bool
    audit: AuditReport | None
    runs: list[Run]


class Library(NamedTuple):
    """A build under test: its name, its file, how often its heap is walked (events; 0: never), its plan's counters."""

    name: str
    path: Path
    check_every: int
    compared: NDArray[np.bool_]


def verify(
    design: Design,
    traces: list[Path],
    *,
    audit: bool = True,
    release: Path | None = None,
    progress: Progress | None = None,
) -> VerifyReport:
    """Hold the emitted C of a design against its claims, and both builds against the model on each trace.

    `release`: the release build, if there is one already.

    Checked build: every address, every counter, its own assertions, and a walk of the heap every CHECK_EVERY events.
    Release build: every address, and every counter but those of the hit path. Both: the contents of blocks, and the
    facts of runtime/verify/facts.c. Differences are in the report. Raises BadInput for a trace that cannot be read,
    Missing without gcc or objdump or where the system refuses memory, CheckFailed if the C does not compile.
    """
    tell = progress or (lambda what, done, total: None)
    for trace in traces:
        with TraceReader(trace):
            pass  # a missing or foreign file is said before anything is built
    with scratch() as folder:
        emitted = folder / "emitted"
        generate(design, emitted)
        libraries = build_libraries(design, emitted, folder, release)
        audited = audit_emitted(design, emitted, library=libraries[-1].path) if audit else None
        runs = [run for trace in traces for run in replay(make_plan(design), libraries, trace, tell)]
    ok = all(run.difference is None for run in runs) and (audited is None or audited.ok)
    return VerifyReport(design.name, design.hash(), ok, audited, runs)


def build_libraries(design: Design, emitted: Path, folder: Path, release: Path | None = None) -> list[Library]:
    """The checked and the release build, in `folder`, of C that `generate` wrote to the folder `emitted`.

    `release`: the latter, if it is built already.
    """
    plan = make_plan(design)
    checked = build_emitted(emitted, folder / "checked.so", checked=True)
    release = release or build_emitted(emitted, folder / "release.so")
    return [
        Library("checked", checked, CHECK_EVERY, counted(plan, checked=True)),
        Library("release", release, 0, counted(plan, checked=False)),
    ]


class _Side:
    """One library on its way through a trace, until its first difference."""

    def __init__(self, library: Library, driver: Driver) -> None:
        self.library = library
        self.driver = driver
        self.events = 0
        self.addresses = 0
        self.difference: Difference | None = None
        self.at_counter = False

    def send(self, chunk: Chunk) -> None:
        """Have the library perform a chunk."""
        try:
            self.driver.send(chunk)
        except DriverFailed as failure:
            self._end(failure, chunk)

    def compare(self, plan: Plan, chunk: Chunk, addresses: NDArray[np.int64], counters: NDArray[np.int64]) -> None:
        """Hold the answer to a chunk against the model's."""
        if self.difference is not None:
            return
        try:
            got, counts = self.driver.receive(len(chunk.op))
        except DriverFailed as failure:
            self._end(failure, chunk)
            return
        self.difference = by_address(plan, self.events, chunk, addresses, got)
        if self.difference is None:
            self.difference = by_counter(plan, self.events, chunk, counters, counts, self.library.compared)
            self.at_counter = self.difference is not None
        if self.difference is not None and (reason := self.driver.refusal()):
            raise Missing(f"the {self.library.name} build cannot be held against the model: {reason}")
        self.events += len(chunk.op)
        self.addresses += int(np.count_nonzero(addresses >= 0))

    def close(self) -> None:
        """After the last chunk."""
        if self.difference is None:
            try:
                self.driver.close()
            except DriverFailed as failure:
                self._end(failure, None)

    def _end(self, failure: DriverFailed, chunk: Chunk | None) -> None:
        """The library did not come through the chunk, or what follows the last one."""
        index = -1 if failure.event is None else failure.event - self.events
        inside = chunk is not None and 0 <= index < len(chunk.op)
        what = operation(chunk, index) if chunk is not None and inside else "after the last event"
        self.difference = Difference(failure.event, what, "the library", "no complaint", failure.what)


def replay(plan: Plan, libraries: list[Library], trace: Path, tell: Progress) -> list[Run]:
    """One trace on several libraries beside one model: a row per library."""
    begin = time.perf_counter()
    with TraceReader(trace) as reader:
        threads, events = reader.footer.threads, reader.footer.events
        sides = _side_by_side(plan, libraries, iter(reader), lambda done: tell(trace.name, done, events))
    seconds = time.perf_counter() - begin
    rows = []
    for side in sides:
        difference = _first_event(plan, side, trace) if side.at_counter else side.difference
        walks = side.events // side.library.check_every if side.library.check_every else 0
        compared = int(np.count_nonzero(side.library.compared))
        rows.append(
            Run(
                trace=str(trace),
                build=side.library.name,
                events=side.events,
                threads=threads,
                addresses=side.addresses,
                counters=compared,
                walks=walks,
                seconds=seconds,
                difference=difference,
            )
        )
    return rows


def _side_by_side(
    plan: Plan, libraries: list[Library], chunks: Iterator[Chunk], tell: Callable[[int], None]
) -> list[_Side]:
    """Libraries and model through the chunks, until the end or until no library is left without a difference.

    While the drivers perform a chunk the model does too; no more than a chunk is in memory.
    """
    machine = Machine(plan)
    with ExitStack() as stack:
        sides = []
        for library in libraries:
            driver = Driver(library.path, plan.grain, len(library.compared), check_every=library.check_every)
            sides.append(_Side(library, stack.enter_context(driver)))
        done = 0
        for chunk in chunks:
            running = [side for side in sides if side.difference is None]
            if not running:
                break
            for side in running:
                side.send(chunk)
            addresses = np.empty(len(chunk.op), np.int64)
            machine.feed(chunk, addresses)
            counters = counter_row(machine.counters())
            for side in running:
                side.compare(plan, chunk, addresses, counters)
            done += len(chunk.op)
            tell(done)
        for side in sides:
            side.close()
    return sides


def _first_event(plan: Plan, side: _Side, trace: Path) -> Difference | None:
    """A counter differs after a chunk: the same way again with that chunk event by event tells which event it was."""
    with TraceReader(trace) as reader:
        again = _side_by_side(plan, [side.library], _last_chunk_split(reader, side.events), lambda done: None)
    return again[0].difference


def _last_chunk_split(reader: TraceReader, stop: int) -> Iterator[Chunk]:
    """The chunks up to the one that ends at event `stop`, and that one as chunks of one event."""
    done = 0
    for chunk in reader:
        done += len(chunk.op)
        if done < stop:
            yield chunk
            continue
        for index in range(len(chunk.op)):
            yield chunk.part(index, index + 1)
        return
