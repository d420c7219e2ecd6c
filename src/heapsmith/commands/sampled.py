"""The command that shows a live heap by call site, from samples that the library takes."""

import sys
import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

from heapsmith.api import show
from heapsmith.api.stated import Argument, Option
from heapsmith.commands import arguments as take
from heapsmith.commands import profiles, results_sampled
from heapsmith.commands.options import Commands, example
from heapsmith.commands.sites import By, Depth, Skip, Top, frames
from heapsmith.model.errors import BadInput
from heapsmith.model.files import STANDARD

if TYPE_CHECKING:  # the types need numba, which a command imports only when it runs
    from heapsmith.tools.sampled.snapshot import Snapshot

app = Commands()

DESIGN = "sampled"


@app.command(
    epilog=example(
        "profile 4711",
        "profile 4711 --seconds 60",
        "profile 4711 --seconds 60 --thread 4715",
        "profile -- python3 job.py",
        "profile heap.4711 --format pprof -o heap.pb.gz",
    ),
)
def profile(
    target: Annotated[
        list[str],
        Argument("A process, profiles of one (the earlier first), or a command to start.", "PID | FILE... | -- CMD"),
    ],
    lib: Annotated[str | None, Option("Run CMD under it; it takes samples.", "LIB|DESIGN", usual=DESIGN)] = None,
    mean: Annotated[
        int | None, Option("Bytes from one sample to the next, on average.", "BYTES", least=1, usual="524288")
    ] = None,
    seconds: Annotated[str | None, Option("Look twice, and show what grew meanwhile: 10s, 5m.", "TIME")] = None,
    thread: Annotated[
        int | None, Option("For --seconds take samples of this thread of PID alone (gettid(2)).", "TID", least=1)
    ] = None,
    by: By = "site",
    depth: Depth = None,
    skip: Skip = None,
    top: Top = 20,
    form: profiles.Form = "text",
    out: profiles.Out = None,
    weight: profiles.Weight = None,
    json: take.Json = False,
) -> int:
    """Show which code holds the live heap of a process, and who asks for memory, from samples of its blocks.

    Each figure is an estimate with an interval that holds the true value 95 times of 100 (docs/live.md). The process
    runs under a design that takes samples, such as sampled. It is read from outside and does not stop. With --thread,
    or --mean, its samples are switched on for --seconds, and then are as before. Of CMD the heap is shown where most
    bytes were live; its exit status is that of CMD.
    """
    from heapsmith.tools.sampled.profile import compared, stack_table
    from heapsmith.tools.sampled.profile import profile as figures

    chosen = profiles.chosen(form, out, weight, json)
    apart = None if seconds is None else take.seconds("--seconds", seconds)
    found = _found(target, How(lib, mean, apart, thread, sys.stderr.fileno() if _takes_output(chosen) else None))
    looks = compared(found.last, found.first, by, 0 if chosen.is_profile else frames(by, depth), skip or [])
    if chosen.is_profile:
        profiles.emit(stack_table(looks), chosen)
    elif chosen.is_json:
        show.emit_json(figures(looks))
    else:
        results_sampled.profile(figures(looks), top)
    if found.note:
        show.note(f"heapsmith: {found.note}")
    return found.status


class How(NamedTuple):
    """How to look: a command's library and output, the mean of samples, seconds between looks, and whose samples."""

    lib: str | None
    mean: int | None
    seconds: float | None
    thread: int | None
    stdout: int | None


def _takes_output(chosen: profiles.Chosen) -> bool:
    """Whether standard output is for the result, so that the command's own output goes to standard error."""
    return chosen.is_json or (chosen.is_profile and str(chosen.out) == STANDARD)


class Found(NamedTuple):
    """What there is to show: looks at a process, the earlier one None if there is one look, and a line on others."""

    status: int
    first: "Snapshot | None"
    last: "Snapshot"
    note: str = ""


def _found(target: list[str], how: How) -> Found:
    """The looks at what the words name: a process, its profiles, or a command."""
    from heapsmith.tools.sampled.snapshot import is_profile, read

    files = [Path(word) for word in target]
    is_process = len(target) == 1 and target[0].isdecimal()
    if how.thread is not None and (not is_process or how.seconds is None):
        raise BadInput("--thread: is of a process for a time; expected PID --seconds TIME")
    if is_process or all(is_profile(file) for file in files):
        if how.lib is not None:
            raise BadInput("--lib: is of a command; expected -- CMD")
        if how.mean is not None and (not is_process or how.seconds is None):
            raise BadInput("--mean: is of a command, or of a process for a time; expected -- CMD, or --seconds TIME")
        if is_process:
            return _of_process(int(target[0]), how)
        if len(files) > 2 or how.seconds is not None:
            raise BadInput("--seconds, or more than two profiles: expected one profile, or an earlier and a later one")
        *first, last = map(read, files)
        return Found(0, first[0] if first else None, last)
    from heapsmith.tools.sampled.command import run
    from heapsmith.tools.sampled.profile import OFF

    command = take.words_of_target(target, "the number of a process, a profile")
    ran = run(command, how.lib or DESIGN, mean=how.mean, seconds=how.seconds, stdout=how.stdout)
    if not ran.processes:
        show.note(f"heapsmith: {command[0]} ended with status {ran.status} before a look at its heap")
        raise SystemExit(ran.status)
    if ran.status and not ran.processes[0].most.mean_bytes:
        show.note(f"heapsmith: {command[0]} ended with status {ran.status}; it {OFF}")
        raise SystemExit(ran.status)
    seen, others = ran.processes[0], len(ran.processes) - 1
    note = f"{others} other processes of {command[0]} took samples too" if others else ""
    if how.seconds is None:
        return Found(ran.status, None, seen.most, note)
    if seen.window is None:
        return Found(ran.status, None, seen.most, f"--seconds: {command[0]} ended before a second look: its whole run")
    return Found(ran.status, *seen.window, note)


def _of_process(pid: int, how: How) -> Found:
    from heapsmith.tools.sampled.process import of_process, of_thread
    from heapsmith.tools.sampled.switch import switched
    from heapsmith.tools.top.view import served

    pid = served(pid)
    if how.seconds is None:
        return Found(0, None, of_process(pid))
    changes = how.thread is not None or how.mean is not None
    with switched(pid, how.mean, how.thread) if changes else nullcontext(True) as was_on:
        first = of_process(pid)
        time.sleep(how.seconds)
        last = of_process(pid)
    notes = [] if was_on else ["samples were off before: live are blocks allocated since, not those of before"]
    if how.thread is not None:
        notes.append(f"samples of thread {how.thread} alone")
        first, last = of_thread(first, how.thread), of_thread(last, how.thread)
    return Found(0, first, last, "; ".join(notes))
