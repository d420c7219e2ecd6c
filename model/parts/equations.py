"""Equations of docs/machine.md, as checks state them."""

import numpy as np

from heapsmith.model.compile.kernel import Records
from heapsmith.model.errors import CheckFailed


def equal(what: str, found: object, expected: object) -> None:
    """Raise CheckFailed if what was found is not what was expected."""
    if found != expected:
        raise CheckFailed(f"machine: {what}: {found}, expected {expected}")


def fifo(what: str, records: Records, ends: np.void) -> list[int]:
    """Return the members of a FIFO, oldest first; check both directions and both ends."""
    members, item, before = [], int(ends["oldest"]), -1
    while item >= 0:
        equal(f"{what}: older than {item}", int(records[item]["older"]), before)
        members.append(item)
        item, before = int(records[item]["newer"]), item
    equal(f"{what}: newest", int(ends["newest"]), before)
    return members
