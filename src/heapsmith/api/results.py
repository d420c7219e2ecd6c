"""Results of the Python interface: numbers as attributes, plain values, JSON, and frames of pandas and polars."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, overload

import msgspec

from heapsmith.api.typed import typed
from heapsmith.model.errors import BadInput, Missing
from heapsmith.model.files import json_text

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

Say = Callable[[str], None]
Progress = Callable[[str, int, int], None]
"""Called as progress(what, done, total) during long work."""

FRAMES = ("pandas", "polars")


class Result(ABC):
    """What a function found."""

    details: Any
    """All of it as typed structs, with the fields of `to_dict`."""

    def __init__(self, details: Any) -> None:
        self.details = details

    def __repr__(self) -> str:
        return f"<heapsmith {type(self).__name__}: show() prints it, to_frame() has it as a table>"

    @abstractmethod
    def show(self) -> None:
        """Print the result as the command of the same name does."""

    def _rows(self) -> Iterable[Any]:
        """Return the structs that are the rows of `to_frame`."""
        return [self.details]

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values: what the command prints with --json."""
        found: dict[str, Any] = msgspec.to_builtins(self.details, str_keys=True)
        return found

    def to_json(self) -> str:
        """Return the result as the command prints it with --json."""
        return json_text(self.details)

    @overload
    def to_frame(self, library: Literal["pandas"] = "pandas") -> pd.DataFrame: ...

    @overload
    def to_frame(self, library: Literal["polars"]) -> pl.DataFrame: ...

    @typed
    def to_frame(self, library: str = "pandas") -> Any:
        """Return the result as a frame of "pandas" or "polars".

        The columns are the fields of `to_dict` that are a number, a text or a truth value; a dot joins
        the names of nested fields, and lists are left out. Raises Missing without the library, and
        BadInput for the name of another.
        """
        return frame([dict(flat(msgspec.to_builtins(row, str_keys=True))) for row in self._rows()], library)


def flat(fields: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the scalars of nested mappings by dotted name."""
    for name, value in fields.items():
        if isinstance(value, dict):
            yield from flat(value, f"{above}{name}.")
        elif not isinstance(value, list):
            yield f"{above}{name}", value


def frame(content: Any, library: str) -> Any:
    """Return a DataFrame of rows or columns; Missing without the library, BadInput for the name of another."""
    return frames_of(library).DataFrame(content)


def frames_of(library: str) -> Any:
    """Return the module of a library for frames; raises as `frame` does."""
    if library not in FRAMES:
        raise BadInput(f"library: {library!r}; expected 'pandas' or 'polars'")
    if find_spec(library) is None:
        raise Missing(f"{library} is not installed: pip install {library}")
    return import_module(library)
