"""What parts ask the rooms about blocks and calls (model/compile/dispatch.py).

As in model/parts/front_questions.py, the body is the answer of a row without that function.
"""

from heapsmith.model.compile.dispatch import question
from heapsmith.model.memory.layout import NO_BLOCK
from heapsmith.model.memory.state import State

# Hardening: what stands between the program and its blocks.


@question("hardening", "holds_back")
def holds_back(state: State, heap: int, block: int) -> int:
    """Return the block that the heap frees in the place of this one, or NO_BLOCK."""
    return block


@question("hardening", "live_lines", hit=True)
def live_lines(state: State, block: int, write: int) -> None:
    """Touch what says that a small block is live."""


@question("hardening", "born_lines", hit=True)
def born_lines(state: State, block: int, asked: int) -> None:
    """Touch what the checks touch when a small block goes to the program, which asked for `asked` bytes."""


@question("hardening", "dies_lines", hit=True)
def dies_lines(state: State, block: int) -> None:
    """Touch what the checks touch when the program frees a small block."""


@question("hardening", "last_lines", hit=True)
def last_lines(state: State, front: int, held: int) -> None:
    """Touch what the checks touch of a stack of `held` blocks to which a free comes."""


@question("hardening", "given_lines", hit=True)
def given_lines(state: State, block: int) -> None:
    """Touch what the checks touch when a small block returns to its slab."""


@question("hardening", "large_tail_lines")
def large_tail_lines(state: State, at: int, pages: int, asked: int, write: int) -> None:
    """Touch what the checks touch behind the `asked` bytes of a run of `pages` pages."""


@question("hardening", "huge_slack_lines")
def huge_slack_lines(state: State, at: int, slack: int, write: int) -> None:
    """Touch what the checks touch of the `slack` bytes behind those asked for of a huge block."""


@question("hardening", "resealed_lines")
def resealed_lines(state: State, block: int, asked: int, size: int) -> None:
    """Touch what a small block of `asked` bytes changes that stays where it is and gets `size` bytes."""


@question("hardening", "map_is_released")
def map_is_released(state: State, place: int) -> None:
    """Give what the checks know of the slab at `place` back to the OS, with its pages."""


# Segregation, foreign pointers, heaps: what a call tells of a block and its heap.


@question("segregation", "class_of_call", hit=True)
def class_of_call(state: State, cls: int) -> int:
    """Return the class that serves a call, for the class of its size."""
    return cls


@question("segregation", "class_of_size", hit=True)
def class_of_size(state: State, cls: int) -> int:
    """Return the class that serves the sizes of a class for all other calls."""
    return cls


@question("segregation", "is_apart", hit=True)
def is_apart(state: State, cls: int) -> bool:
    """Return whether the call decides about the class, and not its size alone."""
    return False


@question("segregation", "site_lines")
def site_lines(state: State, cls: int, size: int) -> None:
    """Touch what tells the class of a call, once the row of its size is none."""


# Sampling: which requests are samples, and which blocks.


@question("sampling", "sampled_block")
def sampled_block(state: State, heap: int, size: int, align: int, cls: int) -> int:
    """Count a request, which a class serves if cls >= 0; return the handle of its block if it is a sample.

    NO_BLOCK if it is none; NO_ROOM if it is one of a large request that has failed.
    """
    return NO_BLOCK


@question("sampling", "watched_lines", hit=True)
def watched_lines(state: State, heap: int) -> None:
    """Touch what the thread of a heap looks at before an aligned request of a class (heap: -1 without one)."""


@question("sampling", "parked_lines", hit=True)
def parked_lines(state: State, heap: int, cls: int) -> None:
    """Touch what a free looks at that finds its stack full or not open."""


@question("sampling", "block_made", hit=True)
def block_made(state: State, name: int) -> None:
    """Note whether the block that was just made for `name` is a sample."""


@question("sampling", "block_goes", hit=True)
def block_goes(state: State, name: int, block: int) -> None:
    """The block of this name is freed, or realloc has resized it: it is a sample no more."""


@question("sampling", "must_move", hit=True)
def must_move(state: State, size: int) -> bool:
    """Return whether a small block moves for a realloc to `size` because that is due."""
    return False


@question("sampling", "stayed")
def stayed(state: State, block: int, size: int) -> None:
    """Count a realloc whose block did not move."""


@question("sampling", "frees_guarded")
def frees_guarded(state: State, block: int, asked: int) -> bool:
    """Free a guarded sample of `asked` bytes; return whether the block is one."""
    return False


@question("foreign", "looks_at", hit=True)
def looks_at(state: State, block: int) -> None:
    """Do what free() does to tell a block of ours from others, besides a look at its address."""


@question("classifier", "first_look", hit=True)
def first_look(state: State, block: int) -> None:
    """Do what free() does before it looks whether a block lies in the slab span."""


@question("heaps", "place", hit=True)
def heap_place(state: State, event: int, thread: int) -> int:
    """Return the place in `threads` of the heap that serves an event of a thread."""
    return thread


@question("heaps", "ends", hit=True)
def heap_ends(state: State) -> bool:
    """Return whether a heap ends with its thread."""
    return True


@question("run_cache_bytes", "claims_heap")
def claims_heap(state: State) -> bool:
    """Return whether a thread without a heap, which frees a run, gets one; it counts the run otherwise."""
    return False


@question("heaps", "overflow")
def overflow(state: State, front: int, count: int) -> int:
    """Move `count` blocks of a stack that is full to `moved`; return their number."""
    raise NotImplementedError
