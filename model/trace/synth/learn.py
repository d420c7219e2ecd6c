"""Fit a trace: events as steps, steps as phases with distributions (docs/lab/costs.md, 'synthetic traces')."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from heapsmith.model.compile.cache import cached_njit
from heapsmith.model.errors import BadInput
from heapsmith.model.trace.events import BIRTHS, WITH_ALIGNMENT, Chunk, Op, op_mask
from heapsmith.model.trace.reader import TraceReader
from heapsmith.model.trace.synth import contexts
from heapsmith.model.trace.synth.fit import Bound, Phase, PhasesFit, Row, Step
from heapsmith.model.trace.synth.ranks import I64, Pools, enter, fresh, grown, has_room, leave, rank_behind
from heapsmith.model.trace.synth.steps import CHOICES, OPERATIONS, columns, described

RARE = 8
"""Steps that come less often keep their places."""
_SIZE_BITS = 41
_MOST_SIZE = (1 << 40) - 1
_ENTERS = op_mask(BIRTHS | {Op.REALLOC})
_ALIGNED = op_mask(WITH_ALIGNMENT)

Progress = Callable[[str, int, int], None]


class Told(NamedTuple):
    """How each event of a chunk tells its block: columns of its step."""

    source: I64  # the pool of a block that is freed or resized, else -1
    choose: I64
    least: I64
    most: I64


def fit_trace(trace: Path, progress: Progress = lambda what, done, total: None) -> PhasesFit:
    """Return the fit of a trace; BadInput if it is damaged or has no allocation.

    Memory: about 280 bytes per event.
    """
    with TraceReader(trace) as reader:
        keys = _pool_keys(reader)
        if not keys.size:
            raise BadInput(f"{trace}: has no allocation; expected a trace with some")
        follower, numbers, times, started = _Follower(keys, reader.footer.max_blocks), [], [], set()
        for chunk in reader:
            number = follower.feed(chunk)
            kept = chunk.op != Op.THREAD_START
            numbers.append(number[kept])
            times.append(chunk.time_ns[kept])
            started |= set(chunk.thread[~kept].tolist())
            progress("fitting", sum(map(len, numbers)), reader.footer.events)
        events = reader.footer.events
    phases, order = _phases(np.concatenate(numbers), np.concatenate(times), follower.steps)
    return PhasesFit(events, follower.steps, phases, order, sorted(started))


def _key(thread: I64, size: I64) -> I64:
    """Return a number for the pool of a thread's blocks of a size."""
    found: I64 = (thread << _SIZE_BITS) + np.minimum(size, _MOST_SIZE)
    return found


def _pool_keys(reader: TraceReader) -> I64:
    """Return the keys of all pools in ascending order."""
    keys: I64 = np.zeros(0, np.int64)
    for chunk in reader:
        enters = _ENTERS[chunk.op]
        keys = np.union1d(keys, _key(chunk.thread[enters].astype(np.int64), chunk.size[enters]))
    return keys


