"""What the emitted comments claim of the hit paths; `heapsmith verify` holds each against the compiler's output."""

from typing import NamedTuple

from heapsmith.model.plan import ClassPlan, Plan


class Hit(NamedTuple):
    """Machine instructions of one hit path that read memory, write it, and branch on a condition."""

    loads: int
    stores: int
    branches: int

    def __str__(self) -> str:
        return f"{self.loads} loads, {self.stores} stores, {self.branches} branches"


FRONT_HITS: dict[str, tuple[Hit, Hit]] = {
    "array_stack": (Hit(4, 1, 1), Hit(3, 2, 1)),
    "fifo_ring": (Hit(5, 2, 1), Hit(4, 2, 1)),
    "linked_list": (Hit(5, 2, 1), Hit(4, 3, 1)),
    "two_level": (Hit(4, 1, 1), Hit(3, 2, 1)),
}
"""Allocate and free per front, with local-exec addressing of the one thread-local pointer through the GOT."""


def hits(plan: Plan, row: ClassPlan) -> tuple[Hit, Hit] | None:
    """The claimed hit paths (allocate, free) of a class; None for a class without a front."""
    if row.front.kind not in FRONT_HITS:
        return None
    allocate, free = FRONT_HITS[row.front.kind]
    if plan.header_bytes:
        allocate = allocate._replace(stores=allocate.stores + 1)
    return allocate, free
