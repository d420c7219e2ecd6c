"""The simulator: does the events of a trace on a heap of one design, as docs/machine.md says."""

import functools
from collections.abc import Sequence
from time import thread_time_ns
from typing import Any, NamedTuple

import msgspec
import numpy as np

from heapsmith.model import policy
from heapsmith.model.compile import kernel
from heapsmith.model.compile.kernel import Bytes, Ints, Numbers, Records
from heapsmith.model.constants import USED_UP
from heapsmith.model.design.plan import Plan
from heapsmith.model.errors import BadInput
from heapsmith.model.heap import arrays, check, records
from heapsmith.model.heap.events import (
    ALREADY_LIVE,
    DEAD,
    NEGATIVE_SIZE,
    NO_SUCH_OPERATION,
    NOT_LIVE,
    TOO_LARGE,
    run,
)
from heapsmith.model.memory.application import PROGRAM, Application
from heapsmith.model.memory.listener import Listener
from heapsmith.model.memory.page_size import page_constants
from heapsmith.model.parts import counters
from heapsmith.model.parts.charge import CHARGE
from heapsmith.model.parts.committed import time_since
from heapsmith.model.parts.large import HUGE_SLOT_BYTES
from heapsmith.model.trace.reader import Chunk
from heapsmith.model.trace.stacks import CallTree, SitedChunk

FAULTS = {
    ALREADY_LIVE: "block {block} is born a second time: it is live",
    NOT_LIVE: "block {block} is not live",
    NO_SUCH_OPERATION: "operation {op} is not one of 0 to 7",
    NEGATIVE_SIZE: "size {size} is negative",
    TOO_LARGE: f"size {{size}} is too large to follow what is touched; expected at most {HUGE_SLOT_BYTES}",
    USED_UP: "no block is left for {size} bytes of those that the front took before; expected fewer live blocks",
}

ASSUMED_PROCESSORS = 4
"""Processors of a trace that does not tell them, without a machine."""

NO_ADDRESSES: Ints = np.empty(0, np.int64)
NO_LISTENER: Ints = np.zeros(1, np.int64)


class Counters(msgspec.Struct, frozen=True):
    """The counters of docs/machine.md by name: a number per class, or a total; and locks by path."""

    classes: dict[str, list[int]]
    totals: dict[str, int]
    locks: dict[str, int] = {}


MOST_PAGES = 1 << 28
"""The pages of a heap of 1 TiB: those by the time of a chunk fit into a word."""


class Peak(msgspec.Struct, frozen=True):
    """The heap after an event: bytes asked for, bytes of the live blocks, bytes committed."""

    event: int
    live_bytes: int
    block_bytes: int
    committed: int
    internal_fragmentation: float  # (block - live) / block
    external_fragmentation: float  # (committed - block) / committed


class Statistics(msgspec.Struct, frozen=True):
    """What only the model knows, in bytes.

    committed_average: over the time of the trace; over its events where it has no times. timeline: up
    to 1,024 points (event, live bytes, committed bytes, resident bytes); resident bytes are 0 without
    hardware.
    """

    events: int
    live_blocks: int
    live_bytes: int
    live_block_bytes: int
    failed: int  # allocations without room
    run_span_bytes: int  # bytes of the run span that were ever handed out
    peak_live: Peak
    peak_committed: Peak
    committed_average: float
    timeline: list[tuple[int, int, int, int]]
    work: dict[str, int]  # WORK of model/heap/records.py


class Meter(NamedTuple):
    """What one count of each counter costs (model/parts/charge.py), in 1 / UNIT nanoseconds.

    rows: METER records; from `touches` those of the listener, at `growth` that of growing
    processes, from `classes` those of each class. operation: each operation; start: the first event;
    `_alone`: in an operation by itself.
    """

    rows: Records
    touches: int
    growth: int
    classes: int
    operation: int
    operation_alone: int
    start: int
    start_alone: int


@functools.cache
def _run_with(compiled: bool, absent: tuple[str, ...], **constants: int) -> Any:
    """Return the event loop, specialised to the constants of a listener if there is a listener."""
    if compiled:
        return kernel.compiled(run, absent, **constants)
    return kernel.specialised(run, **constants) if constants else run


