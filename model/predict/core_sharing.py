"""Sharing: what an event takes longer because other threads run on other cores; for model/predict/clocks.py."""

import numpy as np

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.parts.charge import PATHS
from heapsmith.model.predict.clock_state import LARGE, PARTS_SHIFT, POOL, RUNS, SHARE_SHIFT, ClockState
from heapsmith.model.predict.event_order import begins

RELEASE = PATHS.index("release")


@kernel
def cores_of_others(state: ClockState, thread: int) -> int:
    """Return on how many other cores threads run, in 1 / 2**SHARE_SHIFT."""
    run = (state.ready - 1) << SHARE_SHIFT
    if state.paced == 1:
        run = 0
        for other in range(state.threads):
            if other != thread and state.runners[other]["life"] == RUNS:
                run += int(state.runners[other]["share"])
    return min(run, (state.cores - 1) << SHARE_SHIFT)


@kernel
def shoot_down(state: ClockState, thread: int, calls: int) -> int:
    """Interrupt the cores of other threads, which have to forget translations; return what the calls take longer."""
    run = cores_of_others(state, thread)
    lost = calls * state.target * run >> SHARE_SHIFT
    state.busy += lost
    if state.paced == 0 and state.ready > 1:
        lost //= state.ready - 1
        for place in range(state.ready):
            other = int(state.turns[place])
            if other != thread:
                state.runners[other]["clock"] += lost
                state.runners[other]["due"] = begins(state, other, int(state.runners[other]["first"]))
    return calls * state.shootdown * min(run, 1 << SHARE_SHIFT) >> SHARE_SHIFT


@kernel
def note_lock(state: ClockState, lock: int, event: int) -> None:
    """Note that an event takes a lock, and whether another thread had it before in the order of the trace."""
    thread = int(np.int64(state.thread[event]))
    state.links[event]["moved"] += int(state.locks[lock]["traced"] != thread) << lock
    state.locks[lock]["traced"] = thread


@kernel
def note_locks(state: ClockState, event: int) -> None:
    """Note the locks that an event takes, in the order of the trace."""
    state.links[event]["moved"] = 0
    if state.charges[event]["pool"] > 0:
        note_lock(state, POOL, event)
    if state.charges[event]["large"] > 0:
        note_lock(state, LARGE, event)


@kernel
def moves(state: ClockState, lock: int, thread: int, event: int) -> int:
    """Return what a lock takes longer that another thread had last.

    Where another thread had it in the order of the trace too, the charge has this among its misses.
    """
    moved = int(state.locks[lock]["last"] != thread) - (int(state.links[event]["moved"]) >> lock & 1)
    state.locks[lock]["last"] = thread
    return moved * state.moved if state.cores > 1 else 0


@kernel
def meet_others(state: ClockState, thread: int, event: int) -> None:
    """Add to an event's charge what it takes longer because other threads run.

    A call that releases pages under a lock holds the lock longer. A lock's own way to this core is
    before the hold.
    """
    longer, held, moved = 0, 0, 0
    calls = int(state.charges[event]["releases"])
    if calls > 0:
        longer = shoot_down(state, thread, calls) << PARTS_SHIFT
        held = longer * int(state.charges[event]["held"]) // calls
        if longer > state.charges[event]["alone"]:
            state.charges[event]["path"] = RELEASE
    if state.charges[event]["pool"] > 0:
        moved = moves(state, POOL, thread, event) << PARTS_SHIFT
        state.charges[event]["pool"] += held
    if state.charges[event]["large"] > 0:
        moved += moves(state, LARGE, thread, event) << PARTS_SHIFT
        if state.charges[event]["pool"] == 0:
            state.charges[event]["large"] += held
    locked = int(state.charges[event]["pool"]) + int(state.charges[event]["large"])
    state.charges[event]["own"] = max(locked, int(state.charges[event]["own"]) + longer + moved)
    state.charges[event]["alone"] = max(0, int(state.charges[event]["alone"]) + longer + moved)
