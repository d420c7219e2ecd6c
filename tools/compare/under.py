"""A program with a library preloaded, once, on this process's standard streams: what `heapsmith run` does."""

from collections.abc import Callable
from pathlib import Path

from heapsmith.tools.common.foreground import run_foreground
from heapsmith.tools.common.obstacles import find_program
from heapsmith.tools.common.preload_everywhere import preloading
from heapsmith.tools.common.process_watch import Watch
from heapsmith.tools.common.program_start import Start
from heapsmith.tools.common.served_share import apart, beside_malloc, sentences
from heapsmith.tools.peers.peers import find_library, names, require_malloc_of

_MOST_NAMED = 3


def run_under(
    lib: Path,
    command: list[str],
    added: dict[str, str] | None = None,
    *,
    everywhere: bool = False,
    wait: bool = False,
    of_memory: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> int:
    """Run `command` with `lib` preloaded and this process's standard streams; returns its status.

    `added`: variables in place of those of this process's environment. `everywhere`: also to programs that it
    starts with another environment. `wait`: until all processes that it starts have ended, daemons too.

    The status is 128 + n if signal n killed it. The terminal's SIGINT and SIGQUIT are left to the
    command; SIGTERM and SIGHUP are passed on to it. Raises BadInput for a missing library or
    command, or a command that LD_PRELOAD does not reach. `say` gets a line where the library did not
    serve what did the work, and where processes go on under it; with `of_memory` also one per program with much
    memory that malloc did not give.
    """
    library = find_library(str(lib.absolute()))
    program = find_program(command, everywhere=everywhere, libraries=[lib])
    start = Start(command, program, None, added or {}, everywhere)
    require_malloc_of(library)
    with preloading(start, names(library)) as (whole, files):
        watch = Watch(files[0], command[0], *files[1:])
        status = run_foreground(whole, watch=watch, wait=wait).status
    if found := apart(watch.images()):
        say(f"{library.name} does not serve {sentences(found)}")
    if left := watch.going_on():
        named = ", ".join(f"{one.name} (pid {one.pid})" for one in left[:_MOST_NAMED])
        others = f" and {len(left) - _MOST_NAMED} others" * (len(left) > _MOST_NAMED)
        say(f"{named}{others} went on after the command's end, under {library.name}; --wait waits for such processes")
    for one in beside_malloc(watch.images()) if of_memory else []:
        say(one.sentence())
    return status
