"""Traces for the tests of trace tools: every event can be told by its time, and sites by their stacks."""

from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st
from traces import random_chunk

from heapsmith.model.trace.codec import U32
from heapsmith.model.trace.events import DEATHS, WITH_SITE, Chunk, Op, join, op_mask
from heapsmith.model.trace.frames import Samples, Touched
from heapsmith.model.trace.reader import TraceReader, TraceWriter, verify
from heapsmith.model.trace.stacks import CallTree, Module

I64 = npt.NDArray[np.int64]

TREE = CallTree(
    [Module("/bin/made", "c0ffee"), Module("/lib/unused", None), Module("[vdso]", None)],
    np.array([-1, 0, 1, 1, -1, 4]),
    np.array([0, 0, 2, 0, -1, 1]),
    np.array([16, 4096, 3, 77, 2**47 - 1, 5]),
    np.array([2, 3, 4, 1, 5]),
)
SAMPLES = Samples(
    [Touched(1 << 17, 4, 100, 50), Touched(1 << 20, 1, 256, 8)],
    [(0, 4096), (40, 40960), (90, 8192)],
    45056,
    [(100, 50), (100, 25), (90, 10)],
)


class Made(NamedTuple):
    """What a trace is made of."""

    chunk: Chunk
    site: U32 | None
    chunk_events: int


@st.composite
def made(draw: st.DrawFn, *, ties: bool = False) -> Made:
    """Random events. Thread 0 starts with the first event. The time is the number of the event; ties: a part of it."""
    threads, seed = draw(st.integers(1, 4)), draw(st.integers(0, 1 << 30))
    chunk = random_chunk(draw(st.integers(4 * threads, 120)), seed, threads, 3000, 0.2, live=12)
    start = Chunk.of([Op.THREAD_START], [0], [0], [0], [0], [0])
    chunk = join([start, chunk])
    slower = draw(st.integers(1, 9)) if ties else 1
    chunk = chunk._replace(time_ns=np.arange(chunk.op.size) // slower)
    if draw(st.booleans()):
        places = np.random.default_rng(seed).integers(-1, 3, chunk.op.size)
        chunk = chunk._replace(processor=places.astype(np.int16))
    site = None
    if draw(st.booleans()):
        numbers = np.random.default_rng(seed).integers(0, TREE.innermost.size + 1, chunk.op.size)
        sited = WITH_SITE | (DEATHS if draw(st.booleans()) else set())
        site = np.where(op_mask(sited)[chunk.op], numbers, 0).astype(np.uint32)
    return Made(chunk, site, draw(st.sampled_from([7, 50, 1000])))


def write(path: Path, of: Made, **footer: object) -> Path:
    """Write the trace; `path`."""
    columns = {"processors": bool((of.chunk.processor >= 0).any()), "sites": of.site is not None}
    columns["free_sites"] = of.site is not None and bool(of.site[op_mask(DEATHS)[of.chunk.op]].any())
    with TraceWriter(path, command=[path.name], source="test", chunk_events=of.chunk_events, **columns) as writer:
        writer.append(of.chunk, of.site)
        threads = int(of.chunk.thread.max(initial=0)) + 1
        samples = msgspec.structs.replace(SAMPLES, processor=SAMPLES.processor[:threads])
        writer.close({"samples": samples, "stacks": None if of.site is None else TREE.packed()} | footer)
    return path


class Whole(NamedTuple):
    """A verified trace."""

    chunk: Chunk
    stacks: list[tuple[tuple[str, int], ...]]
    """Of each event the frames of its site as file and offset, the innermost first."""


def read(path: Path) -> Whole:
    """The events and stacks of a trace, which is sound."""
    verify(path)
    with TraceReader(path) as trace:
        tree = trace.stacks()
        parts = list(trace.sited(frees=True))
        sites = [number for _, site in parts for number in site.tolist()]
        chunk = join([chunk for chunk, _ in parts]) if parts else Chunk.of(*[[]] * 6)
        if tree is None:
            return Whole(chunk, [()] * len(sites))
        files = [module.path for module in tree.modules]
        paths = [
            tuple(
                (files[tree.module[frame]] if tree.module[frame] >= 0 else "", int(tree.offset[frame]))
                for frame in tree.path(site)
            )
            for site in range(tree.innermost.size + 1)
        ]
        return Whole(chunk, [paths[site] for site in sites])


def rows(whole: Whole, kept: npt.NDArray[np.bool_] | slice = slice(None)) -> list[tuple[object, ...]]:
    """The events as tuples, with their stacks, of a mask or a slice."""
    numbers = np.arange(whole.chunk.op.size)[kept]
    columns = (column[kept].tolist() for column in whole.chunk)
    return list(zip(*columns, (whole.stacks[number] for number in numbers), strict=True))


def live_bytes(chunk: Chunk) -> list[int]:
    """The bytes that live blocks asked for after each event."""
    sizes: dict[int, int] = {}
    found = []
    for op, block, size in zip(chunk.op.tolist(), chunk.block.tolist(), chunk.size.tolist(), strict=True):
        if op < 4:
            sizes[block] = size
        elif op < 6:
            del sizes[block]
        found.append(sum(sizes.values()))
    return found


def lives(chunk: Chunk) -> I64:
    """The number of the life to which each event belongs, in order of births; -1 for events of threads."""
    now: dict[int, int] = {}
    found = []
    born = 0
    for op, block in zip(chunk.op.tolist(), chunk.block.tolist(), strict=True):
        if op in (Op.MALLOC, Op.CALLOC, Op.ALIGNED):
            now[block], born = born, born + 1
        found.append(now[block] if op < 6 else -1)
    return np.array(found)
