"""How the commands that the Makefile runs end: as those of the command line do."""

import signal
import sys
from collections.abc import Callable
from typing import NoReturn

from heapsmith.model.errors import HeapsmithError


def exit_with(run: Callable[[list[str]], int]) -> NoReturn:
    """Run with the arguments of this process and exit; a failure is one line on standard error.

    The status is 0 if all is well, 1 if a check failed, 2 for bad usage or input, 3 if the machine lacks something.
    """
    try:
        status = run(sys.argv[1:])
    except HeapsmithError as error:
        print(f"heapsmith: {error}", file=sys.stderr)
        status = error.exit_code
    except KeyboardInterrupt:
        status = 128 + signal.SIGINT
    sys.exit(status)
