"""Checks: what the heap's own records can tell of a wrong free is looked at; no decision and no address changes."""

import msgspec

from heapsmith.model.policy.emitted import Guard

NAME = "checks"
TAIL_BYTES = 0
GUARDED = False
LIVE_MAP = True
ENCODES_LINKS = True
CODE = Guard(frozenset({"hs_born"}), frozenset({"hs_dies"}))


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """Frees are held against the heap's records; links through free blocks are encoded."""
