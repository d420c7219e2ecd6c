"""Off: an array stack keeps blocks from its first miss or free on."""

from typing import Any

NAME = "off"
DEFAULT = True
OFF = True


def files(design: Any) -> dict[str, str]:
    """Return the header of where the slots of a stack are."""
    return {"slots": "wide"}


def slots_before(design: Any) -> int:
    """Return the slots of a heap before those of its first class."""
    return 0
