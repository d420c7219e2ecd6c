"""The policy tables: each row is a module that holds all that Python knows about its policy.

Each room is a package; its docstring lists the names that its rows have. Every row has NAME, the
word in a design file. One row of each table has DEFAULT: a design without a choice has that policy.
A row whose policy has numbers has Params, the struct that a design file fills, and
`why_not_valid(params)`. Where such a row has IS_WORD too, its name alone stands for the policy
without the numbers. Where the field of a table is a number, the row with ZERO is that of 0.
FIELD_STEPS are the step and the most of numbers that the design states for the row in fields of its
own. Any row may have `why_not_with(design)`: the reason, with the field's name, why a design cannot
combine this policy with its others, or None. A row whose C or kernels need more numbers than the
Plan has gives NUMBERS, their names, and `numbers(design)`, a dict: each is an enumerator in plan.h
(in capitals) and an attribute of the state. CLASS_NUMBERS and `class_numbers(design)`, a list by
class, are the same per size class: in C a table `hs_<name>`, in the model a field of the class.
CLASS_FIELDS and `class_fields(design)`, a list by class, are those that C has in struct class_plan.
Rows of one room may share such a name. A further class of a group of call sites has the numbers of
the class of its size; with SIZES_ALONE it has 0.
A row with RARE is left out of the event loop that simulates designs without any rare choice; RAISES
are numbers of the state that it alone raises above 0. RARE_NUMBERS of another row are those that
make a design rare where they are not 0. STATE has the fields that a row adds to arrays of the
state, with their first values, by the array's name, and REPORTED those of `classes` that the model
reports beside the counters; SLOTS are numbers that it keeps of each heap and class in `slots`,
`needs(plan)` what it needs of other arrays (model/parts/needs.py), `bounds(design)` what else
bounds loops, and `follow(simulator, chunk)` gives the simulator what else it must know of events.
What a row does, it answers to the questions and moments of model/parts. The search does not
offer a row with UNPRICED, whose worth the price does not know, and with `--cores` no row with
UNFOLLOWED, which has a lock that the model's clocks do not know. A row with kernels has COSTS:
instructions of libraries that GCC 12 builds at -O2 for x86-64, by the kind of event
(model/predict/cost.py), counted by `heapsmith calibrate` unless a comment says otherwise; a machine's
own counts go before. The place of a row in
its table is its code in the state.

Its C: a file of the runtime takes in the header of a room's row by `#include ROOM_ROW`; plan.h says
which that is. A row with `files(design)`, a dict of headers by role, also answers `#include ROOM_ROLE`.
WITH names files of other rooms that it needs. MOMENTS, or `moments(design)`, are the moments of the
machine that the row answers (templates/moments.h.j2), each by a function of the room's name and the
moment's, which the row's header declares, or that of the role `moments`. `heap_fields(design)` is
what it adds to struct heap, `locks(design)` how many numbered locks it has, LINK the options of
gcc that a shared library with it is linked with.
"""

import importlib
from collections.abc import Iterable, Mapping
from functools import cache
from types import ModuleType
from typing import Any

from heapsmith.model.compile.dispatch import bind, is_rare
from heapsmith.model.policy import (
    background,
    block_index,
    choice,
    classifier,
    counting,
    crash,
    empties,
    foreign,
    freed_blocks,
    front,
    growth,
    hardening,
    heaps,
    huge_cache,
    learner,
    lookup,
    opening,
    ownership,
    pool,
    populate,
    prewarm,
    release,
    remote,
    rounding,
    run_cache,
    sampling,
    segregation,
    shards,
    slab_record,
    thp,
    transfer,
    unmapping,
)

Table = tuple[ModuleType, ...]

TABLES: dict[str, Table] = {
    "front": front.ROWS,
    "classifier": classifier.ROWS,
    "slab_choice": choice.ROWS,
    "empties": empties.ROWS,
    "remote": remote.ROWS,
    "release": release.ROWS,
    "hardening": hardening.ROWS,
    "foreign": foreign.ROWS,
    "prewarm": prewarm.ROWS,
    "rounding": rounding.ROWS,
    "size_lookup": lookup.ROWS,
    "populate": populate.ROWS,
    "growth": growth.ROWS,
    "block_index": block_index.ROWS,
    "freed_blocks": freed_blocks.ROWS,
    "counting": counting.ROWS,
    "learner": learner.ROWS,
    "opening": opening.ROWS,
    "huge_cache": huge_cache.ROWS,
    "slab_record": slab_record.ROWS,
    "pool": pool.ROWS,
    "background": background.ROWS,
    "ownership": ownership.ROWS,
    "unmapping": unmapping.ROWS,
    "segregation": segregation.ROWS,
    "sampling": sampling.ROWS,
    "shards": shards.ROWS,
    "heaps": heaps.ROWS,
    "crash": crash.ROWS,
    "run_cache_bytes": run_cache.ROWS,
    "transfer_bytes": transfer.ROWS,
    "thp": thp.ROWS,
}
"""The rows of each field of a design that chooses a policy."""

