"""Budget: empty slabs and free runs each keep some bytes of pages; the oldest give pages back.

The age queues are FIFOs: age is counted in bytes freed since, not in seconds.
"""

import msgspec

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.constants import BUDGET_GROWTH
from heapsmith.model.memory.state import State
from heapsmith.model.policy.release.common import Advice

NAME = "budget"
DEFAULT = True
AGES = True
BUDGETED = True
MAX_BUDGET = 1 << 44


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """The oldest empty slabs and free runs give their pages back to the OS.

    slab_budget_bytes: committed bytes that empty slabs keep; run_budget_bytes: committed bytes that
    free runs keep; most_budget_bytes: the limit of either budget as it grows when released pages
    are needed again; advice: dontneed releases pages at once (MADV_DONTNEED), free lets the OS take
    pages when it wants (MADV_FREE).
    """

    slab_budget_bytes: int = 4_194_304
    run_budget_bytes: int = 1_048_576
    most_budget_bytes: int = 67_108_864
    advice: Advice = "dontneed"


def why_not_valid(params: Params) -> str | None:
    """Return why these parameters make no release policy, or None."""
    for field in ("slab_budget_bytes", "run_budget_bytes", "most_budget_bytes"):
        value = getattr(params, field)
        if not 0 <= value <= MAX_BUDGET:
            return f"{field}: {value} is out of range; expected 0 to {MAX_BUDGET} bytes"
    return None


@kernel
def grown(state: State, budget_bytes: int, needed_again_bytes: int) -> int:
    """Return the budget after released pages were needed again."""
    return max(budget_bytes, min(budget_bytes + BUDGET_GROWTH * needed_again_bytes, state.most_budget_bytes))


@kernel
def goes(state: State, aged_bytes: int, budget_bytes: int, stamp: int, gone: int) -> bool:
    """Return whether the age queue exceeds its budget."""
    return aged_bytes > budget_bytes
