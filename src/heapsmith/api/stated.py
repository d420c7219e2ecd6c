"""What is said of a parameter, once: docstrings, checks of arguments and the options of commands are made of it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, NamedTuple, Unpack, get_args, get_origin

import msgspec

from heapsmith.model.errors import BadInput


class Option(msgspec.Struct, frozen=True):
    """What stands in the `Annotated` type of a parameter.

    Of `help`, what is in brackets is for the command line alone, and {name} is another parameter.
    """

    help: str
    value: str = ""
    """The word for its value: FILE. Without one: the choices, or N."""
    flags: str = ""
    """Its names on the command line, where they are not --name: "-o --out"."""
    least: int | None = None
    """The least number that it may be."""
    default: Any = None
    """The default of an option in a TypedDict, which has no place for one."""
    usual: str = ""
    """In words, what holds without it."""


class Argument(Option, frozen=True):
    """The same for a parameter that has no flag on the command line. piped: - is standard input."""

    piped: bool = False


class Stated(NamedTuple):
    """A parameter: its type, what is said of it, and its default, which may be inspect.Parameter.empty."""

    kind: Any
    said: Option | None
    default: Any


class Unfit(BadInput):
    """Arguments that do not go together; the command line says its options in their place."""

    def __init__(self, names: tuple[str, ...], words: str) -> None:
        self.names, self.words = names, words
        super().__init__(f"{joined(names)}: {filled(words, str)}")


def stated(function: Callable[..., Any]) -> dict[str, Stated]:
    """Return the parameters of a function in order; in place of `**options`, those of their TypedDict."""
    function = inspect.unwrap(function)
    found: dict[str, Stated] = {}
    for name, one in inspect.signature(function).parameters.items():
        kind = evaluated(one.annotation, function.__globals__)
        if get_origin(kind) is Unpack:
            for option, inside in get_args(kind)[0].__annotations__.items():
                part = _parted(evaluated(inside.__forward_arg__, function.__globals__), None)
                found[option] = part._replace(default=part.said and part.said.default)
        elif one.kind is not one.VAR_KEYWORD:
            found[name] = _parted(kind, one.default)
    return found


_EVALUATED: dict[tuple[str, str], Any] = {}
"""By module and text: what is said of a parameter is one object, however often it is looked at."""


def evaluated(annotation: Any, names: dict[str, Any]) -> Any:
    """Return the type of an annotation; Any of one whose names only type checkers import."""
    if not isinstance(annotation, str):
        return Any
    key = names["__name__"], annotation
    try:
        return _EVALUATED[key] if key in _EVALUATED else _EVALUATED.setdefault(key, eval(annotation, names))
    except (NameError, AttributeError):
        return Any


def _parted(kind: Any, default: Any) -> Stated:
    if get_origin(kind) is not Annotated:
        return Stated(kind, None, default)
    return Stated(kind.__origin__, next((one for one in kind.__metadata__ if isinstance(one, Option)), None), default)


def defaults(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the defaults of a function's parameters but for None, which leaves the choice to the function."""
    absent = (None, inspect.Parameter.empty)
    return {name: one.default for name, one in stated(function).items() if one.default not in absent}


def documented(doc: str | None, parameters: Mapping[str, Stated]) -> str | None:
    """Return a docstring with what is said of the parameters, before its example."""
    lines = [f":param {name}: {in_python(one.said)}" for name, one in parameters.items() if one.said]
    if doc is None or not lines:
        return doc
    text, example, rest = inspect.cleandoc(doc).partition("\n\n>>> ")
    return f"{text}\n\n{chr(10).join(lines)}{example}{rest}"


def in_python(said: Option) -> str:
    """Return the help of a parameter in a docstring."""
    help, usual = filled(re.sub(r"\[[^]]*\]", "", said.help), "`{}`".format), said.usual or said.default
    return f"{help} Default: {usual}." if usual else help


def filled(words: str, name: Callable[[str], str]) -> str:
    """Return words with the names of parameters in place of {name}."""
    return re.sub(r"\{(\w+)\}", lambda found: name(found[1]), words)


def joined(names: tuple[str, ...]) -> str:
    """Return names as in a sentence."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
