"""Small traces for the tests of the replayer, event by event."""

import random
from pathlib import Path

from heapsmith.model.trace.reader import Chunk, Op, TraceWriter

Event = tuple[Op, int, int, int]  # operation, thread, name of the block, bytes


def write_trace(path: Path, events: list[Event], chunk_events: int = 65536, align_log2: int = 6) -> Path:
    """A trace of these events; names of blocks become the numbers that the format wants."""
    number: dict[int, int] = {}
    spare: list[int] = []
    blocks: list[int] = []
    numbers = 0
    for op, _, name, _ in events:
        if op in (Op.MALLOC, Op.CALLOC, Op.ALIGNED):
            number[name] = spare.pop() if spare else numbers
            numbers = max(numbers, number[name] + 1)
        blocks.append(0 if op >= Op.THREAD_START else number[name])
        if op in (Op.FREE, Op.FREE_SIZED):
            spare.append(number.pop(name))
    with TraceWriter(path, command=["test"], source="test", chunk_events=chunk_events) as writer:
        ops, threads, _, sizes = zip(*events, strict=True) if events else ((), (), (), ())
        alignments = [align_log2 if op == Op.ALIGNED else 0 for op in ops]
        writer.append(Chunk.of(ops, threads, blocks, sizes, alignments, range(len(ops))))
    return path


def random_events(seed: int, count: int, threads: int, live: int = 40, sizes: int = 10**9) -> list[Event]:
    """Events in which any thread uses any block. The first `sizes` sizes all differ, so that a size names a block."""
    rng = random.Random(seed)
    events: list[Event] = [(Op.THREAD_START, t, 0, 0) for t in range(threads)]
    held: list[int] = []
    for name in range(1, count + 1):
        thread = rng.randrange(threads)
        draw = rng.random()
        if held and (draw < 0.4 or len(held) >= live):
            events.append((rng.choice([Op.FREE, Op.FREE_SIZED]), thread, held.pop(rng.randrange(len(held))), 0))
        elif held and draw < 0.5:
            events.append((Op.REALLOC, thread, rng.choice(held), 16 + 16 * (name % sizes)))
        else:
            events.append((rng.choice([Op.MALLOC, Op.CALLOC, Op.ALIGNED]), thread, name, 16 + 16 * (name % sizes)))
            held.append(name)
    return events
