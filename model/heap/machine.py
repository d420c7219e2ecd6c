"""The machine: a heap of one design, fed with the events of a trace; docs/machine.md is what it does."""

import functools
from time import thread_time_ns
from typing import Any

import msgspec
import numpy as np

from heapsmith.model.compile import kernel
from heapsmith.model.compile.kernel import Ints, Records
from heapsmith.model.constants import PAGE
from heapsmith.model.design.plan import Plan
from heapsmith.model.errors import BadInput
from heapsmith.model.heap import arrays
from heapsmith.model.heap import check as machine_check
from heapsmith.model.heap.events import ALREADY_LIVE, NEGATIVE_SIZE, NO_SUCH_OPERATION, NOT_LIVE, TOO_LARGE
from heapsmith.model.heap.loop import run
from heapsmith.model.memory.application import PROGRAM, Application
from heapsmith.model.memory.touched import Touched
from heapsmith.model.trace.reader import Chunk

FAULTS = {
    ALREADY_LIVE: "block {block} is born a second time: it is live",
    NOT_LIVE: "block {block} is not live",
    NO_SUCH_OPERATION: "operation {op} is not one of 0 to 7",
    NEGATIVE_SIZE: "size {size} is negative",
    TOO_LARGE: "size {size} is too large for what is touched to be followed; expected at most 8 GiB",
}

NO_ADDRESSES: Ints = np.empty(0, np.int64)
NO_TOUCHES: Ints = np.zeros(1, np.int64)


class Counters(msgspec.Struct, frozen=True):
    """The counters of docs/machine.md section 10 by name: one number per class, or one in all."""

    classes: dict[str, list[int]]
    totals: dict[str, int]


class Peak(msgspec.Struct, frozen=True):
    """The heap after one event: bytes asked for, bytes of the blocks that hold them, bytes committed."""

    event: int
    live_bytes: int
    block_bytes: int
    committed: int
    internal_fragmentation: float  # (block - live) / block
    external_fragmentation: float  # (committed - block) / committed


class Statistics(msgspec.Struct, frozen=True):
    """What the model alone knows, in bytes.

    timeline: up to 1,024 points (event, live bytes, committed bytes, resident bytes), the last 0 without hardware.
    """

    events: int
    live_blocks: int
    live_bytes: int
    live_block_bytes: int
    failed: int  # allocations for which there was no room
    run_span_bytes: int  # of the run span, ever handed out
    peak_live: Peak
    peak_committed: Peak
    timeline: list[tuple[int, int, int, int]]
    work: dict[str, int]  # what model/heap/arrays.py says of WORK


@functools.cache
def _run_with(compiled: bool, **constants: int) -> Any:
    """The event loop with these constants of a listener to what is touched, none if there is no listener."""
    if compiled:
        return kernel.compiled(run, **constants)
    return kernel.specialised(run, **constants) if constants else run


