"""Steps as columns for the loops, the pools and classes that they name, and how a step tells which block it takes."""

from typing import NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from heapsmith.model.compile.cache import cached_njit
from heapsmith.model.trace.events import BIRTHS, Op
from heapsmith.model.trace.synth.fit import Choice, Operation, Step
from heapsmith.model.trace.synth.ranks import I64

OPERATIONS: tuple[str, ...] = get_args(Operation)
CHOICES: tuple[str, ...] = get_args(Choice)
YOUNGEST, OLDEST, NEXT, OLDER, YOUNGER = range(len(CHOICES))
NEAR = 8
"""A step tells the distance from the last such step exactly if it is at most this."""
FINE_BYTES = 512


Flags = npt.NDArray[np.bool_]


class Steps(NamedTuple):
    """The steps of a fit as columns; -1 where a step has no such pool or class."""

    op: I64
    thread: I64
    size: I64  # of the event
    align_log2: I64
    source: I64  # the pool of the block that is freed or resized
    target: I64  # the pool of the block behind the step
    choose: I64
    least: I64
    most: I64
    minus: I64  # the class that loses a block for the thread
    plus: I64  # the class that gains one


def columns(steps: list[Step]) -> tuple[Steps, int, int]:
    """Return the steps as columns, the number of pools, and that of classes."""
    op = np.array([OPERATIONS.index(step.op) for step in steps], np.int64)
    thread = np.array([step.thread for step in steps], np.int64)
    enters = np.isin(op, [*BIRTHS, Op.REALLOC])
    leaves = np.isin(op, [Op.FREE, Op.FREE_SIZED, Op.REALLOC])
    size = np.array([step.size for step in steps], np.int64)
    old = np.array([step.from_size for step in steps], np.int64)
    owner = np.array([step.from_thread for step in steps], np.int64)
    pools, pool = _numbered(np.concatenate((owner, thread)), np.concatenate((old, size)), leaves, enters)
    of_old, of_new = class_of(old), class_of(size)
    classes, level = _numbered(np.concatenate((thread, thread)), np.concatenate((of_old, of_new)), leaves, enters)
    same = level[0] == level[1]
    made = Steps(
        op,
        thread,
        np.where(enters, size, np.where(op == Op.FREE_SIZED, old, 0)),
        np.array([step.align_log2 for step in steps], np.int64),
        *pool,
        np.array([CHOICES.index(step.choose) for step in steps], np.int64),
        np.array([step.distance[0] for step in steps], np.int64),
        np.array([step.distance[1] for step in steps], np.int64),
        np.where(same, -1, level[0]),
        np.where(same, -1, level[1]),
    )
    return made, pools, classes


def _numbered(first: I64, second: I64, leaves: Flags, enters: Flags) -> tuple[int, tuple[I64, I64]]:
    """Return the number of different pairs of steps that leave or enter one, and the number of each step's pairs."""
    used = np.concatenate((leaves, enters))
    pairs, which = np.unique(np.stack((first[used], second[used])), axis=1, return_inverse=True)
    number = np.full(used.size, -1, np.int64)
    number[used] = which.reshape(-1)
    return pairs.shape[1], (number[: leaves.size], number[leaves.size :])


def class_of(size: I64) -> I64:
    """Return the class whose blocks a phase counts: 16 bytes wide up to 512 bytes, then four for each doubling."""
    coarse = np.floor(np.log2(np.maximum(size, 1)) * 4).astype(np.int64)
    found: I64 = np.where(size <= FINE_BYTES, (size + 15) // 16, coarse)
    return found


@cached_njit
def described(rank: int, live: int, last: int) -> tuple[int, int, int]:
    """Return how a step tells the block with `rank` younger ones of `live`: the choice, least and most distance.

    last: the younger ones of the last step's place.
    """
    from_oldest, away = live - 1 - rank, rank - last
    if rank == 0:
        return YOUNGEST, 0, 0
    if from_oldest == 0:
        return OLDEST, 0, 0
    if -NEAR <= away <= NEAR:
        return NEXT, away, away
    end = min(rank, from_oldest)
    if 2 * abs(away) < end:
        low, high = around(abs(away))
        return OLDER if away > 0 else YOUNGER, low, high
    low, high = around(end)
    return YOUNGEST if rank <= from_oldest else OLDEST, low, high


@cached_njit
def around(distance: int) -> tuple[int, int]:
    """Return the least and most distance that a step does not tell from this one: itself up to 8, then half octaves."""
    if distance < NEAR:
        return distance, distance
    octave = 1
    while octave * 2 <= distance:
        octave *= 2
    half = octave // 2
    if distance < octave + half:
        return octave, octave + half - 1
    return octave + half, octave * 2 - 1


@cached_njit
def rank_chosen(choose: int, distance: int, live: int, last: int) -> int:
    """Return the rank of the block that a step takes, the nearest there is."""
    rank = distance
    if choose == OLDEST:
        rank = live - 1 - distance
    elif choose in (NEXT, OLDER):
        rank = last + distance
    elif choose == YOUNGER:
        rank = last - distance
    return int(min(max(rank, 0), live - 1))
