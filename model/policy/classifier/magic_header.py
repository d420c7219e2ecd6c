"""Magic header: the byte before each block says by its upper bits that it is ours, by the others its class.

free() asks it before anything else, but where no byte before the pointer may be read: docs/machine-rooms.md.
"""

from typing import Any

from heapsmith.model.compile.kernel import hit_path
from heapsmith.model.constants import LEAST_PAGE
from heapsmith.model.errors import Refusal
from heapsmith.model.memory.branches import FREE_PAGED
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import branch
from heapsmith.model.parts.blocks import place_of
from heapsmith.model.policy.classifier.common import header_lines
from heapsmith.model.policy.emitted import NOTHING, Hit, Question

NAME = "magic_header"
BY_PAGE = True
RARE = True
RAISES = ("header_bytes", "bias")
HEADER_BYTES = 1
REGIONS = False
CLASS_MAP = False
PAGED = Question(NOTHING, ("!magic_at_page(block)",), ("hs_free_large",), frozenset({"magic_at_page", "magic_class"}))
CODE = Question(
    Hit(3, 0, 3),
    ("!magic_is_ours(block)",),
    ("hs_free_large",),
    frozenset({"magic_is_ours", "magic_class"}),
    ranged=2,
    goes_on=(("free_paged", PAGED),),
)
"""Loads: the header and the span's bounds. Branches: begins a page? one of the magic's bytes? block in the span?"""
TRUSTING = CODE._replace(hit=Hit(3, 0, 2), goes_on=())
"""Where no bounds are looked at."""
FIRST = Question(NOTHING, ("== 0",), ("free_paged",))
"""The first question of free(), in the place of one for the span."""
NUMBERS = ("header_magic", "magic_confirms")
"""header_magic: the byte before a block of the first class. magic_confirms: 1, free() asks for the span too."""
MAGIC = {32: 0xA0, 64: 0x80}
"""By the most classes of a design."""
COSTS = {  # estimates: those of a byte header, and what free() and classifier_class have more in the disassembly
    f"free.class.stack.{NAME}": 8.21,
    f"free.class.table.{NAME}": 8.71,
    f"free.class.restartable.{NAME}": 8.21,  # as for stacks
    f"take.{NAME}": 7.90,
    f"call.realloc.{NAME}": 4.43,
}


def why_not_with(design: Any) -> Refusal | None:
    """Return why free() cannot ask the header first: too many classes, or another question comes before it."""
    if (classes := len(design.classes())) > max(MAGIC):
        words = f"sizes: {classes} classes cannot go with classifier '{NAME}'; expected at most {max(MAGIC)}"
        return Refusal(words, ("sizes", "classifier"))
    if design.row("hardening").LIVE_MAP:
        words = f"classifier: '{NAME}' cannot go with hardening '{design.row('hardening').NAME}', "
        return Refusal(f"{words}which looks at no byte before it knows the block", ("classifier", "hardening"))
    if design.row("foreign").PROBES:
        words = f"classifier: '{NAME}' cannot go with foreign '{design.row('foreign').NAME}', "
        return Refusal(f"{words}which asks the system before any byte is read", ("classifier", "foreign"))
    return None


def numbers(design: Any) -> dict[str, int]:
    """Return the magic, and whether the span confirms it."""
    magic = next(byte for most, byte in MAGIC.items() if len(design.classes()) <= most)
    return {"header_magic": magic, "magic_confirms": int(not design.row("foreign").TRUSTS)}


def code(design: Any) -> Question:
    """Return what the emitted free asks."""
    return TRUSTING if design.row("foreign").TRUSTS else CODE


@hit_path
def first_look(state: State, block: int) -> None:
    """Follow the branch on whether the block begins a page."""
    if state.magic_confirms > 0:
        branch(state.listener, FREE_PAGED, int(place_of(state, block) & (LEAST_PAGE - 1) == 0))


@hit_path
def class_lines(state: State, block: int) -> None:
    """Touch the block's header for a read."""
    header_lines(state, block, 0)
