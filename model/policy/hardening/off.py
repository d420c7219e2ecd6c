"""Off: no misuse is looked for; the heap trusts the program."""

import msgspec

from heapsmith.model.policy.emitted import NO_CALLS, Guard

NAME = "off"
DEFAULT = True
TAIL_BYTES = 0
LIVE_MAP = False
ENCODES_LINKS = False
CODE = Guard(NO_CALLS, NO_CALLS)


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """Nothing is looked for."""


def why_not_valid(params: Params) -> str | None:
    """There is nothing to get wrong."""
    return None


def guard_slabs(slabs_per_superslab: int) -> int:
    """The slabs at the end of a superslab that are never handed out."""
    return 0
