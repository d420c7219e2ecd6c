"""Commands and their options: what is said of a parameter (api/stated.py) as arguments and options of typer."""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import wraps
from types import NoneType
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

import typer
from typer.core import TyperCommand
from typer.models import CommandFunctionType

from heapsmith.api.stated import Argument, Option, Stated, Unfit, filled, joined, stated
from heapsmith.commands import standard
from heapsmith.model.errors import BadInput

R = TypeVar("R")
Given = dict[str, Any]
"""What the options of a function say, by the names of its parameters; without those that nobody gave."""
Read = Callable[[str, Any], Any]
"""Makes the value of a parameter of the words of its option, whose name it gets first."""
READERS = "readers"
"""The attribute of a command with the Read of each parameter that has one, and the name of its option."""


def parameter_records(command: Any, ctx: Any) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield the title of the arguments, then of the options of a command, if it has any, with their names and help."""
    for title, kind in (("Arguments", "argument"), ("Options", "option")):
        parameters = [parameter for parameter in command.get_params(ctx) if parameter.param_type_name == kind]
        records = [record for parameter in parameters if (record := parameter.get_help_record(ctx))]
        if records:
            yield title, [(name.partition(" <")[0], said) for name, said in records]


class _Command(TyperCommand):
    """A command whose help names arguments by their metavar alone; typer adds the name of the type in Python."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then the options."""
        for title, records in parameter_records(self, ctx):
            with formatter.section(title):
                formatter.write_dl(records)


class WithProgram(_Command):
    """A command whose words behind -- are a program, apart from its arguments; `program` has them."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Keep the words behind the first --, and parse those before it."""
        at = args.index("--") if "--" in args else len(args)
        ctx.meta[WithProgram.__name__] = args[at + 1 :]
        return super().parse_args(ctx, args[:at])


def program(ctx: typer.Context) -> list[str]:
    """The words behind the -- of a WithProgram; none without it."""
    found: list[str] = ctx.meta[WithProgram.__name__]
    return found


COMMAND_LINE = {"allow_interspersed_args": False}
"""Settings of commands that take CMD: all words after CMD belong to it."""


class Commands(typer.Typer):
    """A group of commands, each a _Command unless it names another class."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(rich_markup_mode=None, **settings)

    def command(self, name: str | None = None, **settings: Any) -> Callable[[CommandFunctionType], CommandFunctionType]:
        """Register a command, as typer.Typer does."""
        register = super().command(name, **{"cls": _Command} | settings)

        def registered(function: CommandFunctionType) -> CommandFunctionType:
            register(as_typer(function))
            return function

        return registered


def options_of(
    function: Callable[..., Any], order: str = "", spelled: dict[str, str] | None = None, **read: Read
) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Give a command the options of a function of the Python interface: its parameters of which something is said.

    The command gets them as `given`. order: which, and where among its own; by default all, and then its own.
    spelled: what else says a parameter, for errors that name it. read: how words become values.
    """
    parameters = {name: one for name, one in stated(function).items() if one.said}

    def derived(command: Callable[..., R]) -> Callable[..., R]:
        own = {name: one for name, one in inspect.signature(command).parameters.items() if name != "given"}
        names = dict.fromkeys([*(order.split() or parameters), *own])
        taken = [name for name in names if name not in own]
        made = {name: _parameter(name, parameters[name], read.get(name)) for name in taken}
        every = [(made | own)[name].replace(kind=inspect.Parameter.KEYWORD_ONLY) for name in names]
        flags = {one.name: flag_of(one) for one in every}

        @wraps(command)
        def run(given: Given | None = None, **values: Any) -> R:
            mine = {name: value for name in taken if (value := values.pop(name)) is not None}
            mine |= {name: read[name](flags[name], value) for name, value in mine.items() if name in read}
            try:
                return command(given=(given or {}) | mine, **values)
            except Unfit as wrong:
                if not (flags.keys() | (spelled or {})).intersection(wrong.names):
                    raise  # they are options of another function, which says them
                raise BadInput(_in_options(wrong, flags, spelled or {})) from None

        run.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
        mine = {name: (read[name], flags[name]) for name in taken if name in read}
        setattr(run, READERS, getattr(command, READERS, {}) | mine)
        return run

    return derived


