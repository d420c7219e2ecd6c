"""No front: every allocation takes one block from the store, every free gives one back."""

import msgspec

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory.state import State
from heapsmith.model.policy.front.common import FrontPlan

NAME = "none"
IS_STACK = False


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """No front: every allocation goes to the store."""


def why_not_valid(params: Params) -> str | None:
    """There is nothing to get wrong."""
    return None


def derive(params: Params, stride: int) -> FrontPlan:
    """The plan of a class without a front."""
    return FrontPlan(NAME)


@kernel
def push(state: State, cls: int, block: int) -> int:
    """Free: `block` goes straight to the store."""
    state.classes[cls]["direct"] += 1
    state.moved[0] = block
    return 1
