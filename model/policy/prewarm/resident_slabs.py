"""Prewarmed memory: a new heap has superslabs of its own, whose pages are all resident from the start."""

from typing import Any

import msgspec

from heapsmith.model.errors import Refusal

NAME = "resident_slabs"
MOMENTS = ("heap_started", "superslab_late")
NUMBERS = ("prewarm_superslabs", "prewarm_locks")
MOST_BYTES = 1 << 30


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag=NAME, tag_field="kind"):
    """A new heap maps superslabs and makes their pages resident.

    bytes: of superslabs for each heap, rounded up to whole superslabs. While a thread needs no more
    for its small blocks, it makes no system call and touches no page for the first time. Each thread
    pays for all of them when it starts. lock: the pages are locked in memory too (mlock), as far as
    RLIMIT_MEMLOCK permits.
    """

    bytes: int
    lock: bool = False


def why_not_valid(params: Params) -> str | None:
    """Return why that much cannot be prepared, or None."""
    return None if 1 <= params.bytes <= MOST_BYTES else f"bytes: {params.bytes}; expected 1 to {MOST_BYTES}"


def why_not_with(design: Any) -> Refusal | None:
    """Return why heaps of this design cannot prepare memory, or None."""
    needed = {
        "ownership": "superslab",  # else other heaps take what one prepares
        "empties": "shared",  # a pool for all classes
        "release": "keep",  # else pages go back
        "unmapping": "off",
    }
    for field, name in needed.items():
        if (chosen := design.row(field).NAME) != name:
            words = f"prewarm: '{NAME}' cannot go with {field} '{chosen}'; expected {field} '{name}'"
            return Refusal(words, ("prewarm", field))
    return None


def numbers(design: Any) -> dict[str, int]:
    """Return the superslabs of each heap, and whether their pages are locked."""
    superslabs = -(-design.prewarm.bytes // design.superslab_bytes)
    return {"prewarm_superslabs": superslabs, "prewarm_locks": int(design.prewarm.lock)}


def files(design: Any) -> dict[str, str]:
    """Return the headers of the row by what they are for."""
    return {"sparing": "unsparing"}
