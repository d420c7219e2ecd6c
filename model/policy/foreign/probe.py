"""Probe: free() asks the system whether a block's page is mapped before it looks at its own data."""

from typing import Any

from heapsmith.model.compile.kernel import hit_path
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import NONE, SINK
from heapsmith.model.policy.emitted import NOTHING, Question

NAME = "probe"
RARE = True
COSTS: dict[str, float] = {}  # of kinds that other rows have too
PROBES = True
TRUSTS = False
WITH = ("foreign/leak",)
CODE = Question(NOTHING, ("!foreign_ours(block)",), ("hs_free_large",), frozenset({"foreign_ours"}))
"""A system call: not counted."""
NUMBERS = ("free_probes",)


def numbers(design: Any) -> dict[str, int]:
    """Return the system calls of each free."""
    return {"free_probes": 1}


@hit_path
def looks_at(state: State, block: int) -> None:
    """Count the system call that asks for the block's page."""
    if SINK != NONE:
        state.probes += 1
