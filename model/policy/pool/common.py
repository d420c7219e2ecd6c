"""What pools without a lock have in common: the designs that cannot have them."""

from typing import Any

from heapsmith.model.compile.kernel import hit_path, kernel
from heapsmith.model.errors import Refusal
from heapsmith.model.memory import layout
from heapsmith.model.memory.state import State

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


@hit_path
def link(state: State) -> int:
    """Return where a record has the link that is swapped."""
    return layout.SLAB_OLDER


@kernel
def lock_pools(state: State) -> None:
    """Take no lock: slabs go to the pools and come back without one."""
