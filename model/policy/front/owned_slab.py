"""Owned slab: the thread pops from its own current slab's list of freed blocks; there is no cache.

A free pushes its block on the list of its slab. So no block waits outside its slab, and each pair
touches a slab's record and a block. The store is called where a slab changes its place in it.
"""

from typing import Any

import msgspec

from heapsmith.model.compile.kernel import hit_path, kernel
from heapsmith.model.constants import first_bytes
from heapsmith.model.errors import Refusal
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import NO_BLOCK, class_at, slab_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.policy.emitted import SELF, FrontCode, Function, Hit, total
from heapsmith.model.policy.freed_blocks.list import link, take
from heapsmith.model.policy.front.common import FrontPlan
from heapsmith.model.policy.front.none import drain, drain_lines, fill, fill_lines, overflow_lines

NAME = "owned_slab"
RARE = True
LEVELS = 1
IS_STACK = False
BATCHED = False
CODE = FrontCode(
    # Reads hot, freed, carved, list and the block's link; writes list, freed and out.
    Function("owned_slab_refill", "== NULL", frozenset({"count_checked", "hs_slab_pop"}), total(SELF, Hit(6, 3, 2))),
    # Reads the span, the records, hot, freed, out and list; writes the link, list, freed and out.
    Function("owned_slab_give", "== NULL", frozenset({"count_checked", "hs_slab_push"}), total(SELF, Hit(7, 4, 1))),
    "NULL",
    lend="NULL",
)
COSTS = {
    f"flush.{NAME}": 0.0,  # it is never full
    f"flush.block.{NAME}": 0.0,
    f"alloc.{NAME}": 22.98,
    f"free.{NAME}": 15.76,
    f"refill.{NAME}": 92.86,
    f"refill.block.{NAME}": 4.04,
}

__all__ = ["drain", "drain_lines", "fill", "fill_lines", "overflow_lines"]


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """No cache: the thread's current slab of the class serves from its own list of freed blocks."""


def derive(params: Params, stride: int) -> FrontPlan:
    """Return the plan of a class that its slabs serve."""
    return FrontPlan(NAME)


def why_not_with(design: Any) -> Refusal | None:
    """Return why a design's slabs cannot be fronts, or None."""
    choice = design.row("slab_choice")
    if not design.row("remote").OWNED:
        words = f"remote: '{design.row('remote').NAME}' cannot go with front '{NAME}'; expected owners of slabs"
        return Refusal(words, ("remote", "front"))
    freed = design.row("freed_blocks")
    if not hasattr(freed, "LINKS"):
        words = f"freed_blocks: '{freed.NAME}' cannot go with front '{NAME}'; expected a list"
        return Refusal(words, ("freed_blocks", "front"))
    if not getattr(choice, "HAS_HOT", False):
        words = f"slab_choice: '{choice.NAME}' cannot go with front '{NAME}'; expected a choice with a hot slab"
        return Refusal(words, ("slab_choice", "front"))
    if design.row("classifier").HEADER_BYTES and design.row("hardening").TAIL_BYTES:
        words = f"hardening: '{design.row('hardening').NAME}' cannot go with headers and front '{NAME}'"
        return Refusal(words, ("hardening", "front"))
    header = design.row("classifier").HEADER_BYTES
    room = design.slab_bytes - first_bytes(header) + header
    alone = [size for size in design.sizes if isinstance(design.front_of(size), Params) and 2 * size > room]
    if alone:
        words = f"slab_bytes: a slab of {design.slab_bytes} has one block of {alone[0]}; front '{NAME}' expects two"
        return Refusal(words, ("slab_bytes", "front"))
    return None


@hit_path
def pop(state: State, front: int, cls: int) -> int:
    """Pop the hot slab's newest freed block if the slab stays available; else return NO_BLOCK."""
    slab = int(state.stores[front]["hot"])
    if slab < 0:
        return NO_BLOCK
    freed = int(state.slabs[slab]["freed"])
    if freed == 0 or (freed == 1 and state.slabs[slab]["carved"] == state.classes[cls]["blocks"]):
        return NO_BLOCK
    take(state, slab, cls, 0, 1)
    state.slabs[slab]["freed"] = freed - 1
    state.slabs[slab]["out"] += 1
    return int(state.moved[0])


@kernel
def push(state: State, front: int, cls: int, block: int) -> int:
    """Push the block on its slab's list, or send it to the store if the slab may change its place."""
    slab = block >> layout.SLAB_SHIFT
    freed = int(state.slabs[slab]["freed"])
    if state.stores[front]["hot"] != slab and (freed == 0 or state.slabs[slab]["out"] == 1):
        state.classes[cls]["direct"] += 1
        state.moved[0] = block
        return 1
    link(state, slab, block)
    state.slabs[slab]["freed"] = freed + 1
    state.slabs[slab]["out"] -= 1
    state.classes[cls]["push"] += 1
    return 0


@kernel
def pop_lines(state: State, front: int, cls: int) -> None:
    """Touch the hot slab's place in the store, and its counts; a pop touches list and block."""
    touch(state.listener, int(state.stores[front]["at"]), 0)
    slab = int(state.stores[front]["hot"])
    if slab >= 0:
        touch(state.listener, slab_at(state, slab), 1)


@kernel
def look_lines(state: State, front: int, cls: int) -> None:
    """Touch what another look touches: the blocks of a slab come from the class's row."""
    touch(state.listener, class_at(cls) + layout.CLASS_FIRST, 0)
    pop_lines(state, front, cls)


@kernel
def push_lines(state: State, front: int, cls: int, block: int) -> None:
    """Touch the hot slab's place in the store, and the counts of the block's slab."""
    touch(state.listener, int(state.stores[front]["at"]), 0)
    touch(state.listener, slab_at(state, block >> layout.SLAB_SHIFT), 1)
