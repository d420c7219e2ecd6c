"""What release policies share: the advice by which pages go back (madvise(2)), and a look at both age queues."""

from typing import Literal

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory import layout
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.parts.runs import release_runs
from heapsmith.model.parts.slab_ages import release_slabs

Advice = Literal["dontneed", "free"]


@kernel
def look_at_ages(state: State) -> None:
    """Release the oldest slabs and runs that are due."""
    touch(state.listener, layout.POOL_LOCK, 1)
    release_slabs(state)
    touch(state.listener, layout.LARGE_LOCK, 1)
    release_runs(state)
    state.locks_look += 2
