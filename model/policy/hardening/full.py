"""Full: checks, a canary behind each block, a guard slab per superslab, and a quarantine."""

import msgspec

from heapsmith.model.policy.emitted import Guard

NAME = "full"
TAIL_BYTES = 8
GUARDED = True
LIVE_MAP = True
ENCODES_LINKS = True
MAX_QUARANTINE = 4096
WITH = ("deletes/judged", "copies/judged")
CODE = Guard(
    frozenset({"hs_hand_out"}),
    frozenset({"hs_hand_out_any"}),
    frozenset({"hs_take_back", "hs_heap_of", "hs_exchanged"}),
)
COSTS = {
    f"alloc.hardening.{NAME}": 44.64,
    f"alloc.hardening.{NAME}.large": 168.18,
    f"free.hardening.{NAME}": 89.33,
    f"call.realloc.{NAME}": 37.74,
}


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """All checks, canaries and guards.

    quarantine: freed small blocks that a heap holds back; the oldest block leaves first; 0: none.
    """

    quarantine: int = 64


def why_not_valid(params: Params) -> str | None:
    """Return why these parameters make no hardening, or None."""
    if not 0 <= params.quarantine <= MAX_QUARANTINE:
        return f"quarantine: {params.quarantine} is out of range; expected 0 to {MAX_QUARANTINE} blocks"
    return None
