"""Trust: free() looks at no pointer; each is a block of this heap. For benchmarks alone."""

from typing import Any

from heapsmith.model.policy.emitted import NOTHING, Question

NAME = "trust"
PROBES = False
TRUSTS = True
WITH = ("leak",)
CODE = Question(NOTHING, ("== 0",), ("foreign_free_paged",))
"""Branch, as in a comparison with the span's end: does the block begin a page?"""


def why_not_with(design: Any) -> str | None:
    """Return why a design cannot trust each free: its hardening does not."""
    hardening = design.row("hardening")
    if not hardening.LIVE_MAP:
        return None
    return f"foreign: '{NAME}' cannot go with hardening '{hardening.NAME}', which looks at each free; expected 'leak'"
