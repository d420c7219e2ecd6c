"""Draw a trace from sizes and lifetimes: births by weights, each with its end (docs/other-tools.md, 'synthesise')."""

import heapq
from collections.abc import Iterator

import numpy as np

from heapsmith.model.trace.events import CHUNK_EVENTS, Chunk, Op
from heapsmith.model.trace.synth.fit import Blocks, LivesFit, Mix
from heapsmith.model.trace.synth.steps import OPERATIONS

_NEVER = 1 << 62
_DRAWN = 4096
"""Births that are drawn together."""


def lives(fit: LivesFit, events: int, seed: int) -> Iterator[Chunk]:
    """Yield `events` events in chunks. Memory grows with the live blocks alone."""
    heap = _Heap()
    shares = np.cumsum([mix.events for mix in fit.phases])
    random = np.random.default_rng(seed)
    for mix, end in zip(fit.phases, (shares * (events / shares[-1])).round().astype(np.int64).tolist(), strict=True):
        births = _births(mix, random)
        while heap.events < end:
            rows = np.array(heap.events_until(births, min(end, heap.events + CHUNK_EVENTS)), np.int64).T
            yield Chunk.of(*rows, fit.gap_ns * np.arange(heap.events - rows.shape[1], heap.events))


def _births(mix: Mix, random: np.random.Generator) -> Iterator[tuple[Blocks, int, int]]:
    """Yield the births of a phase without end: the kind, a size and a lifetime in births."""
    weights = np.array([blocks.weight for blocks in mix.blocks])
    while True:
        kinds = random.choice(len(weights), _DRAWN, p=weights / weights.sum())
        draws, places = random.random(_DRAWN), random.random(_DRAWN)
        for kind, draw, place in zip(kinds.tolist(), draws.tolist(), places.tolist(), strict=True):
            blocks = mix.blocks[kind]
            low, high = blocks.size, max(blocks.size, blocks.largest)
            yield blocks, low + int(place * (high - low + 1)), _lifetime(blocks, draw)


def _lifetime(blocks: Blocks, draw: float) -> int:
    """Return a lifetime in births for a number drawn from 0 to 1."""
    if blocks.lifetime is None:
        return _NEVER
    stretch = {"exponential": -np.log1p(-draw), "constant": 1.0, "uniform": 2 * draw}[blocks.shape]
    return int(min(round(blocks.lifetime * stretch), _NEVER))


class _Heap:
    """The live blocks by the birth before which they die, and the threads by their first events."""

    def __init__(self) -> None:
        self.events = self._births = 0
        self._due: list[tuple[int, int, int]] = []  # birth, block, thread that frees
        self._dead: list[int] = []
        self._blocks = 0
        self._threads: dict[int, int] = {}

    def events_until(self, births: Iterator[tuple[Blocks, int, int]], end: int) -> list[tuple[int, ...]]:
        """Return the events from now to `end`: operation, thread, block, size, align_log2."""
        rows: list[tuple[int, ...]] = []
        while self.events < end:
            self.events += 1
            if self._due and self._due[0][0] <= self._births:
                _, block, thread = heapq.heappop(self._due)
                self._dead.append(block)
                rows.append((Op.FREE, self._thread(thread), block, 0, 0))
                continue
            blocks, size, lifetime = next(births)
            if self._dead:
                block = self._dead.pop()
            else:
                block, self._blocks = self._blocks, self._blocks + 1
            self._births += 1
            if lifetime < _NEVER:
                freer = blocks.thread if blocks.freed_by is None else blocks.freed_by
                heapq.heappush(self._due, (self._births + lifetime, block, freer))
            op = OPERATIONS.index(blocks.op)
            rows.append((op, self._thread(blocks.thread), block, size, blocks.align_log2))
        return rows

    def _thread(self, number: int) -> int:
        """Return the thread's place in the order of first events."""
        return self._threads.setdefault(number, len(self._threads))
