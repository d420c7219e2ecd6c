"""`heapsmith top`: looks at processes at an interval, and shows or prints each look."""

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Literal

import msgspec
from rich.console import Console
from rich.live import Live

from heapsmith.model.errors import BadInput, Missing
from heapsmith.model.files import STANDARD, json_text, write_text
from heapsmith.tools.common.elf import defines
from heapsmith.tools.common.obstacles import find_program
from heapsmith.tools.common.preload import preload
from heapsmith.tools.common.process_memory import Gone
from heapsmith.tools.common.program_start import Start, begin
from heapsmith.tools.common.tables import PIPED
from heapsmith.tools.peers.peers import find_library, names
from heapsmith.tools.top.openmetrics import openmetrics, prometheus
from heapsmith.tools.top.process import facts
from heapsmith.tools.top.screen import WIDE, Screen, picture
from heapsmith.tools.top.watch import Sight, Watch

PATIENCE_S = 3.0
"""What a command that was started here gets to end when the view does."""
STEP_S = 0.02
OF_HEAPSMITH = "heapsmith_design"
"""What a library of heapsmith defines."""
WITHOUT = "under no heapsmith library; expected one preloaded or linked, such as by: heapsmith run default -- CMD"


class Shown(msgspec.Struct, frozen=True):
    """How to show: once, as JSON, and seconds between two looks. metrics: the file of metrics, - for output; form: what
    makes their text.
    """

    interval_s: float
    once: bool
    json: bool
    metrics: Path | None = None
    form: Literal["openmetrics", "prometheus"] = "openmetrics"
    classes: bool = False

    @property
    def is_view(self) -> bool:
        """Whether it is a picture on a terminal."""
        return sys.stdout.isatty() and not (self.json or self.once or self.metrics)


def of_process(pid: int, how: Shown) -> int:
    """Look at a process and its descendants until it ends.

    BadInput if none has a library, Missing if it may not be read.
    """
    try:
        ended = facts(pid).ended
    except Gone:
        ended = True
    if ended:
        raise BadInput(f"{pid}: no such process")
    watch = Watch(pid)
    first = watch.look()
    if not first:
        raise watch.refused or BadInput(f"process {pid} runs {WITHOUT}")
    with suppress(KeyboardInterrupt):
        _show(watch, how, first)
    return 0


def of_command(command: list[str], library: str | None, how: Shown) -> int:
    """Start a command, under a library if one is named, and look at it until it ends.

    Returns its status, or 0 if the view ends first. BadInput if none of its processes ever has a library, and none of
    heapsmith was preloaded; or if no preloaded library can serve it.
    """
    is_ours = False
    if library is not None:
        found = find_library(library)
        is_ours = found.path is not None and defines(found.path, OF_HEAPSMITH)
        start = Start(command, find_program(command, libraries=[found.path] if found.path else []))
        words = [one.word for one in names(found)]
        start = start._replace(added={"LD_PRELOAD": preload(words, start.variables())})
    elif path := shutil.which(command[0]):
        start = Start(command, path)
    else:
        raise BadInput(f"{command[0]}: no such command, or it is not executable")
    with _started(start) as process:
        try:
            seen = _show(Watch(process.pid), how, [], process)
        except KeyboardInterrupt:
            return 0
        status = process.poll()
    if not seen and not is_ours:
        raise BadInput(f"{command[0]} ran {WITHOUT}")
    status = 0 if status is None else status if status >= 0 else 128 - status
    if not seen:
        print(f"heapsmith: {command[0]} ended with status {status} before the first look", file=sys.stderr)
    return status


@contextmanager
def _started(start: Start) -> Iterator[subprocess.Popen[bytes]]:
    """The command with no input, and its outputs to nowhere: the view has the terminal. It is ended with the view."""
    null = subprocess.DEVNULL
    process = begin(start, stdin=null, stdout=null, stderr=null)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE_S)
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            process.kill()
        process.wait()


def _show(watch: Watch, how: Shown, last: list[Sight], process: subprocess.Popen[bytes] | None = None) -> bool:
    """Look and show until the processes end or one look is shown; was there anything to show?

    The library of a command comes after its start, so that looks follow each other fast until there is one.
    """
    screen, printed = Screen(last), False
    try:
        with Live(screen, screen=True) if how.is_view else nullcontext() as view:
            while _wait(how.interval_s if screen.sights else STEP_S, process) and watch.lives():
                found = watch.look()
                screen.sights = found or screen.sights
                rated = [one for one in found if how.metrics or one.rates is not None]  # others count themselves
                if view is not None:
                    view.refresh()
                elif rated:
                    _print(rated, how)
                    printed = True
                    if how.once:
                        return True
    finally:
        if screen.sights and not printed:
            _print(screen.sights, how)
    return bool(screen.sights)


def _wait(seconds: float, process: subprocess.Popen[bytes] | None) -> bool:
    """Sleep, but no longer than a command lives; does it live, if it is one?"""
    if process is None:
        time.sleep(seconds)
        return True
    with suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
        return False
    return True


def _print(sights: list[Sight], how: Shown) -> None:
    """A look as a line of JSON, as metrics, or as text without cuts."""
    if how.metrics:
        text = (openmetrics if how.form == "openmetrics" else prometheus)(sights, how.classes)
        if str(how.metrics) == STANDARD:
            print(text, end="", flush=True)
        else:
            write_text(how.metrics, text, Missing)
        return
    if how.json:
        print(json_text(sights, indent=None), flush=True)
        return
    console = Console(width=max(WIDE, shutil.get_terminal_size((PIPED, 24)).columns))
    for part in picture(sights):
        console.print(part)
