"""Counting "everything": the hit path too, and locks and system calls."""

from typing import Any

NAME = "everything"
MOMENTS = ("report",)
COUNTS_HITS = True
NUMBERS = ("counts_everything",)


def numbers(design: Any) -> dict[str, int]:
    """Return the flag by which the runtime counts everything."""
    return {"counts_everything": 1}
