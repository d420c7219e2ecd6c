"""Trust: free() looks at no pointer; each is a block of this heap. For benchmarks alone."""

from typing import Any

from heapsmith.model.compile.kernel import hit_path
from heapsmith.model.constants import LEAST_PAGE
from heapsmith.model.errors import Refusal
from heapsmith.model.memory.branches import FREE_PAGED
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import branch
from heapsmith.model.parts.blocks import place_of
from heapsmith.model.policy.emitted import NOTHING, Question

NAME = "trust"
BY_PAGE = True
RARE = True
COSTS: dict[str, float] = {}  # of kinds that other rows have too
PROBES = False
TRUSTS = True
WITH = ("foreign/leak",)
CODE = Question(NOTHING, ("== 0",), ("foreign_free_paged",))
"""Branch, as in a comparison with the span's end: does the block begin a page?"""
NUMBERS = ("free_paged",)
"""free_paged: 1, each free asks this branch, whose outcome is the block's address
(model/memory/branches.py).
"""


def numbers(design: Any) -> dict[str, int]:
    """Return that each free asks."""
    return {"free_paged": 1}


def why_not_with(design: Any) -> Refusal | None:
    """Return why a design cannot trust each free: its hardening does not."""
    hardening = design.row("hardening")
    if not hardening.STOPS:
        return None
    words = f"foreign: '{NAME}' cannot go with hardening '{hardening.NAME}', which looks at each free; expected 'next'"
    return Refusal(words, ("foreign", "hardening"))


@hit_path
def looks_at(state: State, block: int) -> None:
    """Follow the branch on whether the block begins a page."""
    branch(state.listener, FREE_PAGED, int(place_of(state, block) & (LEAST_PAGE - 1) == 0))
