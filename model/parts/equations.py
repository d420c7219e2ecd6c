"""Equations of docs/machine.md, as checks state them."""

from heapsmith.model.errors import CheckFailed


def equal(what: str, found: object, expected: object) -> None:
    """Raise CheckFailed if what was found is not what was expected."""
    if found != expected:
        raise CheckFailed(f"machine: {what}: {found}, expected {expected}")
