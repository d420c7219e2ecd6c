"""Locks, counted by path and stage (docs/machine-rooms.md, 'locks'): who takes one says what for.

The stage of an acquire is a number: its place in STAGES (model/parts/counters.py).
"""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory import layout
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch

OWN, SAME, OTHER, CLAIM, SUPERSLAB, NONE = range(6)


@kernel
def lock_pool(state: State) -> None:
    """Take the pool lock; the caller says what for."""
    touch(state.listener, layout.POOL_LOCK, 1)
    state.new_locks += 1


@kernel
def uncounted(state: State) -> int:
    """Return how many locks were taken that nobody has counted; the caller does."""
    locks = int(state.new_locks)
    state.new_locks = 0
    return locks


@kernel
def count_take(state: State, locks: int) -> None:
    """Count the locks of a take by the stage of the slab that it acquired last."""
    if state.stage == OWN:
        state.locks_take_own += locks
    elif state.stage == SAME:
        state.locks_take_same += locks
    elif state.stage == OTHER:
        state.locks_take_other += locks
    elif state.stage == CLAIM:
        state.locks_take_claim += locks
    elif state.stage == SUPERSLAB:
        state.locks_take_superslab += locks
    else:
        state.locks_take_none += locks


@kernel
def count_acquire(state: State) -> None:
    """Count the new locks of an acquire by the stage of its slab."""
    locks = uncounted(state)
    if state.stage == SAME:
        state.locks_acquire_same += locks
    elif state.stage == OTHER:
        state.locks_acquire_other += locks
    elif state.stage == CLAIM:
        state.locks_acquire_claim += locks
    elif state.stage == SUPERSLAB:
        state.locks_acquire_superslab += locks
    else:
        state.locks_acquire_none += locks
