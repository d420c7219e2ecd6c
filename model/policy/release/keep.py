"""Keep: touched pages never go back to the OS while the program runs."""

from typing import Any

import msgspec

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory.state import State

NAME = "keep"
AGES = False
BUDGETED = False
COSTS = {
    f"slab.retire.{NAME}": 0.00,
}


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """Pages never go back to the OS."""


@kernel
def goes(state: State, aged_bytes: int, budget_bytes: int, least_bytes: int, stamp: int, gone: int) -> bool:
    """Return False: no pages go back."""
    return False


@kernel
def grown(state: State, budget_bytes: int, needed_again_bytes: int) -> int:
    """Return the same budget: no pages are ever needed again."""
    return budget_bytes


def files(design: Any) -> dict[str, str]:
    """Return the headers of the row by what they are for."""
    return {"limit": "no_limit", "clock": "no_clock"}
