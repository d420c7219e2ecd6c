"""Arguments of the Python interface: one of a wrong type is named, with what was expected, before any work."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import wraps
from numbers import Integral, Real
from types import UnionType
from typing import IO, Any, Literal, ParamSpec, Protocol, TypeVar, Union, get_args, get_origin, runtime_checkable

P = ParamSpec("P")
R = TypeVar("R")


@runtime_checkable
class _File(Protocol):
    def fileno(self) -> int: ...


_KINDS: dict[Any, Any] = {int: Integral, float: Real, bool: object, Sequence: Collection, Literal: str, IO: _File}
"""What does for a type: numpy's numbers for Python's, an array for a sequence. Functions check literals themselves."""


def typed(function: Callable[P, R]) -> Callable[P, R]:
    """Return the function with a check of its arguments, which raises TypeError."""
    signature, called = inspect.signature(function), function.__qualname__.removesuffix(".__init__")

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError:
            return function(*args, **kwargs)  # Python says what is wrong with such a call
        for name, value, kind in _arguments(signature, given, function.__globals__):
            if not _fits(value, kind):
                raise TypeError(f"{called}: {name}: expected {_shown(kind)}, got {value!r:.60}")
        return function(*args, **kwargs)

    return checked


def _arguments(
    signature: inspect.Signature, given: Mapping[str, Any], names: dict[str, Any]
) -> Iterator[tuple[str, Any, Any]]:
    """Yield name, value and type of the arguments, and of the options of a TypedDict."""
    for name, value in given.items():
        kind = _evaluated(signature.parameters[name].annotation, names)
        if signature.parameters[name].kind is not inspect.Parameter.VAR_KEYWORD:
            yield name, value, kind
        elif get_args(kind):
            options = get_args(kind)[0].__annotations__
            for option in value.keys() & options:
                yield option, value[option], _evaluated(options[option].__forward_arg__, names)


def _evaluated(annotation: Any, names: dict[str, Any]) -> Any:
    """Return the type of an annotation; Any of one whose names only type checkers import."""
    try:
        return eval(annotation, names) if isinstance(annotation, str) else Any
    except (NameError, AttributeError):
        return Any


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
