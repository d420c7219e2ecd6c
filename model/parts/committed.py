"""The committed bytes: their sum, its peak, and the least and most since a reader asked for them last."""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.constants import PAGE
from heapsmith.model.memory import layout
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch


@kernel
def commit(state: State, size: int) -> None:
    """Add `size` to the committed bytes."""
    if size != 0:
        touch(state.listener, layout.TOTAL_COMMITTED, 1)
    committed = state.committed + size
    state.committed = committed
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
    state.committed = committed
    if committed < state.committed_low:
        state.committed_low = committed


@kernel
def commit_calls(first: int, count: int, record_bytes: int) -> int:
    """Return the system calls that commit `count` records: 1 if a page begins in them, or 0."""
    return int(-(-first * record_bytes // PAGE) != -(-(first + count) * record_bytes // PAGE))
