"""No prewarm: a front fills at its first refill, and a slab is acquired when a take needs it."""

from typing import Any

NAME = "off"
DEFAULT = True
OFF = True


def files(design: Any) -> dict[str, str]:
    """Return the headers of the row by what they are for."""
    return {"sparing": "sparing"}
