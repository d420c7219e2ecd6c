"""How a command ends: its exit status, and one line on stderr for a failure."""

import errno
import io
import os
import re
import resource
import signal
import sys
import threading
from contextlib import suppress
from typing import Protocol

import typer

from heapsmith.api import show
from heapsmith.model.errors import MOST_OF_ERROR, BadInput, HeapsmithError, Missing, WrongKind
from heapsmith.tools.common.inherited import closed_streams

_OF_OUTPUT = (errno.EBADF, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Errors that are standard output's if they name no file: model/files.py writes all others, and names them."""


_BY_SIGNAL = {128 + number: int(number) for number in (signal.SIGTERM, signal.SIGHUP)}
"""The signals that end a command in order, by its exit status."""

AGAIN_S = 0.02
"""After this a signal comes again that was lost."""


def stop(number: int, _: object) -> None:
    """End with the status of a program that this signal ends."""
    raise SystemExit(128 + number)


class _Exception(Protocol):
    """What sys.unraisablehook is called with."""

    exc_value: BaseException | None


def unraisable(found: _Exception) -> None:
    """Send a signal to this process again if its exception came where C calls Python, which drops all exceptions.

    Such places are finalizers, and what LLVM calls while it compiles the model.
    """
    if isinstance(found.exc_value, KeyboardInterrupt):
        number = int(signal.SIGINT)
    elif isinstance(found.exc_value, SystemExit) and found.exc_value.code in _BY_SIGNAL:
        number = _BY_SIGNAL[found.exc_value.code]
    else:
        sys.__unraisablehook__(found)  # type: ignore[arg-type]
        return
    again = threading.Timer(AGAIN_S, os.kill, (os.getpid(), number))
    again.daemon = True
    again.start()


def status(app: typer.Typer, arguments: list[str], program: str | None = "heapsmith") -> int:
    """Run one command and return its exit status. A failure becomes one line on stderr. `program`: as it was called."""
    try:
        answer = app(arguments, prog_name=program, standalone_mode=False)
        sys.stdout.flush()
        return answer if isinstance(answer, int) else 0
    except HeapsmithError as error:
        meant = _meant(app, arguments) if isinstance(error, WrongKind) else None
        _complain(f"{error}; try: {meant}" if meant else str(error))
        return error.exit_code
    except typer.TyperException as error:
        message = _in_words(error)
        context = getattr(error, "ctx", None)
        see = f"(see {context.command_path if context else program} --help)"
        meant = _meant(app, arguments) if program == "heapsmith" and not _is_of_value(error) else None
        _complain(f"{message.partition(' Did you mean')[0].rstrip('.')}; try: {meant}" if meant else f"{message} {see}")
        return BadInput.exit_code
    except BrokenPipeError:
        return _reader_gone()
    except OSError as error:
        written = error.filename2 or error.filename  # of a copy, filename is what is read
        where = written or ("standard output" if error.errno in _OF_OUTPUT else "input or output")
        is_closed = error.errno == errno.EBADF and error.filename is None
        what = "it is closed" if is_closed else error.strerror or str(error).partition(". ")[0]
        room = _of_room() if error.errno in (None, errno.ENOMEM) else ""  # None: a library that cannot be loaded
        _complain(f"{where}: {what}{room}" if error.errno or written else f"{what}{room}")
        _drop_output_that_fails()
        return Missing.exit_code
    except MemoryError as error:
        _complain(f"not enough memory{f': {error}' if str(error) else ''}{_of_room()}")
        return Missing.exit_code
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except SystemExit as stop:
        broken = isinstance(stop.__context__, BrokenPipeError)  # which typer makes an exit of 1
        return _reader_gone() if broken else int(stop.code or 0)


def _of_room() -> str:
    """What may be the reason where there is no room: the limit on the address space of this process, if it has one."""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return ""
    from heapsmith.tools.common.units import amount

    return f"; this process may have {amount(limit)} of address space (ulimit -v), which may be too little"


EXPECTED = (
    (r"a valid integer.*", "a whole number"),
    (r"a valid number.*", "a number"),
    (r"greater than or equal to (\S+)", r"at least \1"),
    (r"less than or equal to (\S+)", r"at most \1"),
)
"""What typer says that a value should be, and what is said here."""


def _in_words(error: typer.TyperException) -> str:
    """What is wrong with the words of a command; of a value, the parameter, the value and what was expected."""
    message = " ".join(error.format_message().split()).replace(": Value error, ", ": ")  # the library's own words
    about, _, should = message.partition(": Input should be ")
    name = about.removeprefix("Invalid value for ").strip("'")
    for said, words in EXPECTED if should else ():
        if found := re.fullmatch(said, should.rstrip(".")):
            refused: list[dict[str, object]] = getattr(error.__cause__, "errors", list)()
            given = f" {refused[0]['input']}" if refused else ""
            return f"{name}{given}: expected {found.expand(words)}"
    return message


def _is_of_value(error: typer.TyperException) -> bool:
    """Whether the value of an option is wrong: another command would have the same error, or lose the option."""
    option = getattr(error, "param", None)
    return type(error) is typer.BadParameter and getattr(option, "param_type_name", "") == "option"


def _meant(app: typer.Typer, arguments: list[str]) -> str | None:
    """The command that was meant, if the words tell. Whatever fails here, the error of the command is what counts."""
    with suppress(Exception):
        from heapsmith.commands import hints

        return hints.right(arguments, typer.main.get_command(app))
    return None


def _complain(what: str) -> None:
    show.note(f"heapsmith: {what}", MOST_OF_ERROR)


def _reader_gone() -> int:
    """The reader of our output has closed it: end silently with the status of a program that SIGPIPE ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 128 + signal.SIGPIPE


def _drop_output_that_fails() -> None:
    """Lead standard output to /dev/null if it takes nothing: Python writes what is left of it when it ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def open_streams() -> None:
    """Open closed standard streams, and escape characters that the encoding of a stream lacks.

    Input then has no content, and errors go nowhere. Output cannot be written: a result that is lost is an error.
    """
    for number, flags in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, flags), True)  # takes the lowest number that is free: this one
            closed_streams.add(number)
    sys.stdout = sys.stdout or open(1, "w")  # noqa: SIM115 - open for as long as the process
    sys.stderr = sys.stderr or open(2, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
