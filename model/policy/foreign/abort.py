"""Abort: a pointer that no allocator can have made ends the program with one line. It needs hardening.

Where the next library has blocks, or does not tell, a pointer goes there.
"""

from typing import Any

from heapsmith.model.errors import Refusal
from heapsmith.model.policy.emitted import SPAN_FIRST

NAME = "abort"
PROBES = False
TRUSTS = False
CODE = SPAN_FIRST


def why_not_with(design: Any) -> Refusal | None:
    """Return why a design cannot stop at a foreign pointer: its hardening stops at nothing."""
    hardening = design.row("hardening")
    if hardening.STOPS:
        return None
    words = f"foreign: '{NAME}' cannot go with hardening '{hardening.NAME}', which stops no program; expected 'next'"
    return Refusal(words, ("foreign", "hardening"))
