"""Branches: the branches of malloc and free that a processor mispredicts, and one of the program.

On the hit path, only the branches that depend on the trace can often be mispredicted: the test
whether the row of the class serves the call (in designs that go by rows), the jump to the
functions of the class (for calls that no row served, where classes differ in what they do then),
the test whether the class's own front has a block, and the test whether it flushes. Drains of
remote lists count as the same flush test. In designs that trust each free, the branch that asks
whether the block begins a page is one too. So is the end of the search for a class of aligned
blocks, after as many classes as it looked at. A program that writes all lines of a block ends its
loop after as many lines as the block has. A processor that followed the jump to the class has the
class in its history, and guesses the end of the loop better.

The guess for a branch is its last target after the same DEPTH branches of this core; without such a
record, its last target. A guess that held before survives one other outcome (two-level adaptive
prediction: Yeh and Patt 1991; for jumps: Chang, Hao and Patt 1997). Real predictors know more
branches and remember longer. The program's own branches are not simulated.

A core's predictor has the last branches, a guess for each branch, and a table of keys and guesses.
A guess is target << 1 | it held before, or -1 for no guess. All words begin at -1, so that the key
-1 finds no guess either.
"""

from heapsmith.model.compile.kernel import Ints, hit_path, kernel
from heapsmith.model.memory.directory import slot_of
from heapsmith.model.memory.listener_words import BRANCH_OFFSET, MISPREDICTED, MISPREDICTED_LOOPS, ROW

BRANCHES = 9
(
    CLASS_OF_ALLOC,
    CLASS_OF_FREE,
    ALLOC_SERVED,
    FREE_SERVED,
    ALLOC_BY_ROW,
    FREE_BY_ROW,
    LOOP_END,
    FREE_PAGED,
    ALIGNED_CLASSES,
) = range(BRANCHES)
"""The branches; a target is a class, 1 if the row or the front needs no store, else 0, lines, 1 if
the block begins a page, else 0, or classes looked at.
"""

DEPTH = 3
NUMBER_BITS = 4
BRANCH_BITS = NUMBER_BITS + 8
"""Bits of a branch and its target."""
MOST_TARGET = 255

SLOTS = 1 << 11
TABLE = 1 + BRANCHES
WORDS = (TABLE + 2 * SLOTS + 7) & -8
"""Words of a core's predictor; a multiple of 8 aligns the next core's row with a cache line."""


@hit_path
def predict(listener: Ints, branch: int, target: int) -> None:
    """Follow a branch to its target; there is nothing to learn if all guesses agree."""
    row = int(listener[ROW]) + int(listener[BRANCH_OFFSET])
    history = int(listener[row])
    key = history << NUMBER_BITS | branch
    slot = row + TABLE + 2 * slot_of(key, SLOTS - 1)
    held = target << 1 | 1
    if listener[slot] != key or listener[slot + 1] != held or listener[row + 1 + branch] != held:
        learn(listener, branch, slot, key, target)
    listener[row] = (history << BRANCH_BITS | target << NUMBER_BITS | branch) & ((1 << DEPTH * BRANCH_BITS) - 1)


@kernel
def learn(listener: Ints, branch: int, slot: int, key: int, target: int) -> None:
    """Count a misprediction and update the guesses of the branch and in `slot` for the target."""
    last = int(listener[ROW]) + int(listener[BRANCH_OFFSET]) + 1 + branch
    guess = int(listener[last])
    if listener[slot] == key and int(listener[slot + 1]) & 1 == 1:
        guess = int(listener[slot + 1])
    if branch == LOOP_END:
        listener[MISPREDICTED_LOOPS] += guess >> 1 != target
    else:
        listener[MISPREDICTED] += guess >> 1 != target
    if listener[slot] != key:
        listener[slot] = key
        listener[slot + 1] = -1
    learn_guess(listener, last, target)
    learn_guess(listener, slot + 1, target)


@hit_path
def learn_guess(listener: Ints, place: int, target: int) -> None:
    """Update the guess at `place` with the target of its branch."""
    guess = int(listener[place])
    if guess >> 1 == target:
        listener[place] = guess | 1
    elif guess >= 0 and guess & 1 == 1:
        listener[place] = guess - 1
    else:
        listener[place] = target << 1
