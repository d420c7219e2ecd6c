"""How many batches of each class the transfer cache may hold (docs/machine.md section 5)."""

from typing import Any

from heapsmith.model.constants import TRANSFER_BATCHES
from heapsmith.model.policy import front
from heapsmith.model.policy.front.common import FrontPlan, frees_alone_fill


def batches_of(design: Any, size: int) -> int:
    """Return how many flushed batches of the class of this block size may wait in the transfer cache.

    None for a class whose front no refill fills.
    """
    params = design.front_of(size)
    row = next(row for row in front.ROWS if row.Params is type(params))
    if frees_alone_fill(params) or design.row("remote").OWNED or not row.BATCHED:
        return 0
    plan: FrontPlan = row.derive(params, size)
    return min(TRANSFER_BATCHES, int(design.transfer_bytes) // (plan.flush * size))
