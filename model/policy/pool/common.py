"""What pools without a lock have in common: the designs that cannot have them."""

from typing import Any

from heapsmith.model.errors import Refusal

MAPPING = ("slab.superslab", "heap.create", "heap.adopt")
"""What takes the lock although slabs are swapped; the next slab of a superslab is too little to count."""


def why_not_lock_free(design: Any, name: str) -> Refusal | None:
    """Return why slabs of this design cannot go to the pools without a lock, or None."""
    remote, release = design.row("remote"), design.row("release")
    if not remote.OWNED:
        words = f"pool: '{name}' cannot go with remote '{remote.NAME}', whose store has the lock already"
        return Refusal(words, ("pool", "remote"))
    if release.AGES:
        words = f"pool: '{name}' cannot go with release '{release.NAME}', whose age queue needs the lock"
        return Refusal(words, ("pool", "release"))
    return None
