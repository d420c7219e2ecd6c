"""Pools without a lock: each is a LIFO whose head is swapped. Only a new slab takes the lock."""

from typing import Any

from heapsmith.model.errors import Refusal
from heapsmith.model.parts.locks import lock_pool
from heapsmith.model.policy.pool import common
from heapsmith.model.policy.pool.common import MAPPING, why_not_lock_free

NAME = "lock_free_lists"
RARE = True
COSTS: dict[str, float] = {}  # of kinds that other rows have too
SWAPS = 1
LOCKED = MAPPING
NUMBERS = ("pool_swaps",)


def why_not_with(design: Any) -> Refusal | None:
    """Return why slabs of this design cannot change hands without a lock, or None."""
    return why_not_lock_free(design, NAME)


def numbers(design: Any) -> dict[str, int]:
    """Return what the library swaps instead of locking."""
    return {"pool_swaps": 1}


def files(design: Any) -> dict[str, str]:
    """Return the headers of the row by what they are for."""
    return {"lists": "swaps", "superslabs": "in_turn"}


link, lock_new_slab, lock_pools = common.link, lock_pool, common.lock_pools
