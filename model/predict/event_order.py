"""Order: which event of a trace comes next by the clocks of its threads; for model/predict/clocks.py.

The events of two chunks wait in slots. Each thread's form a list in the order of the trace, and an
event waits for the event before it on its block, whichever thread does that. So the thread whose
next event begins first goes on, as on a real machine. The events of a chunk are all done before the
chunk after the next comes.
"""

import numpy as np

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.predict.clock_state import COMES, ENDED, NEVER, NONE, NOT_YET, PARTS, RUNS, SLOTS, ClockState
from heapsmith.model.trace.events import CHUNK_EVENTS, Op

FREE_SIZED, EXIT = int(Op.FREE_SIZED), int(Op.THREAD_EXIT)


@kernel
def becomes_ready(state: ClockState, thread: int) -> None:
    """Let a thread take part whose next event waits for nothing; note when that event begins."""
    event = int(state.runners[thread]["first"])
    if event == NONE or state.runners[thread]["life"] == COMES or state.links[event]["waits"] == 1:
        return
    state.runners[thread]["due"] = begins(state, thread, event)
    if state.runners[thread]["place"] == NONE:
        state.runners[thread]["place"] = state.ready
        state.turns[state.ready] = thread
        state.ready += 1


@kernel
def begins(state: ClockState, thread: int, event: int) -> int:
    """Return when a thread's next event begins, but for waits for locks and cores."""
    now = int(state.runners[thread]["clock"])
    if event >= SLOTS:
        return now
    if state.paced == 1:
        since = (int(state.time_ns[event]) - int(state.runners[thread]["stamp"])) * PARTS
        return now + max(0, since - int(state.runners[thread]["before"]))
    return max(now, int(state.windows[event // CHUNK_EVENTS]["opens"]))


@kernel
def leaves(state: ClockState, thread: int) -> None:
    """Take a thread out that has no event or whose next event waits."""
    place = int(state.runners[thread]["place"])
    state.ready -= 1
    last = int(state.turns[state.ready])
    state.turns[place] = last
    state.runners[last]["place"] = place
    state.runners[thread]["place"] = NONE


@kernel
def append(state: ClockState, thread: int, event: int) -> None:
    """Put an event at the end of a thread's list."""
    state.links[event]["next"] = NONE
    state.links[event]["waiter"] = NONE
    last = int(state.runners[thread]["last"])
    state.runners[thread]["last"] = event
    if last != NONE:
        state.links[last]["next"] = event
        return
    state.runners[thread]["first"] = event
    becomes_ready(state, thread)


@kernel
def enter(state: ClockState, event: int) -> None:
    """Put an event behind those of its thread and of its block; a thread's first one behind its creation."""
    thread = int(np.int64(state.thread[event]))
    state.entered += 1
    if state.runners[thread]["life"] == NOT_YET:
        state.runners[thread]["life"] = COMES if thread > 0 else RUNS
        state.runners[thread]["stamp"] = int(state.time_ns[event])
        state.runners[thread]["begins"] = state.entered
        if thread > 0:
            state.links[SLOTS + thread]["waits"] = 0
            append(state, 0, SLOTS + thread)
        else:
            state.alive += 1
    state.links[event]["waits"] = 0
    if state.op[event] <= FREE_SIZED:
        block = int(np.int64(state.block[event]))
        before = int(state.done[block]["last"])
        state.done[block]["last"] = event
        if before != NONE:
            state.links[event]["waits"] = 1
            state.links[before]["waiter"] = event
    elif state.op[event] == EXIT:
        state.runners[thread]["exits"] = state.entered
    append(state, thread, event)


@kernel
def has_to_join(state: ClockState, thread: int) -> int:
    """Return whether a thread has not ended yet that ended, in the trace, before this one began."""
    begun = int(state.runners[thread]["begins"])
    for other in range(1, state.threads):
        if 0 < state.runners[other]["exits"] < begun and state.runners[other]["life"] < ENDED:
            return 1
    return 0


@kernel
def soonest(state: ClockState) -> int:
    """Return the thread whose next event begins first (of several the lowest), and note when the second does."""
    best, thread, second = NEVER, 0, NEVER
    for place in range(state.ready):
        other = int(state.turns[place])
        due = int(state.runners[other]["due"])
        if due < best or (due == best and other < thread):
            best, second, thread = due, best, other
        else:
            second = min(second, due)
    state.until = second
    return thread


@kernel
def frees_waiter(state: ClockState, thread: int, event: int) -> None:
    """Let the next event on the block of an event just done come, if there is one."""
    block, waiter = int(np.int64(state.block[event])), int(state.links[event]["waiter"])
    if waiter == NONE:
        state.done[block]["last"] = NONE
        return
    state.links[waiter]["waits"] = 0
    other = int(np.int64(state.thread[waiter]))
    if state.runners[other]["first"] == waiter and other != thread:
        becomes_ready(state, other)
        state.until = min(int(state.until), int(state.runners[other]["due"]))


@kernel
def goes_on(state: ClockState, thread: int, event: int) -> None:
    """Take the event just done out of all lists, and let the next ones of its thread and of its block come."""
    if event < SLOTS:
        window = event // CHUNK_EVENTS
        state.windows[window]["left"] -= 1
        state.windows[window]["ends"] = max(int(state.windows[window]["ends"]), int(state.runners[thread]["clock"]))
        if state.op[event] <= FREE_SIZED:
            frees_waiter(state, thread, event)
    after = int(state.links[event]["next"])
    state.runners[thread]["first"] = after
    if after == NONE:
        state.runners[thread]["last"] = NONE
    if after == NONE or state.links[after]["waits"] == 1:
        leaves(state, thread)
    else:
        state.runners[thread]["due"] = begins(state, thread, after)
