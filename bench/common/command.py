"""Ends the Makefile's commands like those of the command line."""

import signal
import sys
from collections.abc import Callable
from typing import NoReturn

from heapsmith.model.errors import HeapsmithError


def exit_with(run: Callable[[list[str]], int]) -> NoReturn:
    """Run with this process's arguments and exit; a failure is one line on standard error.

    Status: 0 ok, 1 a check failed, 2 bad usage or input, 3 the machine lacks something.
    """
    try:
        status = run(sys.argv[1:])
    except HeapsmithError as error:
        print(f"heapsmith: {error}", file=sys.stderr)
        status = error.exit_code
    except KeyboardInterrupt:
        status = 128 + signal.SIGINT
    sys.exit(status)
