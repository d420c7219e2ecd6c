"""Scan: a refill looks at the records of all slabs in turn, from the last superslab that served.

The policy keeps no list of available slabs: it saves the cost of a list and pays for the scan.
"""

from typing import Any

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.errors import Refusal
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import record_at, slab_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch

NAME = "scan"
RARE = True
COSTS = {
    f"take.visit.{NAME}": 174.19,
    f"slab.add.{NAME}": 0.00,
    f"slab.remove.{NAME}": 197.93,
}


def why_not_with(design: Any) -> Refusal | None:
    """Return why a design cannot scan: superslabs must be adjacent."""
    if design.row("classifier").REGIONS:
        words = f"slab_choice: '{NAME}' cannot go with classifier '{design.classifier}', whose superslabs lie apart"
        return Refusal(words, ("slab_choice", "classifier"))
    return None


@kernel
def gives(state: State, store: int) -> int:
    """Return the first available slab from the last superslab on, or -1 if no slab is available.

    The number of a slab is the order of its creation, so the loop looks for the nearest place.
    """
    mapped = state.superslabs * state.slabs_per_superslab
    last = int(state.stores[store]["hot"])
    first = int(state.slabs[last]["place"]) // state.slabs_per_superslab * state.slabs_per_superslab if last >= 0 else 0
    found = -1
    nearest = mapped
    for slab in range(state.slabs_made):
        if state.slabs[slab]["child"] == store + 1:
            way = (int(state.slabs[slab]["place"]) - first + mapped) % mapped
            if way < nearest:
                found, nearest = slab, way
    touch(state.listener, layout.TOTAL_SUPERSLABS, 0)
    touch(state.listener, int(state.stores[store]["at"]), 1 if found >= 0 else 0)
    for looked in range(min(nearest + 1, mapped)):
        record = record_at(state, (first + looked) % mapped)
        touch(state.listener, record + state.record_counts_at + layout.SLAB_CHILD, 0)
        state.slabs_looked_at += 1
    if found >= 0:
        state.stores[store]["hot"] = found
    return found


@kernel
def attach(state: State, store: int, slab: int) -> None:
    """Make a slab available that was just acquired; it becomes the slab that served last."""
    add(state, store, slab)
    touch(state.listener, int(state.stores[store]["at"]), 1)
    state.stores[store]["hot"] = slab


@kernel
def add(state: State, store: int, slab: int) -> None:
    """Mark the slab as available to the class."""
    touch(state.listener, slab_at(state, slab) + layout.SLAB_CHILD, 1)
    state.slabs[slab]["child"] = store + 1


@kernel
def remove(state: State, store: int, slab: int) -> None:
    """Clear the mark of the slab."""
    touch(state.listener, slab_at(state, slab) + layout.SLAB_CHILD, 1)
    state.slabs[slab]["child"] = 0


@kernel
def lets_go(state: State, store: int, slab: int) -> bool:
    """Any empty slab except the slab that served last may be retired."""
    touch(state.listener, int(state.stores[store]["at"]), 0)
    return bool(state.stores[store]["hot"] != slab)


def members(state: State, store: int) -> list[int]:
    """Return the available slabs, for checks."""
    return [slab for slab in range(state.slabs_made) if state.slabs[slab]["child"] == store + 1]
