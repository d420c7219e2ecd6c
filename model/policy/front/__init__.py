"""Fronts: where a thread keeps the free blocks of a class (docs/machine-rooms.md).

A row has Params, `derive(params, stride)` (a FrontPlan), LEVELS, IS_STACK, BATCHED, CODE
(model/policy/emitted.py), and answers to questions (model/parts/front_questions.py), most of which have a
default here. SINGLE, if it has it, says that single blocks go between its levels. A row with INNER is in no
design file: a module with SPELLS is, which has the Params of such rows, and `row_of(params)` says which serves.
"""

from types import ModuleType
from typing import Any

import msgspec

from heapsmith.model.compile.dispatch import rows_of, spellings_of
from heapsmith.model.policy.front import common

ROWS = rows_of(__name__, __path__)
SPELLINGS = spellings_of(__name__, __path__)
NEEDED = ("LEVELS", "IS_STACK", "BATCHED", "Params", "derive", "push", "push_lines", "drain")
"""What each row has."""
NO_FRONT = next(row for row in ROWS if row.LEVELS == 0)

DEFAULTS = {
    "pop": common.stack_pop,
    "fill": common.stack_fill,
    "pop_lines": common.stack_pop_lines,
    "look_lines": common.look_lines,
    "fill_lines": common.stack_fill_lines,
    "overflow_lines": common.overflow_lines,
    "drain_lines": common.stack_drain_lines,
}
"""The answers of rows that give none: those of a level 0 that is a stack."""


def speller_of(params: msgspec.Struct) -> ModuleType:
    """Return the module that has these Params."""
    return next(one for one in (*ROWS, *SPELLINGS) if getattr(one, "Params", None) is type(params))


def is_guarded(design: Any) -> bool:
    """Return whether pages that no access may touch bound the arrays of a design's fronts."""
    return any(getattr(row_of(design.front_of(size)), "GUARDED", False) for size in design.sizes)


def row_of(params: msgspec.Struct) -> ModuleType:
    """Return the row that serves where a design has these Params."""
    speller = speller_of(params)
    row: ModuleType = speller.row_of(params) if hasattr(speller, "SPELLS") else speller
    return row
