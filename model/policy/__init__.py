"""The policy tables: each row is one module; its place in the table is its code in the Plan.

A front module has NAME, Params (what a design states), `why_not_valid(params)` and `derive(params, stride)`; the other
policies have NAME and, where a design may set numbers, Params. All hold the model's side of docs/machine.md.
"""

from types import ModuleType

from heapsmith.model.policy import (
    choice_address_ordered,
    choice_hot_index,
    classifier_class_region,
    classifier_header,
    classifier_slab_map,
    empties_dedicated,
    empties_shared,
    foreign_leak,
    foreign_next,
    front_array_stack,
    front_fifo_ring,
    front_linked_list,
    front_none,
    front_two_level,
    hardening_checks,
    hardening_full,
    hardening_off,
    release_budget,
    release_keep,
    remote_local_cache,
    remote_owner_list,
)

FRONTS: tuple[ModuleType, ...] = (front_none, front_array_stack, front_fifo_ring, front_linked_list, front_two_level)
CLASSIFIERS: tuple[ModuleType, ...] = (classifier_slab_map, classifier_class_region, classifier_header)
SLAB_CHOICES: tuple[ModuleType, ...] = (choice_hot_index, choice_address_ordered)
EMPTIES: tuple[ModuleType, ...] = (empties_shared, empties_dedicated)
REMOTES: tuple[ModuleType, ...] = (remote_local_cache, remote_owner_list)
RELEASES: tuple[ModuleType, ...] = (release_keep, release_budget)
HARDENINGS: tuple[ModuleType, ...] = (hardening_off, hardening_checks, hardening_full)
FOREIGNS: tuple[ModuleType, ...] = (foreign_leak, foreign_next)


def names(table: tuple[ModuleType, ...]) -> list[str]:
    """The names of a table's rows, in the order of their codes."""
    return [row.NAME for row in table]


def code(table: tuple[ModuleType, ...], name: str) -> int:
    """The code of the row called `name` (ValueError if there is none)."""
    return names(table).index(name)


def row(table: tuple[ModuleType, ...], name: str) -> ModuleType:
    """The row called `name` (ValueError if there is none)."""
    return table[code(table, name)]
