"""Runs the Makefile's commands like those of the command line."""

import signal
import sys
from collections.abc import Callable
from typing import NoReturn

import typer

from heapsmith.model.errors import MOST_OF_ERROR, BadInput, HeapsmithError, printable


def run(command: Callable[..., int], words: list[str]) -> int:
    """The status of a function whose parameters typer reads from `words`; BadInput for mistakes."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command()(command)
    try:
        status: int = app(words, standalone_mode=False)
    except typer.TyperException as error:
        raise BadInput(f"{' '.join(error.format_message().split())} (see --help)") from None
    return status


def exit_with(command: Callable[..., int]) -> NoReturn:
    """Run with this process's arguments and exit; a failure is one line on standard error.

    Status: 0 ok, 1 a check failed, 2 bad usage or input, 3 the machine lacks something.
    """
    try:
        status = run(command, sys.argv[1:])
    except HeapsmithError as error:
        print(printable(f"heapsmith: {error}", MOST_OF_ERROR), file=sys.stderr)
        status = error.exit_code
    except KeyboardInterrupt:
        status = 128 + signal.SIGINT
    sys.exit(status)
