"""No shards: one store and one transfer cache serve all heaps, under the pool lock."""

from typing import Any

NAME = "off"
DEFAULT = True
OFF = True
LOCKED: tuple[str, ...] = ()
CACHED: tuple[str, ...] = ()


def files(design: Any) -> dict[str, str]:
    """Return the headers of the row by what they are for."""
    return {"vacancies": "one_set"}


def copies(plan: Any) -> int:
    """Return how many stores each class has that all heaps share."""
    return 1


def count(plan: Any) -> int:
    """Return 0: there are no locks of shards."""
    return 0