def _in_options(wrong: Unfit, flags: dict[str, str], spelled: dict[str, str]) -> str:
    """Return a message with options in place of parameters, in the order of the command."""
    names = {flag for name in wrong.names for flag in spelled.get(name, name).split()}
    said = joined(tuple(flag for name, flag in flags.items() if name in names))
    return f"{said}: {filled(wrong.words, lambda name: flags[name])}"


def _parameter(name: str, of: Stated, read: Read | None) -> inspect.Parameter:
    """Return a parameter as words of a command line say it."""
    kind, said, default = of
    kind = _words(kind) if read is None else list(inspect.signature(read).parameters.values())[-1].annotation
    if default in ((), None):
        default = False if kind is bool and said and "/" not in said.flags else None
        kind = kind if default is False else kind | None
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, said])


def _words(kind: Any) -> Any:
    """Return the type of a parameter on a command line: the names of files and designs are texts."""
    inside = [one for one in get_args(kind) if one is not NoneType]
    if kind in (bool, int, float) or get_origin(kind) is Literal:
        return kind
    for one in (kind, *inside):
        if get_origin(one) in (Iterable, Sequence):
            return list[_words(get_args(one)[0])]  # type: ignore[misc]
    return _words(inside[0]) if len(inside) == 1 else str


def flag_of(parameter: inspect.Parameter) -> str:
    """Return what a parameter is called on the command line: its last flag, or the word for the value."""
    said = said_of(parameter)
    if isinstance(said, Argument):
        return said.value
    return said.flags.split()[-1] if said and said.flags else f"--{parameter.name.replace('_', '-')}"


def said_of(parameter: inspect.Parameter) -> Option | None:
    """Return what is said of a parameter in its type."""
    return next((one for one in getattr(parameter.annotation, "__metadata__", ()) if isinstance(one, Option)), None)


def as_typer(function: Callable[..., R]) -> Callable[..., R]:
    """Return a command with the arguments and options of typer in place of what is said of its parameters."""
    signature = inspect.signature(function)
    flags = {name: flag_of(one) for name, one in signature.parameters.items()}
    made = [
        one.replace(annotation=Annotated[one.annotation.__origin__, _info(one, said, flags)])
        if (said := said_of(one))
        else one
        for one in signature.parameters.values()
    ]

    @wraps(function)
    def run(**values: Any) -> R:
        return function(**values)

    run.__signature__ = signature.replace(parameters=made)  # type: ignore[attr-defined]
    return run


def _info(parameter: inspect.Parameter, said: Option, flags: dict[str, str]) -> Any:
    """Return what typer wants to know of a parameter."""
    kinds = [one for one in get_args(parameter.annotation.__origin__) if one is not NoneType]
    kind = kinds[0] if NoneType in get_args(parameter.annotation.__origin__) else parameter.annotation.__origin__
    settings: dict[str, Any] = {
        "help": filled(re.sub(r"[\[\]]", "", said.help), lambda name: flags[name]),
        "metavar": said.value or ("|".join(get_args(kind)) if get_origin(kind) is Literal else None),
        "autocompletion": designs if re.search(r"DESIGN|\|NAME$", said.value) else None,
    }
    if isinstance(said, Argument):
        if said.piped:
            settings["help"] = settings["help"][:-1] + "; - is standard input."
            settings["callback"] = standard.of_inputs if get_origin(kind) is list else standard.of_input
        return typer.Argument(show_default=False, **settings)
    settings["metavar"] = settings["metavar"] or ("N" if kind is int else None)
    settings |= {"min": said.least, "show_default": said.usual or parameter.default is not parameter.empty}
    names = said.flags.split() or ([flags[parameter.name]] if parameter.default is False else [])
    return typer.Option(*names, **settings)


def designs(incomplete: str) -> list[str]:
    """The built-in designs whose names begin with `incomplete`, for shell completion."""
    from heapsmith.model.design.design import builtin_names

    return [name for name in builtin_names() if name.startswith(incomplete)]


def example(*lines: str) -> str:
    """The epilog of a command's help."""
    return "\b\nExamples:\n" + "\n".join(f"  heapsmith {line}" for line in lines)
