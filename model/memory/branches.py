"""Branches: which ways through malloc and free a processor mispredicts.

Of the branches on the hit path only those can be guessed wrong often that depend on the trace: the jump to the
functions of a class, where all classes are reached by one, whether its front has a block, and whether its front gives
blocks away (asked by drains of remote lists, too, which are taken for the same place). Each is guessed to go where it
went last after the same DEPTH branches of this core, or, where that is not known, where it went last. One other outcome
does not change a guess that held before (two-level adaptive prediction: Yeh and Patt 1991, for jumps Chang, Hao and
Patt 1997). The predictors of processors know more branches and remember longer; the program's own are not simulated.

A core's predictor: the last branches, a guess for each branch, and a table of pairs, a key and a guess. A guess is
target << 1 | it held before; -1 is none, and what all begins with: a key of -1 finds no guess either.
"""

from heapsmith.model.compile.kernel import Ints, hit_path, kernel
from heapsmith.model.memory.directory import slot_of
from heapsmith.model.memory.words import BRANCH_OFFSET, MISPREDICTED, ROW

BRANCHES = 4
CLASS_OF_ALLOC, CLASS_OF_FREE, ALLOC_SERVED, FREE_SERVED = range(BRANCHES)
"""The branches; a target is a class, or 1 where the front does without the store, else 0."""

DEPTH = 3
BRANCH_BITS = 10
"""Of a branch and its target, below 256."""

SLOTS = 1 << 11
TABLE = 1 + BRANCHES
WORDS = (TABLE + 2 * SLOTS + 7) & -8
"""Of a core's predictor; a multiple of 8, so that the next core's row begins with a cache line."""


@hit_path
def predict(touched: Ints, branch: int, target: int) -> None:
    """A branch went to a target; where all guesses said so before, there is nothing to learn."""
    row = int(touched[ROW]) + int(touched[BRANCH_OFFSET])
    history = int(touched[row])
    key = history << 2 | branch
    slot = row + TABLE + 2 * slot_of(key, SLOTS - 1)
    held = target << 1 | 1
    if touched[slot] != key or touched[slot + 1] != held or touched[row + 1 + branch] != held:
        learn(touched, row + 1 + branch, slot, key, target)
    touched[row] = (history << BRANCH_BITS | target << 2 | branch) & ((1 << DEPTH * BRANCH_BITS) - 1)


@kernel
def learn(touched: Ints, last: int, slot: int, key: int, target: int) -> None:
    """A branch whose guesses are at `last` and, if it has the key, in the slot, went to a target."""
    guess = int(touched[last])
    if touched[slot] == key and int(touched[slot + 1]) & 1 == 1:
        guess = int(touched[slot + 1])
    touched[MISPREDICTED] += guess >> 1 != target
    if touched[slot] != key:
        touched[slot] = key
        touched[slot + 1] = -1
    learn_guess(touched, last, target)
    learn_guess(touched, slot + 1, target)


@hit_path
def learn_guess(touched: Ints, place: int, target: int) -> None:
    """The guess at a place was asked, and this was right."""
    guess = int(touched[place])
    if guess >> 1 == target:
        touched[place] = guess | 1
    elif guess >= 0 and guess & 1 == 1:
        touched[place] = guess - 1
    else:
        touched[place] = target << 1
