"""Pools of one thread each: a heap takes and gives its empty slabs alone. Only mapping takes the lock."""

from typing import Any

from heapsmith.model.errors import Refusal
from heapsmith.model.parts.locks import lock_pool
from heapsmith.model.policy.pool import common
from heapsmith.model.policy.pool.common import MAPPING, why_not_lock_free

NAME = "one_thread"
RARE = True
COSTS: dict[str, float] = {}  # of kinds that other rows have too
SWAPS = 1
LOCKED = MAPPING
NUMBERS = ("pool_swaps", "pool_own")


def why_not_with(design: Any) -> Refusal | None:
    """Return why the pools of this design are not of one thread each, or None."""
    if design.row("remote").OWNED and design.row("ownership").IN_RECORD:
        owns = design.row("ownership").NAME
        words = f"pool: '{NAME}' cannot go with ownership '{owns}', where heaps share the pools"
        return Refusal(words, ("pool", "ownership"))
    return why_not_lock_free(design, NAME)


def numbers(design: Any) -> dict[str, int]:
    """Return what the library leaves to one thread instead of locking."""
    return {"pool_swaps": 1, "pool_own": 1}


def files(design: Any) -> dict[str, str]:
    """Return the headers of the row by what they are for."""
    return {"lists": "alone", "superslabs": "in_turn"}


link, lock_new_slab, lock_pools = common.link, lock_pool, common.lock_pools
