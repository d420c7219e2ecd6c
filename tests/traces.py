"""Traces for tests: random ones, seeded, with everything a trace can have, and short ones of given sizes."""

from pathlib import Path

import numpy as np
import numpy.typing as npt

from heapsmith.model.compile.cache import cached_njit
from heapsmith.model.trace.frames import Samples
from heapsmith.model.trace.reader import CHUNK_EVENTS, Chunk, Op, TraceWriter

_POPULAR_SIZES = 12


def random_chunk(
    events: int,
    seed: int,
    threads: int = 1,
    max_size: int = 4096,
    cross_thread: float = 0.0,
    live: int = 2000,
    realloc: float = 0.06,
    aligned: float = 0.03,
) -> Chunk:
    """A whole trace as one chunk of `events` events, at least 4 * `threads`.

    `live`: about how many blocks are live in the middle. `max_size`: sizes are 0..max_size, most of them one of a few.
    `cross_thread`: share of frees and reallocs by a random thread instead of that of the block's birth; if it is not 0,
    threads also end in the middle and others free what they left. `realloc`: share of the operations on live blocks.
    `aligned`: share of the births.
    Thread t > 0 has a start and an exit; thread 0 has neither.
    """
    if events < 4 * threads:
        raise ValueError(f"{threads} threads need at least {4 * threads} events")
    rng = np.random.default_rng(seed)
    popular = np.exp(rng.uniform(np.log(min(8, max_size)), np.log(max_size), _POPULAR_SIZES)).astype(np.int64)
    sizes = np.exp(rng.random(events) * np.log(max_size + 1)).astype(np.int64) - 1
    sizes = np.where(rng.random(events) < 0.8, popular[rng.integers(0, _POPULAR_SIZES, events)], sizes)
    starts = np.sort(1 + rng.choice(events // 2 - 1, threads - 1, replace=False))
    ends = np.arange(events - threads + 1, events)
    if cross_thread and threads > 2:
        ends[: threads // 2] = np.sort(events // 2 + rng.choice(events // 2 - threads, threads // 2, replace=False))
    columns = _fill(rng.random((events, 6)), sizes, starts, ends, live, cross_thread, realloc, aligned)
    time_ns = np.cumsum(rng.gamma(1.5, 60.0, events).astype(np.int64))
    return Chunk.of(*columns, time_ns - time_ns[0])


@cached_njit
def _fill(
    draws: npt.NDArray[np.float64],
    sizes: npt.NDArray[np.int64],
    starts: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64],
    live: int,
    cross_thread: float,
    realloc: float,
    aligned: float,
) -> npt.NDArray[np.int64]:
    """Columns op, thread, block, size, align_log2 of a random trace, shape (5, events)."""
    events = sizes.size
    out = np.zeros((5, events), np.int64)
    held, where_free = np.zeros(events, np.int64), np.zeros(events, np.int64)
    size_of, align_of, thread_of = np.zeros(events, np.int64), np.zeros(events, np.int64), np.zeros(events, np.int64)
    count, free, fresh, started, ended = 0, 0, 0, 0, 0
    for i in range(events):
        if started < starts.size and i >= starts[started]:
            started += 1
            out[0, i], out[1, i] = 6, started
            continue
        if ended < ends.size and i >= ends[ended]:
            ended += 1
            out[0, i], out[1, i] = 7, ended
            continue
        which, who, what, how, recent, far = draws[i]
        thread = int(who * (started - ended + 1))  # 0, or one of ended + 1 .. started
        thread = thread + ended if thread > 0 else 0
        if count == 0 or which < (0.65 if count < live else 0.4):
            op = 3 if what < aligned else 1 if what < aligned + 0.1 else 0
            if free:
                free -= 1
                b = where_free[free]
            else:
                b = fresh
                fresh += 1
            held[count] = b
            count += 1
            align_of[b] = 4 + int(how * 9) if op == 3 else 0
            size_of[b], thread_of[b] = sizes[i], thread
            out[0, i], out[1, i], out[2, i], out[3, i], out[4, i] = op, thread, b, sizes[i], align_of[b]
            continue
        k = count - 1 - int(far * min(count, 8)) if recent < 0.6 else int(far * count)
        b = held[k]
        owner = thread_of[b]
        if (how >= cross_thread or started == ended) and (owner == 0 or owner > ended):
            thread = owner
        out[1, i], out[2, i] = thread, b
        if what < realloc:
            size_of[b] = max(1, sizes[i])
            out[0, i], out[3, i] = 2, size_of[b]
        else:
            if what > 0.9:
                out[0, i], out[3, i], out[4, i] = 5, size_of[b], align_of[b]
            else:
                out[0, i] = 4
            count -= 1
            held[k] = held[count]
            where_free[free] = b
            free += 1
    return out


def random_trace(
    path: Path, events: int, seed: int, threads: int = 1, chunk_events: int = CHUNK_EVENTS, **shape: float
) -> Path:
    """Write random_chunk(events, seed, threads, **shape) as a trace to `path`; `path`."""
    with TraceWriter(path, command=["random", str(seed)], source="random", chunk_events=chunk_events) as writer:
        writer.append(random_chunk(events, seed, threads, **shape))  # type: ignore[arg-type]
    return path


def crowded_trace(path: Path, *, step_ns: int = 0, threads: int = 8, blocks: int = 400, repeats: int = 4) -> Path:
    """Threads that each fill and empty their fronts, in turns; an event each step_ns (0: no time stamps)."""
    op, thread, block, size = [], [], [], []
    for _ in range(repeats):
        for kind, wanted in ((Op.MALLOC, 1000), (Op.FREE, 0)):
            op += [kind] * (blocks * threads)
            thread += list(range(threads)) * blocks
            block += range(blocks * threads)
            size += [wanted] * (blocks * threads)
    times = np.arange(len(op)) * step_ns
    with TraceWriter(path, command=["crowded"], source="crowded") as writer:
        writer.append(Chunk.of(op, thread, block, size, [0] * len(op), times))
        writer.close({"samples": Samples([], [], 0, [(1, 1)] * threads)})
    return path


def trace_of(
    path: Path, sizes: list[int], *, freed: bool = False, event_ns: int = 1, samples: Samples | None = None
) -> Path:
    """A trace that allocates these sizes and, if told so, frees all, an event every so often; with these samples."""
    events = [(Op.MALLOC, block, size) for block, size in enumerate(sizes)]
    events += [(Op.FREE, block, 0) for block in range(len(sizes)) if freed]
    ops, blocks, asked = zip(*events, strict=True)
    zeros = [0] * len(events)
    times = [index * event_ns for index in range(len(events))]
    with TraceWriter(path, command=["test"], source="test") as writer:
        writer.append(Chunk.of(ops, zeros, blocks, asked, zeros, times))
        writer.close({"samples": samples} if samples else None)
    return path
