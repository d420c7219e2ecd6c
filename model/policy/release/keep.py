"""Keep: pages once touched are never given back to the OS while the program runs."""

import msgspec

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory.state import State

NAME = "keep"
BUDGETED = False


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """Pages are never given back."""


@kernel
def goes(state: State, aged_bytes: int, budget_bytes: int) -> bool:
    """Whether the oldest of an age queue with so many committed bytes gives its pages back."""
    return False


@kernel
def grown(state: State, budget_bytes: int, needed_again_bytes: int) -> int:
    """The budget after pages that had gone back were needed again: nobody asks for it."""
    return budget_bytes
