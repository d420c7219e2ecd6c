"""Processor: each processor has a heap, whose stacks the running thread pops and pushes without a lock.

A pop or a push is a restartable sequence (rseq(2)): the kernel begins it anew if it interrupts it. A
program of many threads leaves as many blocks idle as it has processors.
"""

from typing import Any

from heapsmith.model.compile.kernel import hit_path, kernel
from heapsmith.model.errors import Refusal
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import class_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.policy import front
from heapsmith.model.policy.emitted import SELF, Hit, total
from heapsmith.model.policy.front.common import FrontPlan, stack_unload

NAME = "processor"
RARE = True
DISPATCH = "restartable"
RESTARTABLE = True
HITS = (total(SELF, Hit(4, 2, 1)), total(SELF, Hit(4, 3, 1)))
"""Both read the processor, its heap and top, and write the sequence and top.

Allocate reads a slot besides. Free reads the end and writes a slot.
"""
COSTS = {
    "alloc.restartable": 16.86,  # by hand: 24 instructions of the emitted malloc, less those of a stack
    "free.restartable": 9.37,  # by hand: 24 instructions of the emitted free, less those of a stack and its class
}
POPS = frozenset({"processor_pop", "processor_popped"})
PUSHES = frozenset({"processor_push", "processor_pushed"})
FULL = "!processor_push(row, block)"
MOMENTS = ("forget",)
SPARE = 1
FRONTS = "front/processor"
"""Where the slow paths of its stacks are."""
OPENS_ALL = True
"""Whether all stacks of a heap open with the heap, and not each with its first block."""
NUMBERS = ("processor_batch",)
LOCKS = 64
MOST_BATCH = 1024
"""A refill and a flush hold their blocks on the thread's stack meanwhile."""


def why_not_with(design: Any) -> Refusal | None:
    """Return why heaps of this design cannot belong to processors, or None."""
    if design.row("remote").OWNED:
        words = f"remote: '{design.row('remote').NAME}' cannot go with heaps '{NAME}': no thread owns a heap"
        return Refusal(words, ("remote", "heaps"))
    if design.run_cache_bytes:
        words = f"run_cache_bytes: {design.run_cache_bytes} cannot go with heaps '{NAME}'; expected 0"
        return Refusal(words, ("run_cache_bytes", "heaps"))
    if getattr(design.hardening, "quarantine", 0):
        words = f"hardening.quarantine: {design.hardening.quarantine} cannot go with heaps '{NAME}'; expected 0"
        return Refusal(words, ("hardening", "heaps"))
    if design.row("counting").COUNTS_HITS:
        words = f"counting: '{design.row('counting').NAME}' cannot go with heaps '{NAME}'"
        return Refusal(words, ("counting", "heaps"))
    if design.dispatch == "class":
        words = f"dispatch: 'class' cannot go with heaps '{NAME}': one text pops and pushes a processor's stacks"
        return Refusal(words, ("dispatch", "heaps"))
    for field in ("prewarm", "rounding", "learner", "segregation"):
        if getattr(design, field) is not None:
            return Refusal(f"{field}: '{design.row(field).NAME}' cannot go with heaps '{NAME}'", (field, "heaps"))
    rows = [front.row_of(own) for own in _fronts(design)]
    if any(not row.IS_STACK or row.LEVELS > 1 for row in rows):
        return Refusal(f"heaps: '{NAME}' needs a stack of one level as the front of each class", ("heaps", "front"))
    if (batch := _batch(design)) > MOST_BATCH:
        words = f"heaps: '{NAME}' cannot go with refills or flushes of {batch} blocks; expected {MOST_BATCH} at most"
        return Refusal(words, ("heaps",))
    return None


def numbers(design: Any) -> dict[str, int]:
    """Return the most blocks of a refill or a flush."""
    return {"processor_batch": _batch(design)}


def _fronts(design: Any) -> list[Any]:
    return [design.front_of(size) for size in design.sizes]


def _batch(design: Any) -> int:
    """Return the most blocks that a refill or a flush of the design moves."""
    plans: list[FrontPlan] = [
        front.speller_of(design.front_of(size)).derive(design.front_of(size), size) for size in design.sizes
    ]
    return max(max(plan.refill, plan.flush) for plan in plans)


def files(design: Any) -> dict[str, str]:
    """Return the headers of the row by what they are for."""
    return {"counts": "many_writers", "stacks": "at_once"}


def locks(design: Any) -> int:
    """Return how many locks the heaps have for threads without restartable sequences."""
    return LOCKS


@hit_path
def place(state: State, event: int, thread: int) -> int:
    """Return the processor on which the event's thread runs."""
    return int(state.processors[event])


@hit_path
def ends(state: State) -> bool:
    """Return False: a processor's heap serves all threads that run there."""
    return False


@kernel
def heap_made(state: State, heap: int) -> None:
    """Touch the numbers by which all stacks open at once."""
    for cls in range(state.class_count):
        touch(state.listener, class_at(cls) + layout.CLASS_SLOT, 0)
        touch(state.listener, class_at(cls) + layout.CLASS_CAPACITY, 0)


def follow(simulator: Any, chunk: Any) -> None:
    """Give the simulator the processor of each event of a chunk."""
    simulator.state.processors = simulator.processors(chunk)


@kernel
def overflow(state: State, front: int, count: int) -> int:
    """Move the newest blocks of a stack to `moved`: a processor's can be popped, and not shifted."""
    return stack_unload(state, front, count)
