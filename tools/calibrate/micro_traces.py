"""Micro-programs for calibration, as traces: each is mostly one kind of event.

Threads pass a baton, a block that they resize in turn, so that a replay keeps the trace's order.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from heapsmith.model.trace.reader import Chunk, Op, TraceWriter

SEED = 20
EVENTS = 24_000
"""Approximate events of a micro-program; programs with long events have fewer in any case."""

SELDOM_LIVE = 200
"""Live blocks of the programs that seldom take slow paths."""

KIB, MIB = 1 << 10, 1 << 20


class Script:
    """The events of a trace under construction; the block number freed last is used again first.

    events: the approximate number of events to generate.
    """

    def __init__(self, events: int = EVENTS) -> None:
        self.events = events
        self.random = np.random.default_rng(SEED)
        self.rows: list[tuple[int, int, int, int, int]] = []
        self.live: list[int] = []
        self._free: list[int] = []
        self._sizes: list[int] = []
        self._threads = 1

    def allocate(self, size: int, op: Op = Op.MALLOC, thread: int = 0, align_log2: int = 0) -> int:
        """Allocate a block of `size` bytes; returns its number."""
        block = self._free.pop() if self._free else len(self._sizes)
        if block == len(self._sizes):
            self._sizes.append(0)
        self._sizes[block] = size
        self.rows.append((int(op), thread, block, size, align_log2))
        self.live.append(block)
        return block

    def resize(self, block: int, size: int, thread: int = 0) -> None:
        """realloc to `size` bytes, more than 0."""
        self._sizes[block] = size
        self.rows.append((int(Op.REALLOC), thread, block, size, 0))

    def free(self, place: int = -1, thread: int = 0, sized: bool = False) -> None:
        """Free the live block at `place` of `live`."""
        block = self.live[place]
        self.live[place] = self.live[-1]
        self.live.pop()
        self._free.append(block)
        size = self._sizes[block] if sized else 0
        self.rows.append((int(Op.FREE_SIZED if sized else Op.FREE), thread, block, size, 0))

    def start_thread(self) -> int:
        """Start a thread; returns its number."""
        self._threads += 1
        self.rows.append((int(Op.THREAD_START), self._threads - 1, 0, 0, 0))
        return self._threads - 1

    def end_thread(self, thread: int) -> None:
        """The thread exits."""
        self.rows.append((int(Op.THREAD_EXIT), thread, 0, 0, 0))

    def sizes(self, low: int, high: int, count: int) -> list[int]:
        """Sizes from `low` to `high`, equally many in each doubling."""
        drawn: list[int] = np.exp(self.random.uniform(np.log(low), np.log(high), count)).astype(np.int64).tolist()
        return drawn

    def churn(self, sizes: list[int], live: int) -> None:
        """Allocate a block of each size; with `live` live blocks, free a random block for each."""
        places = self.random.random(len(sizes)).tolist()
        for size, place in zip(sizes, places, strict=True):
            self.allocate(size)
            if len(self.live) > live:
                self.free(int(place * len(self.live)))

    def write(self, path: Path) -> None:
        """Write the events as a trace."""
        op, thread, block, size, align = zip(*self.rows, strict=True)
        with TraceWriter(path, command=["calibrate"], source="calibrate") as writer:
            writer.append(Chunk.of(op, thread, block, size, align, range(len(op))))


Program = Callable[[Script], None]


def churning(low: int, high: int, live: int, count: int = 0) -> Program:
    """Churn `count` blocks (0: half the script's events) of `low` to `high` bytes, `live` live."""
    return lambda script: script.churn(script.sizes(low, high, count or script.events // 2), live)


def of_a_heap(program: Program) -> Program:
    """Run `program` in a thread that has a heap, and so a run cache."""

    def with_heap(script: Script) -> None:
        script.allocate(16)
        program(script)

    return with_heap


def leaks(script: Script) -> None:
    """No block dies."""
    script.churn(script.sizes(8, 512, script.events), script.events)


def bursts(script: Script) -> None:
    """Many blocks of one size are born and die: newest first, oldest first, or at random."""
    for number in range(30):
        size = (24, 64, 200, 600, 3000)[number % 5]
        for _ in range(script.events // 60):
            script.allocate(size)
        for _ in range(script.events // 60):
            script.free((-1, 0, int(script.random.integers(len(script.live))))[number % 3])


def trees(sizes: Sequence[int], arrange: Callable[[Script], None]) -> Program:
    """Blocks of sizes that repeat, more than a private cache holds, are born; arranged, the last of them dies first.

    A free that reads its block waits for the last level, and meanwhile no guess of a branch fails. `script.events`
    are those of blocks of 100 bytes.
    """

    def program(script: Script) -> None:
        repeated = script.random.choice(sizes, 40).tolist()
        for number in range(50 * script.events // (sum(sizes) // len(sizes))):
            script.allocate(repeated[number % len(repeated)])
        arrange(script)
        while script.live:
            script.free()

    return program


def sawtooth(script: Script) -> None:
    """Three quarters of the blocks die and are born again: blocks flow to the store and back."""
    for _ in range(40):
        for size in script.sizes(16, 256, script.events // 80):
            script.allocate(size)
        for _ in range(script.events // 80 - 10):
            script.free(int(script.random.integers(len(script.live))))


def phases(script: Script) -> None:
    """The heap grows with new sizes in each phase and shrinks: slabs change their class."""
    for phase in range(8):
        for size in script.sizes(16 << (phase % 4), 64 << (phase % 4), script.events // 16):
            script.allocate(size)
        for _ in range(script.events // 17):
            script.free(int(script.random.integers(len(script.live))))


def holes(script: Script) -> None:
    """Every other block dies, then as many are born: refills from slabs with few free blocks."""
    for size in (48, 160, 1000):
        for _ in range(script.events // 12):
            script.allocate(size)
        for place in range(len(script.live) - 1, 0, -2):
            script.free(place)
        for _ in range(script.events // 24):
            script.allocate(size)


def buffers(script: Script) -> None:
    """Buffers grow by realloc from small to large blocks, and die."""
    for size in script.sizes(16, 2000, EVENTS // 80):
        block = script.allocate(size)
        grown = size
        for _ in range(30):
            grown += grown // 4 + 8
            script.resize(block, grown)
            if grown > 600 * KIB:
                break
        script.resize(block, grown // 3)
        if len(script.live) > 20:
            script.free(0)


def strings(script: Script) -> None:
    """Small blocks are resized a little."""
    for size in script.sizes(8, 600, script.events // 8):
        block = script.allocate(size)
        for step in (3, 9, 27, 81):
            script.resize(block, size + step)
        if len(script.live) > 300:
            script.free(int(script.random.integers(len(script.live))))


def calls(script: Script) -> None:
    """calloc, aligned allocation, sized frees."""
    for number, size in enumerate(script.sizes(8, 8 * KIB, script.events // 2)):
        op = (Op.CALLOC, Op.MALLOC, Op.ALIGNED)[number % 3]
        script.allocate(size, op, align_log2=5 + number % 4 if op == Op.ALIGNED else 0)
        if len(script.live) > 100:
            script.free(int(script.random.integers(len(script.live))), sized=number % 2 == 0)


def large_calloc(script: Script) -> None:
    """calloc of fresh and used runs."""
    for size in script.sizes(40 * KIB, 400 * KIB, 600):
        script.allocate(size, Op.CALLOC)
        if len(script.live) > 12:
            script.free(int(script.random.integers(len(script.live))))


def handover(script: Script) -> None:
    """One thread allocates, another frees."""
    baton = script.allocate(16)
    other = script.start_thread()
    for number, size in enumerate(script.sizes(16, 2 * KIB, script.events // 2)):
        script.allocate(size)
        if number % 50 == 49:
            script.resize(baton, 16)
            while len(script.live) > 300:
                script.free(1, thread=other)
            script.resize(baton, 16, thread=other)
    script.end_thread(other)


def churning_threads(script: Script) -> None:
    """Threads start, allocate, free and exit."""
    baton = script.allocate(16)
    for _ in range(60):
        script.resize(baton, 16)
        thread = script.start_thread()
        script.resize(baton, 16, thread=thread)
        for size in script.sizes(16, 2 * KIB, 200):
            script.allocate(size, thread=thread)
            if len(script.live) > 60:
                script.free(int(script.random.integers(1, len(script.live))), thread=thread)
        script.resize(baton, 16, thread=thread)
        script.end_thread(thread)


def huge_again(script: Script) -> None:
    """Mappings of four sizes die and are born again: a cache of huge blocks finds them."""
    script.churn([size * MIB for size in (2, 3, 4, 5) * 25], 3)


def huge_rising(script: Script) -> None:
    """Each mapping is longer than all before: a cache of huge blocks looks at many that wait, and none fits."""
    script.churn([2 * MIB + index * 16 * KIB for index in range(60)], 0)


def seldom(pairs: int) -> Program:
    """A block is born and another dies after each `pairs` pairs: slow paths of small fronts are seldom taken."""

    def program(script: Script) -> None:
        for size in script.sizes(16, 256, script.events // (2 * pairs + 2)):
            for _ in range(pairs):
                script.allocate(size)
                script.free()
            script.allocate(size)
            if len(script.live) > SELDOM_LIVE:
                script.free(int(script.random.integers(SELDOM_LIVE)))

    return program


def cold(script: Script) -> None:
    """A working set larger than any cache."""
    script.churn(script.sizes(256, 2 * KIB, script.events), script.events // 2)


PROGRAMS: dict[str, Program] = {
    "pairs": churning(1, KIB, 0),  # each block dies at once
    "pairs_above": churning(KIB + 1, 32 * KIB, 0),  # the same, larger small blocks
    "one_size": churning(32, 33, 100),  # every call is on the front of the call before
    "mixed": churning(1, 4 * KIB, 2000),  # many sizes live together and die at random
    "runs": of_a_heap(churning(33 * KIB, MIB, 40, EVENTS // 30)),  # large blocks live together and die at random
    "run_pairs": of_a_heap(churning(33 * KIB, 300 * KIB, 2, EVENTS // 15)),  # large blocks that die at once
    "huge": churning(2 * MIB, 8 * MIB, 4, 60),  # mappings of their own
    "seldom_8": seldom(8),
    "seldom_64": seldom(64),
}
PROGRAMS |= {
    f"trees_{name}_{order}": trees(sizes, arrange)
    for name, sizes in (("small", (24, 40, 56, 72, 120, 250)), ("middle", (96, 160, 320, 640, 1000)))
    for order, arrange in (
        ("oldest", lambda script: script.live.reverse()),
        ("newest", lambda _: None),
        ("at_random", lambda script: script.random.shuffle(script.live)),
    )
}
PROGRAMS |= {
    program.__name__: program
    for program in (
        *(leaks, bursts, sawtooth, phases, holes, buffers, strings),
        *(calls, large_calloc, handover, churning_threads, huge_again, huge_rising, cold),
    )
}


def write_programs(folder: Path, programs: Mapping[str, Program] = PROGRAMS, events: int = EVENTS) -> list[Path]:
    """Write the micro-programs as `folder`/<name>.hst, of about `events` events each."""
    paths = []
    for name, program in programs.items():
        script = Script(events)
        program(script)
        paths.append(folder / f"{name}.hst")
        script.write(paths[-1])
    return paths
