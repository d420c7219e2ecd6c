"""Arguments of the Python interface: one of a wrong type is named, with what was expected, before any work."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Collection, Sequence
from functools import wraps
from numbers import Integral, Real
from types import UnionType
from typing import IO, Any, Literal, ParamSpec, Protocol, TypeVar, Union, get_args, get_origin, runtime_checkable

from heapsmith.api.stated import Stated, documented, stated
from heapsmith.model.errors import BadInput

P = ParamSpec("P")
R = TypeVar("R")


@runtime_checkable
class _File(Protocol):
    def fileno(self) -> int: ...


_KINDS: dict[Any, Any] = {int: Integral, float: Real, bool: object, Sequence: Collection, Literal: str, IO: _File}
"""What does for a type: numpy's numbers for Python's, an array for a sequence. Functions check literals themselves."""


def typed(function: Callable[P, R]) -> Callable[P, R]:
    """Return the function with a check of its arguments, and with what is said of its parameters in its docstring.

    The check raises TypeError for a wrong type, and BadInput for a number below the least.
    """
    signature, called = inspect.signature(function), function.__qualname__.removesuffix(".__init__")

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError:
            return function(*args, **kwargs)  # Python says what is wrong with such a call
        parameters = stated(function)
        for name, value in [*given.items(), *given.get("options", {}).items()]:
            if name in parameters:
                _check(called, name, value, parameters[name])
        return function(*args, **kwargs)

    shown = stated(function)
    checked.__doc__ = documented(function.__doc__, shown)
    plain = {name: one.kind for name, one in shown.items() if one.said and name in signature.parameters}
    checked.__annotations__ = function.__annotations__ | plain
    parameters = [one.replace(annotation=plain.get(name, one.annotation)) for name, one in signature.parameters.items()]
    checked.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return checked


def _check(called: str, name: str, value: Any, parameter: Stated) -> None:
    if not _fits(value, parameter.kind):
        raise TypeError(f"{called}: {name}: expected {_shown(parameter.kind)}, got {value!r:.60}")
    least = parameter.said.least if parameter.said else None
    numbers = value if isinstance(value, Collection) else [value]
    if least is not None and (low := [one for one in numbers if one is not None and one < least]):
        raise BadInput(f"{name}: expected at least {least}, not {low[0]}")


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value is of a type; items of an iterator are not looked at."""
    origin, inside = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return any(_fits(value, one) for one in inside)
    if kind is Any or origin is Callable:
        return kind is Any or callable(value)
    if not isinstance(value, _KINDS.get(origin or kind, origin or kind)):
        return False
    if origin is tuple:
        return len(value) == len(inside) and all(map(_fits, value, inside))
    if origin in (None, Literal, IO, os.PathLike) or isinstance(value, str) or not isinstance(value, Collection):
        return True
    return all(_fits(one, inside[0]) for one in value)


def _shown(kind: Any) -> str:
    """Return a type without the modules of its names."""
    if get_origin(kind) in (Union, UnionType):
        return " | ".join(map(_shown, get_args(kind)))
    name = kind.__name__ if isinstance(kind, type) else str(kind)
    return re.sub(r"\w+\.|(?<=None)Type", "", name)
