"""Checks: compare each free with the heap's records; no decision and no address changes."""

import msgspec

from heapsmith.model.policy.emitted import Guard
from heapsmith.model.policy.hardening import live

NAME = "checks"
RARE = True
RAISES = ("live_map",)
STOPS = True
TAIL_BYTES = 0
GUARDED = False
LIVE_MAP = True
ENCODES_LINKS = True
WITH = ("deletes/judged", "copies/judged", "hardening/bare", "hardening/misuse")
CODE = Guard(frozenset({"hs_born"}), frozenset({"hs_born_any"}), frozenset({"hs_dies"}))
COSTS = {
    f"alloc.hardening.{NAME}": 7.97,
    f"alloc.hardening.{NAME}.large": 93.33,
    f"free.hardening.{NAME}": 8.22,
    f"call.realloc.{NAME}": 13.61,
}


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """Compare each free with the heap's records; encode the links through free blocks."""


live_lines, map_is_released = live.live_lines, live.map_is_released
born_lines = dies_lines = live.marks_live
