"""The committed bytes: their sum, its peak, its integral over time, the least and most since a reader asked last."""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.constants import PAGE
from heapsmith.model.memory import layout
from heapsmith.model.memory.resident import PAGE_SHIFT
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch


@kernel
def time_since(state: State, event: int) -> int:
    """Return the time from the chunk's first event to this, in units of 2^time_shift ns; without times, events."""
    if state.timeless == 1:
        return event
    return int((state.time_ns[event] >> state.time_shift) - (state.time_ns[0] >> state.time_shift))


@kernel
def becomes(state: State, committed: int) -> None:
    """Change the committed bytes in the event that is being done.

    Only a change adds to the sum: the integral over a chunk is the pages at its end, times its duration, less this sum.
    """
    since = time_since(state, int(state.events - state.fed))
    state.committed_sum += ((committed - state.committed) >> PAGE_SHIFT) * since
    state.committed = committed


@kernel
def commit(state: State, size: int) -> None:
    """Add `size` to the committed bytes."""
    if size != 0:
        touch(state.listener, layout.TOTAL_COMMITTED, 1)
    committed = state.committed + size
    becomes(state, committed)
    if committed > state.committed_peak:
        state.committed_peak = committed
    if committed > state.committed_high:
        state.committed_high = committed
    if committed < state.committed_low:
        state.committed_low = committed


@kernel
def uncommit(state: State, size: int) -> None:
    """Take `size`, that of pages that went back, from the committed bytes."""
    committed = state.committed - size
    becomes(state, committed)
    if committed < state.committed_low:
        state.committed_low = committed


@kernel
def commit_calls(first: int, count: int, record_bytes: int) -> int:
    """Return the system calls that commit `count` records: 1 if a page begins in them, or 0."""
    return int(-(-first * record_bytes // PAGE) != -(-(first + count) * record_bytes // PAGE))
