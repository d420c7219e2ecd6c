"""Traces on pipes: `-` is standard input, which becomes a file for as long as the command runs, or standard output."""

import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import typer

from heapsmith.api import show
from heapsmith.model.errors import BadInput, Missing
from heapsmith.model.files import STANDARD, scratch, writable_file

Named = TypeVar("Named", Path, str)
_TAKEN = "heapsmith.standard_input"
"""Marks a command line whose standard input has become a file."""


def of_input(context: typer.Context, path: Path | None) -> Path | None:
    """The file of a trace: for `-` a copy of standard input, which is removed when the command has ended."""
    return _copied(context) if str(path) == STANDARD else path


def of_inputs(context: typer.Context, paths: Sequence[Named] | None) -> list[Named] | None:
    """The same for each of several traces; BadInput if more than one is standard input."""
    if paths is None:
        return None
    if sum(str(path) == STANDARD for path in paths) > 1:
        raise BadInput("-: standard input can be read once; expected one `-` at most")
    return [type(path)(_copied(context)) if str(path) == STANDARD else path for path in paths]


def _copied(context: typer.Context) -> Path:
    """A file with the content of standard input: readers of traces begin at their end."""
    if sys.stdin is None:
        raise BadInput("-: standard input is closed; expected a trace")
    if sys.stdin.isatty():
        raise BadInput("-: standard input is a terminal; expected a trace")
    if _TAKEN in context.meta:
        raise BadInput("-: standard input can be read once; expected one `-` at most")
    try:
        folder = TemporaryDirectory(prefix="heapsmith-")
        context.find_root().call_on_close(folder.cleanup)
        context.meta[_TAKEN] = folder
        file = Path(folder.name) / "standard-input.hst"
        with file.open("wb") as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy, 1 << 20)
        show.name_file(str(file), "standard input")
    except OSError as error:
        raise Missing(f"-: standard input cannot be copied to a file: {error.strerror}") from None
    return file


def for_output(path: Path) -> Path:
    """`path` if it is `-` and standard output is no terminal; else what writable_file says of it."""
    if str(path) != STANDARD:
        return writable_file(path)
    if sys.stdout.isatty():
        raise BadInput("-: standard output is a terminal; expected a file or a pipe")
    return path


@contextmanager
def whole(out: Path) -> Iterator[Path]:
    """The path itself, or for `-` that of a file, which goes to standard output when the trace in it is whole."""
    if str(out) != STANDARD:
        yield out
        return
    with scratch() as folder:
        file = folder / "standard-output.hst"
        yield file
        with file.open("rb") as trace:
            shutil.copyfileobj(trace, sys.stdout.buffer)
        sys.stdout.buffer.flush()


def result(out: Path) -> AbstractContextManager[object]:
    """Where a command prints its result: on standard error while the trace `out` is on standard output."""
    return redirect_stdout(sys.stderr) if str(out) == STANDARD else nullcontext()
