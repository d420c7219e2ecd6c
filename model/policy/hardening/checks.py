"""Checks: what the heap's own records can tell of a wrong free is looked at; no decision and no address changes."""

import msgspec

from heapsmith.model.policy.emitted import Guard

NAME = "checks"
TAIL_BYTES = 0
LIVE_MAP = True
ENCODES_LINKS = True
CODE = Guard(frozenset({"hs_born"}), frozenset({"hs_dies"}))


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """Frees are held against the heap's records; links through free blocks are encoded."""


def why_not_valid(params: Params) -> str | None:
    """There is nothing to get wrong."""
    return None


def guard_slabs(slabs_per_superslab: int) -> int:
    """The slabs at the end of a superslab that are never handed out."""
    return 0
