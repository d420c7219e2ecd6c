"""Pools under a lock: whoever acquires or retires a slab holds the pool lock meanwhile."""

from typing import Any

NAME = "locked"
DEFAULT = True
OFF = True
SWAPS = 0
LOCKED = ("slab.acquire", "slab.retire", "slab.superslab", "heap.create", "heap.adopt")


def files(design: Any) -> dict[str, str]:
    """Return the headers of the row by what they are for."""
    return {"lists": "locked", "superslabs": "in_turn"}
