"""The moments that parts and machine tell the rooms of (model/compile/dispatch.py).

A moment goes to each row of the design that has a function of its name, with the same parameters, in
the order of the tables. `heap` is -1 for a thread without a heap.
"""

from heapsmith.model.compile.dispatch import moment
from heapsmith.model.memory.state import State


@moment
def heap_made(state: State, heap: int) -> None:
    """A heap was made; its rows and its numbers are being written."""


@moment
def heap_started(state: State, heap: int) -> None:
    """A new heap has its thread, which has not asked for a block yet."""


@moment
def heap_adopted(state: State, heap: int) -> None:
    """A thread got a heap that another had left."""


@moment
def thread_exits(state: State, heap: int) -> None:
    """The heap's thread exits; its fronts are as it left them."""


@moment
def slow_path(state: State, heap: int) -> None:
    """An allocation found level 0 of its front empty."""


@moment
def front_missed(state: State, heap: int, cls: int) -> None:
    """Blocks came to the front of a class after a miss, from the transfer cache, the store or another front."""


@moment
def front_flushed(state: State, heap: int, cls: int) -> None:
    """Blocks of a front that was full went to the transfer cache or the store."""


@moment
def flush_ended(state: State, heap: int) -> None:
    """A free by the program, not by a drain, has made a front flush, and is done."""


@moment
def free_ended(state: State, heap: int) -> None:
    """A free of a small block by the thread of a heap, not by a drain, is done; no flush of it waits to be told."""


@moment
def remote_drained(state: State, heap: int) -> None:
    """Remote blocks of a heap were freed."""


@moment
def slab_made(state: State, pool: int, slab: int) -> None:
    """A slab leaves its superslab for the first time."""


@moment
def slab_acquired(state: State, heap: int, cls: int, slab: int) -> None:
    """A slab becomes one of a class."""


@moment
def slab_retired(state: State, heap: int, cls: int, slab: int) -> None:
    """An empty slab leaves its class; it is in no pool yet."""


@moment
def slab_covered(state: State, slab: int, above: int) -> None:
    """In a pool, the slab `above` lies on a slab, or nothing any more (-1)."""


@moment
def slab_pooled(state: State, heap: int, pool: int, slab: int) -> None:
    """A retired slab has joined its pool and the age queue."""


@moment
def slab_reused(state: State, slab: int) -> None:
    """A slab has left its pool and serves again."""


@moment
def superslab_ready(state: State, place: int) -> None:
    """A superslab was mapped, again or for the first time; place: that of its first slab."""


@moment
def superslab_late(state: State) -> None:
    """An allocation needed a superslab that was not there yet."""


@moment
def run_taken(state: State, first: int, pages: int) -> None:
    """The low pages of a free run are to be handed out; it has all its extents yet."""


@moment
def memory_freed(state: State, size: int) -> None:
    """A slab was retired, a run freed, or a huge block unmapped, of this size."""


@moment
def large_came(state: State, heap: int) -> None:
    """A thread got a large block, or one grew."""


@moment
def event_begins(state: State, event: int) -> None:
    """The event of this place in the chunk begins."""


@moment
def event_done(state: State) -> None:
    """An event is done, and is not counted yet."""


@moment
def event_charged(state: State, event: int) -> None:
    """The price of an event is known (model/parts/charge.py)."""
