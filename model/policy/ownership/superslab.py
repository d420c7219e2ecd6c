"""Superslab: a heap owns ranges of addresses, its superslabs, and a table names the heap of each range.

A free reads eight bytes per superslab and no record. Each thread has a superslab at least for each
pool, and the empty slabs of one thread serve no other.
"""

from typing import Any

from heapsmith.model.compile.kernel import hit_path, kernel
from heapsmith.model.constants import PAGE
from heapsmith.model.errors import Refusal
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import VACANCY_BYTES, WORD, heap_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.parts.committed import commit_calls
from heapsmith.model.policy.emitted import Field

NAME = "superslab"
MOMENTS = ("superslab_ready",)
RARE = True
COSTS: dict[str, float] = {}  # of kinds that other rows have too
IN_RECORD = False
CALLS = frozenset({"owner_of"})
NUMBERS = ("own_superslabs",)


def why_not_with(design: Any) -> Refusal | None:
    """Return why superslabs of this design cannot belong to heaps, or None."""
    remote = design.row("remote")
    if not remote.OWNED:
        words = f"ownership: '{NAME}' cannot go with remote '{remote.NAME}', where no heap owns blocks"
        return Refusal(words, ("ownership", "remote"))
    least = PAGE // WORD * design.superslab_bytes
    if design.row("classifier").REGIONS and design.region_bytes() < least:
        words = (
            f"slab_span_bytes: {design.slab_span_bytes} cannot go with ownership '{NAME}' and a region per class; "
            f"expected {least} bytes or more for each class"
        )
        return Refusal(words, ("slab_span_bytes", "ownership"))
    return None


def numbers(design: Any) -> dict[str, int]:
    """Return the flag by which heaps have superslabs of their own."""
    return {"own_superslabs": 1}


def heap_fields(design: Any) -> list[Field]:
    """Return the heap's own pools and superslabs."""
    words = VACANCY_BYTES // WORD * len(design.classes())
    return [Field("struct vacancy vacancy[CLASS_COUNT]", words, "by empties_place")]


@hit_path
def owner_at(state: State, place: int) -> int:
    """Return the address of the word that names the owner of the slab at a place."""
    return layout.OWNERS + layout.WORD * (place // state.slabs_per_superslab)


@hit_path
def owner_lines(state: State, slab: int, write: int) -> None:
    """Touch the word of the slab's superslab."""
    touch(state.listener, owner_at(state, int(state.slabs[slab]["place"])), write)


@kernel
def superslab_ready(state: State, place: int) -> None:
    """Write the superslab's owner."""
    touch(state.listener, owner_at(state, place), 1)


@kernel
def disowned(state: State, slab: int) -> None:
    """Do nothing: an empty slab stays with the owner of its superslab."""


@kernel
def owner_changes_lines(state: State, slab: int) -> None:
    """Touch nothing: a slab never changes hands."""


@hit_path
def heaps_pools(state: State, heap: int) -> int:
    """Return the place of the heap's pools: each heap has one for each class."""
    return int(heap * state.class_count)


@kernel
def vacancy_lines(state: State, heap: int, pool: int, at: int, write: int) -> None:
    """Touch a word of the heap's pool or superslab, in struct heap."""
    place = pool - heap * state.class_count
    touch(state.listener, heap_at(state, heap) + state.ownership_at + layout.VACANCY_BYTES * place + at, write)


@kernel
def commit_owners(state: State, place: int, slabs: int) -> None:
    """Count the call that makes the table of owners usable, a word per superslab."""
    step = state.slabs_per_superslab
    state.memory_calls += commit_calls(place // step, slabs // step, layout.WORD)
