"""The policy tables: each row is one module; its place in the table is its code in the Plan.

A front module has NAME, Params (what a design states), `why_not_valid(params)` and `derive(params, stride)`; the other
policies have NAME and, where a design may set numbers, Params. All hold the model's side of docs/machine.md.
"""

from types import ModuleType

from heapsmith.model.policy.choice import address_ordered as choice_address_ordered
from heapsmith.model.policy.choice import hot_index as choice_hot_index
from heapsmith.model.policy.classifier import class_region as classifier_class_region
from heapsmith.model.policy.classifier import header as classifier_header
from heapsmith.model.policy.classifier import slab_map as classifier_slab_map
from heapsmith.model.policy.empties import dedicated as empties_dedicated
from heapsmith.model.policy.empties import shared as empties_shared
from heapsmith.model.policy.foreign import leak as foreign_leak
from heapsmith.model.policy.foreign import next as foreign_next
from heapsmith.model.policy.front import array_stack as front_array_stack
from heapsmith.model.policy.front import fifo_ring as front_fifo_ring
from heapsmith.model.policy.front import linked_list as front_linked_list
from heapsmith.model.policy.front import none as front_none
from heapsmith.model.policy.front import two_level as front_two_level
from heapsmith.model.policy.hardening import checks as hardening_checks
from heapsmith.model.policy.hardening import full as hardening_full
from heapsmith.model.policy.hardening import off as hardening_off
from heapsmith.model.policy.release import budget as release_budget
from heapsmith.model.policy.release import keep as release_keep
from heapsmith.model.policy.remote import local_cache as remote_local_cache
from heapsmith.model.policy.remote import owner_list as remote_owner_list

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
