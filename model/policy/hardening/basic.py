"""Basic: slow paths look at the blocks that come to them, and a free at the block that was freed last."""

import msgspec

from heapsmith.model.compile.kernel import hit_path, kernel
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import class_at, slab_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.parts.front_questions import freed_mark_lines
from heapsmith.model.policy.emitted import NO_CALLS, Guard, Hit

NAME = "basic"
RARE = True
RAISES = ("check_last",)
STOPS = True
LOOKS = True
TAIL_BYTES = 0
GUARDED = False
LIVE_MAP = False
ENCODES_LINKS = False
WITH = ("deletes/trusted", "hardening/bare", "hardening/misuse", "hardening/unguarded")
CODE = Guard(NO_CALLS, NO_CALLS, NO_CALLS, pushed=frozenset({"hs_look_at_last"}), looks=Hit(1, 0, 1))
COSTS = {
    f"free.hardening.{NAME}": 2.0,
    f"give.block.{NAME}": 22.4,  # what a replay of a perl job takes beyond the other two
    f"call.realloc.{NAME}": 38.0,  # counted in the disassembly
}


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """Look at blocks on slow paths; on the hit path of a free compare the block with the one freed last."""


@kernel
def given_lines(state: State, block: int) -> None:
    """Touch what a look at a block that comes back to its slab touches, besides what its return does."""
    number_lines(state, block)


@kernel
def live_lines(state: State, block: int, write: int) -> None:
    """Touch what tells realloc whether a small block is one that the program has."""
    number_lines(state, block)
    freed_mark_lines(state, block)


@kernel
def number_lines(state: State, block: int) -> None:
    """Touch what tells a block's number in its slab, and whether it was handed out and is of its slab's class."""
    cls, slab = block & layout.CLASS_MASK, slab_at(state, block >> layout.SLAB_SHIFT)
    touch(state.listener, class_at(cls) + layout.CLASS_FIRST, 0)
    touch(state.listener, slab, 0)
    if state.header_bytes > 0:
        touch(state.listener, slab + layout.SLAB_CLASS_NUMBER, 0)
    if state.record_counts_at > 0:
        touch(state.listener, slab - layout.SLAB_CLASS_BYTES, 0)
    else:
        touch(state.listener, class_at(cls) + layout.CLASS_STRIDE, 0)
        touch(state.listener, class_at(cls) + state.block_index_at, 0)


@hit_path
def last_lines(state: State, front: int, held: int) -> None:
    """Touch the slot of the block that was freed last."""
    if state.check_last > 0:
        closed = int(state.fronts[front]["closed_at"])
        at = closed if closed > 0 else int(state.fronts[front]["slots_at"]) + layout.WORD * (held - 1)
        touch(state.listener, at, 0)
