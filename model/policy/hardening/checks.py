"""Checks: compare each free with the heap's records; no decision and no address changes."""

import msgspec

from heapsmith.model.compile.kernel import hit_path
from heapsmith.model.memory.state import State
from heapsmith.model.policy.emitted import Guard
from heapsmith.model.policy.hardening import live
from heapsmith.model.policy.hardening.live import live_lines

NAME = "checks"
RARE = True
RAISES = ("live_map",)
STOPS = True
TAIL_BYTES = 0
GUARDED = False
LIVE_MAP = True
ENCODES_LINKS = True
WITH = ("deletes/judged", "copies/judged", "hardening/bare", "hardening/misuse")
CODE = Guard(
    frozenset({"hs_born"}), frozenset({"hs_born_any"}), frozenset({"hs_dies"}), made=frozenset({"deletes_made"})
)
COSTS = {
    f"alloc.hardening.{NAME}": 7.97,
    f"alloc.hardening.{NAME}.large": 93.33,
    f"free.hardening.{NAME}": 8.22,
    f"call.realloc.{NAME}": 13.61,
}


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """Compare each free with the heap's records; encode the links through free blocks."""


dies_lines, map_is_released = live.marks_live, live.map_is_released


@hit_path
def born_lines(state: State, block: int, asked: int) -> None:
    """Touch what says that a small block is live."""
    live_lines(state, block, 1)
