"""The command line of the laboratory's programs, each `python -m heapsmith.bench...`, which the Makefile calls."""

import sys
from collections.abc import Callable
from typing import NoReturn

import typer

from heapsmith.commands import exits
from heapsmith.model.errors import BadInput

PROGRAM = "python -m heapsmith.bench"


def example(*lines: str) -> str:
    """The epilog of a command's help."""
    return "\b\nExamples:\n" + "\n".join(f"  {PROGRAM} {line}" for line in lines)


def run(command: Callable[..., int], words: list[str]) -> int:
    """The status of a function whose parameters typer reads from `words`; BadInput for mistakes."""
    try:
        status: int = _app(command)(words, standalone_mode=False)
    except typer.TyperException as error:
        raise BadInput(f"{' '.join(error.format_message().split())} (see --help)") from None
    return status


def exit_with(command: Callable[..., int]) -> NoReturn:
    """Run with this process's arguments and exit as the command line does; a failure is one line on standard error."""
    sys.exit(exits.status(_app(command), sys.argv[1:], program=None))


def _app(command: Callable[..., int]) -> typer.Typer:
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command()(command)
    return app
