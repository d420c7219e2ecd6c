"""No learner: each front keeps the capacity that the design states."""

from typing import Any

NAME = "off"
DEFAULT = True
OFF = True


def files(design: Any) -> dict[str, str]:
    """Return the headers of the row by what they are for."""
    return {"capacity": "stated"}


def most_capacity(front: Any, numbers: dict[str, int]) -> int | None:
    """Return None: the capacity of no front changes."""
    return None
