"""Draw a trace from a fit to another trace: its phases in order, each from an urn of its steps."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from heapsmith.model.compile.cache import cached_njit
from heapsmith.model.errors import BadInput
from heapsmith.model.trace.events import Chunk, Op
from heapsmith.model.trace.synth.contexts import START
from heapsmith.model.trace.synth.fit import Phase, PhasesFit
from heapsmith.model.trace.synth.ranks import I64, Pools, enter, fresh, grown, has_room, leave, place_of, rank_behind
from heapsmith.model.trace.synth.steps import Steps, columns, rank_chosen
from heapsmith.model.trace.synth.urn import NOTHING, Levels, Past, Urn, draw, drawn, filled, possible

MOST_DEBTS = 256
"""Steps that wait for a block; further ones are dropped."""
SLOT, MARK, PENDING, EVENTS, DEBTS, FREE, BLOCKS = range(7)
"""Places in Play.counts: events of the phase begun, its marks done, a step that waits for room, events made, debts,
dead blocks, block numbers used."""


class Play(NamedTuple):
    """What the events of a phase change besides the pools."""

    levels: Levels
    past: Past
    made: I64  # (5, events): operation, thread, block, size, align_log2
    dead: I64  # numbers of dead blocks
    debts: I64  # steps for which there was no block
    counts: I64


def walk(fit: PhasesFit, events: int, seed: int) -> Iterator[Chunk]:
    """Yield `events` events, a chunk per phase; BadInput if none of the fit's steps can be done.

    Each phase comes as often as the trace is longer than the fit's: on average, if that is no whole number. Where the
    phases end early they begin again. Memory grows with the live blocks, not with `events`.
    """
    walker, longer = _Walker(fit, seed), events / fit.events
    done, now, is_first = 0, 0, True
    while done < events:
        before = done
        for place, (number, gap_ns) in enumerate(fit.order):
            times = math.ceil((place + 1) * longer) - math.ceil(place * longer)
            for turn in range(times):
                made = walker.phase(fit.phases[number], ends=is_first and turn == times - 1)[:, : events - done]
                count = made.shape[1]
                yield Chunk.of(*made, now + gap_ns * np.arange(count))
                now, done = now + gap_ns * count, done + count
                if done == events:
                    return
        is_first = False
        if done == before:
            raise BadInput("the fit: none of its steps can be done")


class _Walker:
    """The state of a walk: live blocks, threads, the last steps."""

    def __init__(self, fit: PhasesFit, seed: int) -> None:
        self._steps, pools, classes = columns(fit.steps)
        self._pools = fresh(pools, 0)
        none = np.zeros(classes, np.int64)
        self._play = Play(
            Levels(none, none.copy(), none.copy()),
            Past(np.zeros(4, np.int64), np.array([seed % (1 << 63)])),
            np.zeros((5, 0), np.int64),
            np.zeros(0, np.int64),
            np.zeros(MOST_DEBTS, np.int64),
            np.array([0, 0, NOTHING, 0, 0, 0, 0]),
        )
        self._threads = np.full(1 + max(step.thread for step in fit.steps), -1, np.int64)
        self._starts = np.isin(np.arange(self._threads.size), fit.started)

    def phase(self, phase: Phase, ends: bool) -> I64:
        """Return the events of a phase as `made`; ends: threads may end in it."""
        urn, marks = filled(phase), np.array(phase.marks, np.int64).reshape(-1, 2).T.copy()
        self._make_room(urn.step.size + marks.shape[1])
        play = self._play
        play.past.context[:] = START, 0, START, 0
        play.counts[[SLOT, MARK, EVENTS]] = 0
        for column in play.levels:
            column[:] = 0
        bounds = np.array([(row.size_class, row.least, row.most) for row in phase.bounds], np.int64).reshape(-1, 3)
        play.levels.least[bounds[:, 0]], play.levels.most[bounds[:, 0]] = bounds[:, 1], bounds[:, 2]
        while not _run(urn, marks, self._steps, self._pools, play):
            self._pools = grown(self._pools, 0)
        made = play.made[:, : play.counts[EVENTS]]
        return self._with_threads(made if ends else made[:, made[0] != Op.THREAD_EXIT])

    def _make_room(self, events: int) -> None:
        """Make room for the events of a phase, each of which may be a birth."""
        play, blocks = self._play, int(self._play.counts[BLOCKS]) + events
        if play.made.shape[1] < events:
            self._play = play = play._replace(made=np.zeros((5, 2 * events), np.int64))
        if play.dead.size < blocks:
            self._play = play._replace(dead=np.concatenate((play.dead, np.zeros(2 * blocks, np.int64))))
            self._pools = grown(self._pools, 2 * blocks + play.dead.size)

    def _with_threads(self, made: I64) -> I64:
        """Return the events with threads numbered by their first events, and the starts of threads before these."""
        new = self._threads[made[1]] < 0
        while new.any():
            first = int(np.argmax(new))
            thread = made[1, first]
            self._threads[thread] = self._threads.max() + 1
            if self._starts[thread]:
                made = np.insert(made, first, (Op.THREAD_START, thread, 0, 0, 0), axis=1)
            new = self._threads[made[1]] < 0
        made = made.copy()
        made[1] = self._threads[made[1]]
        return made


@cached_njit
def _run(urn: Urn, marks: I64, steps: Steps, pools: Pools, play: Play) -> bool:
    """Do the rest of a phase; False where a pool needs more room than there is."""
    counts = play.counts
    while counts[SLOT] < urn.step.size + marks.shape[1]:
        step = counts[PENDING] if counts[PENDING] != NOTHING else _chosen(urn, marks, steps, pools, play)
        counts[PENDING] = NOTHING
        if step != NOTHING:
            if steps.target[step] >= 0 and not has_room(pools, steps.target[step]):
                counts[PENDING] = step
                return False
            _do(step, steps, pools, play)
        counts[SLOT] += 1
    while counts[MARK] < marks.shape[1]:
        _owe(marks[1, counts[MARK]], play)
        counts[MARK] += 1
    for k in range(min(urn.buckets[0], 1)):
        for i in range(urn.left[0, k]):
            _owe(urn.step[urn.order[0, urn.begin[0, k] + i]], play)
    return True


@cached_njit
def _chosen(urn: Urn, marks: I64, steps: Steps, pools: Pools, play: Play) -> int:
    """Return the next step: one that waited, a mark that is due, or one from the urn; NOTHING if there is none."""
    counts = play.counts
    for i in range(counts[DEBTS]):
        step = play.debts[i]
        if possible(step, steps, pools):
            counts[DEBTS] -= 1
            play.debts[i] = play.debts[counts[DEBTS]]
            return int(step)
    while counts[MARK] < marks.shape[1] and marks[0, counts[MARK]] <= counts[SLOT]:
        step = marks[1, counts[MARK]]
        counts[MARK] += 1
        if possible(step, steps, pools):
            return int(step)
        _owe(step, play)
    return int(drawn(urn, play.past, steps, pools, play.levels))


@cached_njit
def _owe(step: int, play: Play) -> None:
    """Keep a step for later."""
    if play.counts[DEBTS] < MOST_DEBTS:
        play.debts[play.counts[DEBTS]] = step
        play.counts[DEBTS] += 1


@cached_njit
def _do(step: int, steps: Steps, pools: Pools, play: Play) -> None:
    """Make the event of a possible step; its target has room."""
    counts, context, source, target = play.counts, play.past.context, steps.source[step], steps.target[step]
    block = 0
    if source >= 0:
        distance = steps.least[step] + draw(play.past.random, steps.most[step] - steps.least[step] + 1)
        last = rank_behind(pools, source, pools.cursor[source])
        place = place_of(pools, source, rank_chosen(steps.choose[step], distance, pools.live[source], last))
        block = pools.block[pools.first[source] + place]
        if source != target:
            leave(pools, source, place)
    elif target >= 0 and counts[FREE] > 0:
        counts[FREE] -= 1
        block = play.dead[counts[FREE]]
    elif target >= 0:
        block = counts[BLOCKS]
        counts[BLOCKS] += 1
    if target >= 0 and source != target:
        enter(pools, target, block)
    elif target < 0 and source >= 0:
        play.dead[counts[FREE]] = block
        counts[FREE] += 1
    column = play.made[:, counts[EVENTS]]
    column[0], column[1], column[2], column[3] = steps.op[step], steps.thread[step], block, steps.size[step]
    column[4] = steps.align_log2[step]
    counts[EVENTS] += 1
    if steps.minus[step] >= 0:
        play.levels.now[steps.minus[step]] -= 1
    if steps.plus[step] >= 0:
        play.levels.now[steps.plus[step]] += 1
    if context[0] == step:
        context[1] += 1
    else:
        context[2], context[3], context[0], context[1] = context[0], context[1], step, 1
