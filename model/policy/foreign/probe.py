"""Probe: free() asks the system whether a block's page is mapped before it looks at its own data."""

from typing import Any

from heapsmith.model.policy.emitted import NOTHING, Question

NAME = "probe"
PROBES = True
TRUSTS = False
WITH = ("foreign/leak",)
CODE = Question(NOTHING, ("!foreign_ours(block)",), ("hs_free_large",), frozenset({"foreign_ours"}))
"""A system call: not counted."""
NUMBERS = ("free_probes",)


def numbers(design: Any) -> dict[str, int]:
    """Return the system calls of each free."""
    return {"free_probes": 1}
