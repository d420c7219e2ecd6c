"""The begin of a command, as `heapsmith` and as `python -m heapsmith`: Ctrl-C ends it also while its modules load."""

import signal
import sys
from importlib import import_module


def main() -> None:
    """Run the command line and exit: 0 success, 1 a failed check, 2 bad usage or input, 3 the machine lacks a tool."""
    begin("heapsmith.commands.cli", "heapsmith")


def begin(module: str, program: str) -> None:
    """Run the commands of a module, its `app`, under the name of a program, and exit with its status."""
    ended = 128 + signal.SIGINT
    try:
        from heapsmith.commands import exits
        from heapsmith.model.compile import wait
        from heapsmith.tools.common import inherited

        app = import_module(module).app
        sys.unraisablehook = exits.unraisable
        exits.open_streams()
        wait.announce(_compiles, _still_compiles, _is_plain, _is_uncached)
        inherited.accept_children()
        for number in {signal.SIGTERM, signal.SIGHUP} - inherited.ignored_signals():  # nohup(1) has the second ignored
            signal.signal(number, exits.stop)
        ended = exits.status(app, sys.argv[1:] or ["--help"], program)
        for number in {signal.SIGINT, signal.SIGTERM, signal.SIGHUP} - inherited.ignored_signals():
            signal.signal(number, signal.SIG_DFL)  # nothing is left to be put in order
    except KeyboardInterrupt:
        pass
    sys.exit(ended)


def _compiles(takes_s: float, budget_s: float | None) -> None:
    from heapsmith.api import show
    from heapsmith.tools.common.units import span

    counts = ""
    if budget_s:
        whole_s = max(budget_s, takes_s + budget_s / 2)
        counts = (
            f", which count against the budget of {span(budget_s)}; half of it is for the search in any case, "
            f"so it ends after about {span(whole_s)}"
        )
    show.note(f"heapsmith: compiling the model for this command, once for each version: about {span(takes_s)}{counts}")


def _still_compiles(so_far_s: float) -> None:
    from heapsmith.api import show
    from heapsmith.tools.common.units import span

    show.note(f"heapsmith: still compiling the model, for {span(so_far_s)}")


def _is_plain() -> None:
    from heapsmith.api import show

    show.note(
        "heapsmith: numba is not installed (pip install numba): "
        "the model runs as plain Python, some hundred times as slowly"
    )


def _is_uncached() -> None:
    from heapsmith.api import show

    show.note(
        "heapsmith: the cache cannot be written, so that each command compiles the model anew: "
        "set XDG_CACHE_HOME to a folder that can be"
    )


if __name__ == "__main__":
    main()
