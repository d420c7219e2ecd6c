"""Pools and superslabs without a lock: a new slab is claimed by a swap. Only mapping takes the lock."""

from typing import Any

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.errors import Refusal
from heapsmith.model.memory.state import State
from heapsmith.model.parts.locks import lock_pool
from heapsmith.model.policy.pool import common
from heapsmith.model.policy.pool.common import MAPPING, why_not_lock_free

NAME = "lock_free_claims"
RARE = True
COSTS: dict[str, float] = {}  # of kinds that other rows have too
SWAPS = 2
LOCKED = MAPPING
NUMBERS = ("pool_swaps", "pool_claims")


def why_not_with(design: Any) -> Refusal | None:
    """Return why slabs of this design cannot change hands without a lock, or None."""
    return why_not_lock_free(design, NAME)


def numbers(design: Any) -> dict[str, int]:
    """Return what the library swaps instead of locking."""
    return {"pool_swaps": 1, "pool_claims": 1}


def files(design: Any) -> dict[str, str]:
    """Return the headers of the row by what they are for."""
    return {"lists": "swaps", "superslabs": "claims"}


link, lock_mapping, lock_pools = common.link, lock_pool, common.lock_pools


@kernel
def end_is_read(state: State) -> bool:
    """Return False: the claim tells whether a slab is left."""
    return False
