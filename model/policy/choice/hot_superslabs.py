"""Hot superslabs: one or two superslabs of a class serve refills, as long as they have a free block.

What a class uses at a time lies in few superslabs, so near in addresses, and the others drain. A take
looks along the list of available slabs for the first of a hot superslab, which it moves to the head.
"""

from typing import Any

import msgspec

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import SLAB_CLASS_NUMBER, SLAB_NEXT, WORD, slab_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.policy.choice.common import lets_go, members, push, unlink

NAME = "hot_superslabs"
RARE = True
MOMENTS = ("report", "reset")
NUMBERS = ("most_hot",)
STATE = {
    "stores": {"superslab_hot": -1, "superslab_before": -1},
    "classes": {"superslabs_hot": 0, "superslabs_heated": 0},
}
"""superslab_hot: the superslab that became hot last, or -1; superslab_before: the one before it, where two may be."""
REPORTED = ("superslabs_hot", "superslabs_heated")
HEAT_BYTES = 8
COSTS = {
    f"take.visit.{NAME}": 94.33,
    f"slab.add.{NAME}": 0.00,
    f"slab.remove.{NAME}": 14.67,
}  # estimates, counted in the disassembly

__all__ = ["add", "attach", "gives", "lets_go", "members", "remove"]


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """Takes of a class draw from few superslabs at a time, so that the others empty.

    most: superslabs of a class that are hot at a time, 1 or 2.
    """

    most: int = 1


def why_not_valid(params: Params) -> str | None:
    """Return why that many cannot be hot, or None."""
    if params.most in (1, 2):
        return None
    return f"most: {params.most}; expected 1 to 2 superslabs"


def numbers(design: Any) -> dict[str, int]:
    """Return the most superslabs of a class that are hot."""
    return {"most_hot": design.slab_choice.most}


@kernel
def superslab_of(state: State, slab: int) -> int:
    """Return the number of a slab's superslab."""
    return int(state.slabs[slab]["place"]) // int(state.slabs_per_superslab)


@kernel
def is_hot(state: State, store: int, slab: int) -> bool:
    """Return whether a slab lies in a hot superslab."""
    superslab = superslab_of(state, slab)
    return bool(
        state.stores[store]["superslab_hot"] == superslab or state.stores[store]["superslab_before"] == superslab
    )


@kernel
def heat(state: State, store: int, slab: int) -> None:
    """Make a slab's superslab hot; where there is no room, that which became hot first is hot no longer."""
    cls = int(state.slabs[slab]["class"])
    touch(state.listener, int(state.stores[store]["at"]), 1)
    touch(state.listener, slab_at(state, slab) + SLAB_CLASS_NUMBER, 0)
    touch(state.listener, layout.SUPERSLABS_HOT + cls * HEAT_BYTES, 1)
    gone = int(state.stores[store]["superslab_hot"])
    if state.most_hot > 1:
        gone = int(state.stores[store]["superslab_before"])
        state.stores[store]["superslab_before"] = state.stores[store]["superslab_hot"]
    state.stores[store]["superslab_hot"] = superslab_of(state, slab)
    state.classes[cls]["superslabs_hot"] += int(gone < 0)
    state.classes[cls]["superslabs_heated"] += 1


@kernel
def gives(state: State, store: int) -> int:
    """Return the first available slab of a hot superslab; without one the head, whose superslab gets hot."""
    head = int(state.stores[store]["head"])
    touch(state.listener, int(state.stores[store]["at"]) + WORD, 0)
    if head < 0:
        return -1
    touch(state.listener, int(state.stores[store]["at"]), 0)
    slab = head
    while slab >= 0 and not is_hot(state, store, slab):
        touch(state.listener, slab_at(state, slab) + SLAB_NEXT, 0)
        state.slabs_looked_at += 1
        slab = int(state.slabs[slab]["next"])
    if slab < 0:
        heat(state, store, head)
        return head
    if slab != head:
        unlink(state, store, slab)
        push(state, store, slab)
    return slab


@kernel
def attach(state: State, store: int, slab: int) -> None:
    """Make a slab available that was just acquired; its superslab is hot from now on."""
    push(state, store, slab)
    touch(state.listener, int(state.stores[store]["at"]), 0)
    if not is_hot(state, store, slab):
        heat(state, store, slab)


add = push
remove = unlink
