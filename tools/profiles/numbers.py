"""Numbers of things in the order in which they come: the tables of strings, functions and frames of profiles."""

from collections.abc import Hashable
from typing import TypeVar

Thing = TypeVar("Thing", bound=Hashable)


class Numbers(dict[Thing, int]):
    """Looked up, a thing that is new gets the next number; iterated, things come in the order of their numbers."""

    def __init__(self, first: int = 0) -> None:
        super().__init__()
        self._first = first

    def __missing__(self, thing: Thing) -> int:
        self[thing] = self._first + len(self)
        return self[thing]
