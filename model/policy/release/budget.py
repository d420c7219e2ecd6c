"""Budget: empty slabs and free runs keep so many bytes of pages each; beyond it the oldest give theirs back.

The age queues are FIFOs: age is counted in bytes freed since, not in seconds.
"""

import msgspec

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.constants import BUDGET_GROWTH
from heapsmith.model.memory.state import State
from heapsmith.model.policy.release.common import Advice

NAME = "budget"
DEFAULT = True
BUDGETED = True
MAX_BUDGET = 1 << 44


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """Pages of the oldest empty slabs and free runs go back to the OS.

    slab_budget_bytes: committed bytes that empty slabs may keep; run_budget_bytes: that free runs may keep;
    most_budget_bytes: what either grows to at most as pages that went back are needed again; advice: dontneed takes
    pages at once (MADV_DONTNEED), free lets the system take them when it wants (MADV_FREE).
    """

    slab_budget_bytes: int = 4_194_304
    run_budget_bytes: int = 1_048_576
    most_budget_bytes: int = 67_108_864
    advice: Advice = "dontneed"


def why_not_valid(params: Params) -> str | None:
    """The reason why these parameters make no release policy, or None."""
    for field in ("slab_budget_bytes", "run_budget_bytes", "most_budget_bytes"):
        value = getattr(params, field)
        if not 0 <= value <= MAX_BUDGET:
            return f"{field}: {value} is out of range; expected 0 to {MAX_BUDGET} bytes"
    return None


@kernel
def grown(state: State, budget_bytes: int, needed_again_bytes: int) -> int:
    """The budget after pages that had gone back were needed again."""
    return max(budget_bytes, min(budget_bytes + BUDGET_GROWTH * needed_again_bytes, state.most_budget_bytes))


@kernel
def goes(state: State, aged_bytes: int, budget_bytes: int) -> bool:
    """Whether the oldest of an age queue with so many committed bytes gives its pages back."""
    return aged_bytes > budget_bytes