NUMBERED = frozenset(field for field, rows in TABLES.items() if any(hasattr(row, "ZERO") for row in rows))
"""Those of which a number chooses: 0 the row with ZERO, any other the other row."""

NAMED = tuple(field for field in TABLES if field not in NUMBERED)
"""Those that name a policy."""

WITHOUT = "off"
"""In changes of a design: no choice of this field."""


NUMBERS, CLASS_NUMBERS, CLASS_FIELDS = (
    tuple(dict.fromkeys(name for rows in TABLES.values() for row in rows for name in getattr(row, names, ())))
    for names in ("NUMBERS", "CLASS_NUMBERS", "CLASS_FIELDS")
)
"""The names of the numbers that rows add to a Plan, and to each of its classes, the latter in tables or in its row."""


COSTS: dict[str, float] = {
    kind: cost for rows in TABLES.values() for row in rows for kind, cost in getattr(row, "COSTS", {}).items()
}
"""What rows ship of instructions per event of a kind."""


def _rare_numbers() -> tuple[str, ...]:
    rows = [row for table in TABLES.values() for row in table]
    rare = [row for row in rows if hasattr(row, "RARE")]
    others = {name for row in rows if row not in rare for name in getattr(row, "NUMBERS", ())}
    alone = [name for row in rare for name in (*getattr(row, "NUMBERS", ()), *getattr(row, "RAISES", ()))]
    names = [name for name in alone if name not in others]
    return tuple(dict.fromkeys([*names, *(name for row in rows for name in getattr(row, "RARE_NUMBERS", ()))]))


FIELD_STEPS: dict[str, tuple[int, int]] = {
    field: step for rows in TABLES.values() for row in rows for field, step in getattr(row, "FIELD_STEPS", {}).items()
}
"""Of numbers that a design states for rows: the step and the most, by the design's field."""

RARE_NUMBERS = _rare_numbers()
"""Numbers of the state that are 0 in each design without a rare choice."""

RARE_CODES = tuple(f"{table}_code" for table, rows in TABLES.items() if table != "front" and is_rare(rows))
"""The codes of tables of which such a design has the first row."""


def has_rare_choices(rows: Iterable[ModuleType], numbers: Mapping[str, int]) -> bool:
    """Return whether one of a design's rows is rare, or one of its numbers."""
    return any(hasattr(row, "RARE") for row in rows) or any(numbers.get(name) for name in RARE_NUMBERS)


def choosable(field: str) -> Table:
    """Return the modules whose names a design file may have in a field."""
    package = importlib.import_module(TABLES[field][0].__name__.rpartition(".")[0])
    return (*(row for row in TABLES[field] if not hasattr(row, "INNER")), *getattr(package, "SPELLINGS", ()))


def names(field: str) -> list[str]:
    """Return the names of a table's rows, in the order of their codes."""
    return [row.NAME for row in TABLES[field]]


@cache
def code(field: str, name: str) -> int:
    """Return the code of the row called `name` (ValueError if there is none)."""
    return names(field).index(name)


def row(field: str, name: str) -> ModuleType:
    """Return the row called `name` (ValueError if there is none)."""
    return TABLES[field][code(field, name)]


def row_of_number(field: str, number: int) -> ModuleType:
    """Return the row that a number chooses."""
    return next(row for row in TABLES[field] if hasattr(row, "ZERO") == (number == 0))


@cache
def default(field: str) -> ModuleType:
    """Return the row of a design that makes no choice."""
    return next(row for row in TABLES[field] if getattr(row, "DEFAULT", False))


UNSTATED: dict[str, tuple[Any, ...]] = {
    field: (row.NAME, *([row.Params()] if hasattr(row, "Params") else []))
    for field, row in ((field, default(field)) for field in TABLES)
    if hasattr(row, "OFF")
}
"""By field, the row that a design has without stating it: its name, and its numbers where it has some."""


def is_off(field: str, value: object) -> bool:
    """Say whether the value is WITHOUT, or the name of the row that a design has without stating it."""
    return field in UNSTATED and value in (WITHOUT, *UNSTATED[field])


def _fields(array: str) -> dict[str, int]:
    rows = [row for table in TABLES.values() for row in table]
    return {name: first for row in rows for name, first in getattr(row, "STATE", {}).get(array, {}).items()}


def state(array: str) -> tuple[str, ...]:
    """Return the fields that rows add to the records of an array of the state, or to its scalars."""
    return tuple(_fields(array))


def links(array: str) -> tuple[str, ...]:
    """Return those of them that are -1 in a new record, for they link to nothing."""
    return tuple(name for name, first in _fields(array).items() if first == -1)


SLOTTED = tuple(table for table, rows in TABLES.items() if any(hasattr(row, "SLOTS") for row in rows))
"""The tables of which a row keeps SLOTS numbers of each heap and class in `slots`."""

FIELDED = tuple(table for table, rows in TABLES.items() if any(hasattr(row, "heap_fields") for row in rows))
"""The tables of which a row adds fields to struct heap."""

bind(TABLES)