class _Follower:
    """Makes the events of a trace steps: the steps so far, and the live blocks by pool."""

    def __init__(self, keys: I64, blocks: int) -> None:
        self.steps: list[Step] = []
        self._keys = keys
        self._number: dict[tuple[int, ...], int] = {}
        self._pools = fresh(keys.size, blocks)
        self._home = np.zeros(blocks, np.int64)

    def feed(self, chunk: Chunk) -> I64:
        """Return the number of the step of each event; starts of threads have some number."""
        thread = chunk.thread.astype(np.int64)
        size = np.where(_ENTERS[chunk.op], np.minimum(chunk.size, _MOST_SIZE), 0)
        target = np.where(_ENTERS[chunk.op], np.searchsorted(self._keys, _key(thread, size)), -1)
        told = Told(*(np.zeros(chunk.op.size, np.int64) for _ in Told._fields))
        start = 0
        while start < chunk.op.size:
            start = _follow(chunk, target, self._pools, self._home, told, start)
            if start < chunk.op.size:
                self._pools = grown(self._pools, 0)
        align = np.where(_ALIGNED[chunk.op], chunk.align_log2, 0)
        rows = np.stack((chunk.op.astype(np.int64), thread, size, align, *told))
        kinds, which = np.unique(rows, axis=1, return_inverse=True)
        numbers = [self._number_of(tuple(kind)) for kind in kinds.T.tolist()]
        return np.array(numbers, np.int64)[which.reshape(-1)]

    def _number_of(self, kind: tuple[int, ...]) -> int:
        number = self._number.setdefault(kind, len(self._number))
        if number == len(self.steps):
            op, thread, size, align, source, choose, least, most = kind
            key = int(self._keys[source]) if source >= 0 else 0
            owner, old = key >> _SIZE_BITS, key & (1 << _SIZE_BITS) - 1
            name = OPERATIONS[op]
            self.steps.append(Step(name, thread, size, align, old, owner, CHOICES[choose], (least, most)))  # type: ignore[arg-type]
        return number


@cached_njit
def _follow(chunk: Chunk, target: I64, pools: Pools, home: I64, told: Told, start: int) -> int:
    """Tell the blocks of the events from `start` on; return the event at which the pools must grow, or their number."""
    for i in range(start, chunk.op.size):
        op, block, into = chunk.op[i], chunk.block[i], target[i]
        told.source[i] = -1
        if op > 5:
            continue
        if into >= 0 and not has_room(pools, into):
            return i
        if op == 2 or op >= 4:
            pool, place = home[block], pools.place[block]
            last = rank_behind(pools, pool, pools.cursor[pool])
            told.source[i] = pool
            told.choose[i], told.least[i], told.most[i] = described(
                rank_behind(pools, pool, place), pools.live[pool], last
            )
            if into == pool:
                continue
            leave(pools, pool, place)
        if into >= 0:
            enter(pools, into, block)
            home[block] = into
    return int(chunk.op.size)


def _phases(number: I64, time_ns: I64, steps: list[Step]) -> tuple[list[Phase], list[tuple[int, int]]]:
    """Return the different phases of a sequence of steps, and their order with the mean time between events."""
    table, _, classes = columns(steps)
    ends = contexts.phase_ends(number, table, contexts.swings(table, classes))
    bound = contexts.bounds(number, ends, table, classes)
    context = contexts.contexts(number, ends)
    rare = np.bincount(number)[number] < RARE
    phase = np.searchsorted(ends, np.arange(number.size), side="right")
    rows = np.column_stack((phase, number, context))[~rare]
    rows, counts = np.unique(rows, axis=0, return_counts=True)
    cuts = np.searchsorted(rows[:, 0], np.arange(ends.size + 1))
    bound_cuts = np.searchsorted(bound[0], np.arange(ends.size + 1))
    firsts = np.concatenate(([0], ends))
    known: dict[tuple[bytes, bytes, bytes], int] = {}
    phases: list[Phase] = []
    order = []
    for i, (first, end) in enumerate(pairwise(firsts.tolist())):
        own = slice(cuts[i], cuts[i + 1])
        part = np.column_stack((counts[own], rows[own, 1:]))
        limits = bound[1:, bound_cuts[i] : bound_cuts[i + 1]].T
        places = np.flatnonzero(rare[first:end])
        marks = np.column_stack((places, number[first:end][places]))
        key = (part.tobytes(), limits.tobytes(), marks.tobytes())
        if key not in known:
            known[key] = len(phases)
            phases.append(
                Phase(
                    [Row(*row) for row in part.tolist()],
                    [Bound(*row) for row in limits.tolist()],
                    [(place, step) for place, step in marks.tolist()],
                )
            )
        before = time_ns[first - 1] if first else 0
        order.append((known[key], int(time_ns[end - 1] - before) // (end - first)))
    return phases, order
