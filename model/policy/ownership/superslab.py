"""Superslab: a heap owns ranges of addresses, its superslabs, and a table names the heap of each range.

A free reads eight bytes per superslab and no record. Each thread has a superslab at least for each
pool, and the empty slabs of one thread serve no other.
"""

from typing import Any

from heapsmith.model.constants import PAGE
from heapsmith.model.errors import Refusal
from heapsmith.model.memory.layout import VACANCY_BYTES, WORD
from heapsmith.model.policy.emitted import Field

NAME = "superslab"
MOMENTS = ("superslab_ready",)
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
