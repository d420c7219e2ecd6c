"""The begin of a command, as `heapsmith` and as `python -m heapsmith`: Ctrl-C ends it also while its modules load."""

import signal
import sys
from importlib import import_module


def main() -> None:
    """Run the command line and exit: 0 success, 1 a failed check, 2 bad usage or input, 3 the machine lacks a tool."""
    begin("heapsmith.commands.cli", "heapsmith")


def begin(module: str, program: str) -> None:
    """Run the commands of a module, its `app`, under the name of a program, and exit with its status."""
    try:
        from heapsmith.commands import exits
        from heapsmith.model.compile import cache
        from heapsmith.tools.common import inherited

        app = import_module(module).app
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    exits.open_streams()
    cache.announce(_note)
    inherited.accept_children()
    for number in {signal.SIGTERM, signal.SIGHUP} - inherited.ignored_signals():  # nohup(1) has the second ignored
        signal.signal(number, exits.stop)
    sys.exit(exits.status(app, sys.argv[1:] or ["--help"], program))


def _note(text: str) -> None:
    from heapsmith.api import show

    show.note(text)


if __name__ == "__main__":
    main()
