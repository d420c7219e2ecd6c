"""How a command ends: its exit status, and one line on stderr for a failure."""

import io
import os
import signal
import sys

import typer

from heapsmith import show
from heapsmith.model.errors import BadInput, HeapsmithError, Missing, printable


def stop(number: int, _: object) -> None:
    """End with the status of a program that this signal ends."""
    raise SystemExit(128 + number)


def status(app: typer.Typer, arguments: list[str]) -> int:
    """Run one command and return its exit status. A failure becomes one line on stderr."""
    try:
        answer = app(arguments, prog_name="heapsmith", standalone_mode=False)
        sys.stdout.flush()
        return answer if isinstance(answer, int) else 0
    except HeapsmithError as error:
        _complain(str(error))
        return error.exit_code
    except typer.TyperException as error:
        message = " ".join(error.format_message().split()).replace(": Value error, ", ": ")  # the library's own words
        _complain(f"{message} (see heapsmith --help)")
        return BadInput.exit_code
    except BrokenPipeError:
        return _reader_gone()
    except OSError as error:
        _complain(f"{error.filename or 'input or output'}: {error.strerror or error}")
        return Missing.exit_code
    except MemoryError as error:
        _complain(f"not enough memory{f': {error}' if str(error) else ''}")
        return Missing.exit_code
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except SystemExit as stop:
        broken = isinstance(stop.__context__, BrokenPipeError)  # which typer makes an exit of 1
        return _reader_gone() if broken else int(stop.code or 0)


def _complain(what: str) -> None:
    show.note(f"heapsmith: {printable(what)}")


def _reader_gone() -> int:
    """The reader of our output has closed it: end silently with the status of a program that SIGPIPE ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 128 + signal.SIGPIPE


def open_streams() -> None:
    """Lead closed standard streams to /dev/null, and escape characters that the encoding of a stream lacks."""
    while (null := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(null, True)
    os.close(null)
    sys.stdout = sys.stdout or open(1, "w")  # noqa: SIM115 - open for as long as the process
    sys.stderr = sys.stderr or open(2, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
