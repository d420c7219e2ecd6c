"""The begin of a command, as `heapsmith` and as `python -m heapsmith`: Ctrl-C ends it also while its modules load."""

import signal
import sys


def main() -> None:
    """Run the command line and exit: 0 success, 1 a failed check, 2 bad usage or input, 3 the machine lacks a tool."""
    try:
        from heapsmith.bench.common import given
        from heapsmith.commands import cli, exits
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    exits.open_streams()
    given.accept_children()
    for number in {signal.SIGTERM, signal.SIGHUP} - given.ignored_signals():  # nohup(1) has the second ignored
        signal.signal(number, exits.stop)
    sys.exit(exits.status(cli.app, sys.argv[1:] or ["--help"]))


if __name__ == "__main__":
    main()
