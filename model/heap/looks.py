"""Looks at the age queues of a delay in milliseconds, where an allocation leaves level 0; docs/machine.md section 6."""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.heap.age import read_clock
from heapsmith.model.heap.runs import release_runs
from heapsmith.model.heap.slab_ages import release_slabs
from heapsmith.model.memory import layout
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch


@kernel
def look(state: State) -> None:
    """Release the oldest slabs and runs that are due if the clock has moved since the last look."""
    read_clock(state)
    if state.clock == state.looked:
        return
    state.looked = state.clock
    touch(state.listener, layout.POOL_LOCK, 1)
    release_slabs(state)
    touch(state.listener, layout.LARGE_LOCK, 1)
    release_runs(state)