_WHOLE: set[tuple[tuple[str, int], ...]] = set()
"""Constants of listeners for which this process has the loop with the rare choices."""


def _loop(compiled: bool, rare: bool, constants: dict[str, int]) -> Any:
    """Return the event loop. Two compiled loops serve all designs: with the rare choices, and without any of them.

    Where a process has the first, it serves all its designs, as fast: to compile the other takes half a minute.
    """
    known_as = tuple(constants.items())
    if rare and compiled:
        _WHOLE.add(known_as)
    return _run_with(compiled, () if rare or known_as in _WHOLE else records.ABSENT, **constants)


def has_rare_choices(plan: Plan) -> bool:
    """Say whether the design has one of the rare choices (model/policy)."""
    return policy.has_rare_choices(arrays.rows_of(plan), plan.numbers)


class Simulator:
    """A simulated heap. Its memory grows with the peak of the live blocks, not with the number of events.

    compiled: run the kernels through numba; False runs the same functions as plain Python.
    listener: what follows the memory that heap and program touch, or None. application: the
    program's part of it. rare: run the loop that knows the rare choices, although the design has
    none; so simulators of one pass compile one loop. cores: those of the machine, by default of the
    listener's: processors have numbers below; None: they have the trace's. nodes: the processors of
    each node, by default those of the listener's machine; none: one node. meter: charge each event
    by it; `charges` has the CHARGE of each event of the chunk that was fed last. This takes a
    listener of caches.
    """

    def __init__(
        self,
        plan: Plan,
        *,
        compiled: bool = True,
        listener: Listener | None = None,
        application: Application = PROGRAM,
        rare: bool = False,
        cores: int | None = None,
        nodes: Sequence[str] = (),
        meter: Meter | None = None,
    ) -> None:
        self.plan = plan
        if listener and listener.hardware.page_bytes != plan.page_bytes:
            of = f"has pages of {listener.hardware.page_bytes} bytes, not of {plan.page_bytes}"
            raise BadInput(f"machine {listener.hardware.name}: {of}")
        self.listener = listener
        self.kernel_ns = 0
        self._cores = listener.hardware.cores if listener else cores
        self.nodes = listener.hardware.nodes if listener else tuple(nodes)
        self._followers = [row for row in arrays.rows_of(plan) if hasattr(row, "follow")]
        self._needs_time = any(
            row.needs_time(plan.design) for row in arrays.rows_of(plan) if hasattr(row, "needs_time")
        )
        self._is_single = True
        self._until = self._elapsed = self._committed_sum = 0  # the last event's time; ns in all, and pages by ns
        self._reported = [name for row in arrays.rows_of(plan) for name in getattr(row, "REPORTED", ())]
        self._tree: CallTree | None = None
        self._group_of: Bytes = np.zeros(1, np.uint8)
        self._per_event = arrays.slabs_per_event(plan), arrays.pages_per_event(plan)
        self.state = arrays.fresh_state(plan, application)
        constants = (listener.constants() if listener else {}) | page_constants(plan.page_bytes)
        self._run: Any = _loop(compiled, rare or meter is not None or has_rare_choices(plan), constants)
        if meter:
            self._charge_by(meter)
        self._make_room()

    @property
    def charges(self) -> Records:
        """The charges of the events that were fed last."""
        return self.state.charges

    def feed(self, chunk: Chunk, addresses: Ints | None = None) -> None:
        """Do the events of a chunk; addresses[i] becomes the address code that event i returned, or
        -1.

        `kernel_ns` grows by the processor time of the kernels. It includes the compilation of new
        kernels but not the growth of arrays. Raises BadInput at an invalid event.
        """
        if self._needs_time and not self.state.events and _is_timeless(chunk):
            raise BadInput("release.unit: milliseconds need the time of each event; this trace has no time stamps")
        self.state.follow(chunk)
        for row in self._followers:
            row.follow(self, chunk)
        if self.listener and len(chunk.op):
            self.state.cores = self._cores_of(chunk)
            self.listener.make_room(0, int(self.state.cores.max()) + 1)
        self._pass_time(chunk)
        self.state.fed = self.state.events
        self.state.addresses = NO_ADDRESSES if addresses is None else addresses
        if self.state.charging:
            self.state.charges = np.zeros(len(chunk.op), CHARGE)
        if len(chunk.op):
            self._name(int(chunk.thread.max()), int(chunk.block.max()))
            self._place(int(self.state.processors.max(initial=0)))
        start = 0
        while start < len(chunk.op):
            begin = thread_time_ns()
            self.state.listener = self.listener.array if self.listener else NO_LISTENER
            start = self._run(self.state, start)
            self.kernel_ns += thread_time_ns() - begin
            if self.state.fault:
                self._refuse(chunk, start)
            self._make_room()
        self._end_time(chunk)

    def _pass_time(self, chunk: Chunk) -> None:
        """Let the time pass between the last event and a chunk's first."""
        self.state.time_shift = 0
        self.state.timeless = int(not chunk.time_ns.any())
        if len(chunk.op) and not self.state.timeless:
            first, last = int(chunk.time_ns[0]), int(chunk.time_ns[-1])
            passed, self._until = (first - self._until if self.state.events else 0), last
            self.state.time_shift = max(0, (last - first).bit_length() + MOST_PAGES.bit_length() - 62)
            self._elapsed += passed
            self._committed_sum += int(self.state.committed) // self.plan.page_bytes * passed
            if self.listener:
                self.listener.elapse(passed)

    def _end_time(self, chunk: Chunk) -> None:
        """Add the time of a chunk that is done, and the committed pages over it, to the sums."""
        shift, events = int(self.state.time_shift), len(chunk.op)
        if events:
            passed = time_since(self.state, events - 1 + int(self.state.timeless))
            self._elapsed += passed << shift
            pages = int(self.state.committed) // self.plan.page_bytes
            self._committed_sum += pages * passed - int(self.state.committed_sum) << shift
        self.state.committed_sum = 0
        if self.listener:
            self.listener.settle(shift)

    def groups(self, chunk: Chunk) -> Bytes:
        """Return the group of call sites of each event; 0 where design or chunk has no sites."""
        if not isinstance(chunk, SitedChunk) or self.plan.design.segregation is None:
            return np.zeros(len(chunk.op), np.uint8)
        if chunk.tree is not self._tree:
            design = self.plan.design
            self._tree = chunk.tree
            self._group_of = design.row("segregation").groups_of(design.segregation, chunk.tree)
        return self._group_of[chunk.site]

    def processors(self, chunk: Chunk) -> Ints:
        """Return the processor of each event; where it is unknown, each thread is bound to a processor in turn."""
        told = chunk.processor.astype(np.int64)
        if self._cores is not None:
            told = np.where(told < 0, told, told % self._cores)
        return np.where(told < 0, chunk.thread.astype(np.int64) % (self._cores or ASSUMED_PROCESSORS), told)

    def _cores_of(self, chunk: Chunk) -> Numbers:
        """Return the number of each event's core, before the modulus: its processor or, if unknown, its thread.

        While the program has one thread that is core 0: what its moves cost is not simulated.
        """
        self._is_single = self._is_single and not chunk.thread.any()
        if self._is_single or not (chunk.processor >= 0).any():
            return self.state.thread
        return self.processors(chunk).astype(np.uint32)

    def step(self, op: int, thread: int, block: int, size: int = 0, align_log2: int = 0, time_ns: int = 0) -> int:
        """Do an event; return the address code of its block, or -1."""
        address = np.full(1, -1, np.int64)
        self.feed(Chunk.of([op], [thread], [block], [size], [align_log2], [time_ns]), address)
        return int(address[0])

    def counters(self) -> Counters:
        """Return all counters."""
        return Counters(
            {name: self.state.classes[name].tolist() for name in (*counters.COUNTS, *self._reported)},
            {name: getattr(self.state, field) for name, field in counters.TOTAL_FIELDS.items()},
            {name: getattr(self.state, field) for name, field in counters.LOCK_FIELDS.items()},
        )

    def statistics(self) -> Statistics:
        """Return all statistics."""
        state = self.state
        return Statistics(
            state.events,
            state.live_blocks,
            state.live_bytes,
            state.live_block_bytes,
            state.failed_runs,
            state.top * self.plan.page_bytes,
            _peak(*(getattr(state, field) for field in records.PEAKS[0])),
            _peak(*(getattr(state, field) for field in records.PEAKS[1])),
            self.plan.page_bytes * self._committed_sum / self._elapsed if self._elapsed else float(state.committed),
            state.timeline[: state.samples].tolist(),
            {name: getattr(state, name) for name in counters.WORK},
        )

    def check(self) -> None:
        """Check the state against the page's equations; CheckFailed names the first failure."""
        check.check(self.state, self.plan)

    def _charge_by(self, meter: Meter) -> None:
        state = self.state
        state.charging = 1
        state.meter = meter.rows.copy()
        state.meter_touches, state.meter_growth, state.meter_classes = meter.touches, meter.growth, meter.classes
        state.meter_operation, state.charged = meter.operation, meter.start
        state.meter_operation_alone, state.charged_alone = meter.operation_alone, meter.start_alone

    def _name(self, thread: int, block: int) -> None:
        """Make room for threads and blocks of these numbers."""
        state = self.state
        if thread >= len(state.threads):
            state.threads = arrays.grown_ints(state.threads, max(16, 2 * thread), -1)
        if block >= len(state.blocks):
            state.blocks = arrays.grown(state.blocks, max(1024, 2 * block), ("handle",), DEAD)

    def _place(self, processor: int) -> None:
        """Make room for processors up to this number."""
        if processor >= len(self.state.threads):
            self.state.threads = arrays.grown_ints(self.state.threads, 2 * processor, -1)

    def _make_room(self) -> None:
        """Double the arrays that might be too short for another event."""
        state = self.state
        more_slabs, more_pages = self._per_event
        more_nodes = max(1, self.plan.quarantine)  # an event may free a whole quarantine
        if state.slabs_made + more_slabs > len(state.slabs):
            slabs = 2 * (state.slabs_made + more_slabs)
            state.slabs = arrays.grown(state.slabs, slabs, ("owner",))
            state.marks = arrays.grown_ints(state.marks, slabs * state.slab_words, 0)
        if state.heaps_made + 1 > len(state.heaps):
            self._grow_heaps(2 * (state.heaps_made + 1))
        if state.nodes_made + more_nodes > len(state.nodes):
            state.nodes = arrays.grown(state.nodes, max(256, 2 * (len(state.nodes) + more_nodes)))
        if state.top + more_pages > len(state.pages):
            state.pages = arrays.grown_pages(state.pages, 2 * (state.top + more_pages))
        state.slab_room = len(state.slabs) - more_slabs
        state.heap_room = len(state.heaps) - 1
        state.node_room = len(state.nodes) - more_nodes
        state.page_room = len(state.pages) - more_pages
        if self.listener:
            self.listener.make_room(state.wanted_bytes)
        state.full = 0

    def _grow_heaps(self, heaps: int) -> None:
        state = self.state
        state.heaps = arrays.grown(state.heaps, heaps, records.HEAP_LINKS)
        state.stores = arrays.grown_stores(state.stores, state.classes, heaps, self.plan)
        state.fronts = arrays.grown_fronts(state.fronts, state.classes, heaps, self.plan)
        state.slots = arrays.grown_ints(state.slots, state.shared_slots + heaps * state.heap_slots, 0)

    def _refuse(self, chunk: Chunk, index: int) -> None:
        event = int(self.state.fed) + index
        reason = FAULTS[self.state.fault].format(op=chunk.op[index], block=chunk.block[index], size=chunk.size[index])
        raise BadInput(f"event {event}: {reason}")


def _is_timeless(chunk: Chunk) -> bool:
    """Return whether the first events of a trace, more than one, all have the time 0."""
    return len(chunk.op) > 1 and not chunk.time_ns.any()


def _peak(event: int, live: int, block: int, committed: int) -> Peak:
    internal = (block - live) / block if block else 0.0
    external = (committed - block) / committed if committed else 0.0
    return Peak(event, live, block, committed, internal, external)