class Machine:
    """One heap. Memory grows with the peak of what it holds, not with the number of events.

    compiled: run the kernels through numba; False runs the same functions as plain Python. touched: what listens to the
    memory that heap and program touch (nothing if None), of which `application` is the program's part.
    """

    def __init__(
        self,
        plan: Plan,
        *,
        compiled: bool = True,
        touched: Touched | None = None,
        application: Application = PROGRAM,
    ) -> None:
        self.plan = plan
        self.touched = touched
        self.kernel_ns = 0
        self._run: Any = _run_with(compiled, **(touched.constants() if touched else {}))
        self.machine = arrays.machine_record(plan, application)
        self.classes = arrays.class_records(plan)
        self.lookup: Ints = np.array(plan.size_class, np.int64)
        self.threads: Ints = np.empty(0, np.int64)
        self.heaps: Records = np.zeros(0, arrays.HEAP)
        self.fronts: Records = np.zeros(0, arrays.FRONT)
        self.slots: Ints = np.empty(0, np.int64)
        self.stores: Records = np.zeros(0, arrays.STORE)
        self.slabs: Records = np.zeros(0, arrays.SLAB)
        self.marks: Ints = np.empty(0, np.int64)
        self.nodes: Records = np.zeros(0, arrays.NODE)
        self.pages: Records = np.zeros(0, arrays.PAGE_RECORD)
        self.bins = arrays.empty_bins()
        self.blocks: Records = np.zeros(0, arrays.BLOCK)
        self.moved: Ints = np.empty(arrays.batch_room(plan), np.int64)
        self.timeline: Records = np.zeros(arrays.SAMPLES, arrays.SAMPLE)
        self._make_room()

    def feed(self, chunk: Chunk, addresses: Ints | None = None) -> None:
        """Do the events of a chunk; addresses[i] becomes the address code of the block event i returned, else -1.

        The processor time of the kernels, without what grows the arrays, is added to `kernel_ns`; it includes their
        compilation if they are new to this process. Raises BadInput at an event that cannot be.
        """
        columns = [
            np.require(column, dtype, ("C", "A", "W"))
            for column, dtype in zip(chunk[:5], (np.uint8, np.uint32, np.uint32, np.int64, np.uint8), strict=True)
        ]
        if len(chunk.op):
            self._name(int(chunk.thread.max()), int(chunk.block.max()))
        told = NO_ADDRESSES if addresses is None else addresses
        start = 0
        while start < len(chunk.op):
            begin = thread_time_ns()
            start = self._run(
                self.touched.array if self.touched else NO_TOUCHES,
                self.machine,
                self.classes,
                self.lookup,
                self.threads,
                self.heaps,
                self.fronts,
                self.slots,
                self.stores,
                self.slabs,
                self.marks,
                self.nodes,
                self.pages,
                self.bins,
                self.blocks,
                self.moved,
                *columns,
                start,
                self.timeline,
                told,
            )
            self.kernel_ns += thread_time_ns() - begin
            if self.machine[0]["fault"]:
                self._refuse(chunk, start)
            self._make_room()

    def step(self, op: int, thread: int, block: int, size: int = 0, align_log2: int = 0) -> int:
        """Do one event; the address code of the block it returned, else -1."""
        address = np.full(1, -1, np.int64)
        self.feed(Chunk.of([op], [thread], [block], [size], [align_log2], [0]), address)
        return int(address[0])

    def counters(self) -> Counters:
        """All counters as they stand."""
        return Counters(
            {name: [int(count) for count in self.classes[name]] for name in arrays.COUNTS},
            {name: int(self.machine[0][name]) for name in arrays.TOTALS},
        )

    def statistics(self) -> Statistics:
        """All statistics as they stand."""
        now = {name: int(self.machine[0][name]) for name in arrays.STATISTICS}
        points = self.timeline[: int(self.machine[0]["samples"])]
        return Statistics(
            now["events"],
            now["live_blocks"],
            now["live_bytes"],
            now["live_block_bytes"],
            now["failed_runs"],
            int(self.machine[0]["top"]) * PAGE,
            _peak(
                now["peak_live_event"], now["peak_live_bytes"], now["peak_live_block_bytes"], now["peak_live_committed"]
            ),
            _peak(
                now["peak_committed_event"],
                now["peak_committed_live_bytes"],
                now["peak_committed_block_bytes"],
                now["peak_committed"],
            ),
            [(int(event), int(live), int(committed), int(resident)) for event, live, committed, resident in points],
            {name: int(self.machine[0][name]) for name in arrays.WORK},
        )

    def check(self) -> None:
        """Hold the whole state against the equations of the page; CheckFailed names the first that does not hold."""
        machine_check.check(self)

    def _name(self, thread: int, block: int) -> None:
        """Threads and blocks of these numbers can be named."""
        if thread >= len(self.threads):
            self.threads = arrays.grown_ints(self.threads, max(16, 2 * thread), -1)
        if self.touched:
            self.touched.make_room(0, thread + 1)
        if block >= len(self.blocks):
            self.blocks = arrays.grown_blocks(self.blocks, max(1024, 2 * block))

    def _make_room(self) -> None:
        """The arrays do for another event, whatever it is: those that might not are doubled."""
        state = self.machine[0]
        if state["slabs"] + arrays.slabs_per_event(self.plan) > len(self.slabs):
            self._grow_slabs(2 * (int(state["slabs"]) + arrays.slabs_per_event(self.plan)))
        if state["heaps"] + 1 > len(self.heaps):
            self._grow_heaps(2 * (int(state["heaps"]) + 1))
        more_nodes = arrays.nodes_per_event(self.plan)
        if state["nodes"] + more_nodes > len(self.nodes):
            self.nodes = arrays.grown(self.nodes, max(256, 2 * (len(self.nodes) + more_nodes)), ())
        if state["top"] + arrays.pages_per_event(self.plan) > len(self.pages):
            self.pages = arrays.grown(self.pages, 2 * (int(state["top"]) + arrays.pages_per_event(self.plan)), ())
        state["slab_room"] = len(self.slabs) - arrays.slabs_per_event(self.plan)
        state["heap_room"] = len(self.heaps) - 1
        state["node_room"] = len(self.nodes) - more_nodes
        state["page_room"] = len(self.pages) - arrays.pages_per_event(self.plan)
        if self.touched:
            self.touched.make_room(int(state["wanted_bytes"]))
        state["full"] = 0

    def _grow_slabs(self, slabs: int) -> None:
        self.slabs = arrays.grown(self.slabs, slabs, ("owner",))
        self.marks = arrays.grown_ints(self.marks, slabs * int(self.machine[0]["slab_words"]), 0)

    def _grow_heaps(self, heaps: int) -> None:
        slots = int(self.machine[0]["heap_slots"])
        self.heaps = arrays.grown(self.heaps, heaps, ("remote", "oldest_run", "newest_run"))
        self.stores = arrays.grown_stores(self.stores, self.classes, heaps, self.plan)
        first = int(self.machine[0]["transfer_slots"])
        self.fronts = arrays.grown_fronts(self.fronts, self.classes, heaps, self.plan)
        self.slots = arrays.grown_ints(self.slots, first + heaps * slots, 0)

    def _refuse(self, chunk: Chunk, index: int) -> None:
        event = int(self.machine[0]["events"])
        reason = FAULTS[int(self.machine[0]["fault"])].format(
            op=chunk.op[index], block=chunk.block[index], size=chunk.size[index]
        )
        raise BadInput(f"event {event}: {reason}")


def _peak(event: int, live: int, block: int, committed: int) -> Peak:
    internal = (block - live) / block if block else 0.0
    external = (committed - block) / committed if committed else 0.0
    return Peak(event, live, block, committed, internal, external)
