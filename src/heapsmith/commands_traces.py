"""The commands of traces: record one, look at it, check it, make it from another format."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from heapsmith import arguments as take
from heapsmith import results, show
from heapsmith.model.errors import BadInput, CheckFailed

# What needs numpy or numba is imported inside the commands: help and completion must not wait for it.

app = take.Commands(rich_markup_mode=None)
trace_app = take.Commands(help="Look at traces, check them, make them from other formats.", rich_markup_mode=None)
app.add_typer(trace_app, name="trace")


@app.command(context_settings=take.COMMAND_LINE, epilog=take.example("record -o py.hst -- python3 -c 'print(1)'"))
def record(
    command: take.Cmd,
    out: take.OutFile,
    only: Annotated[bool, typer.Option("--only", help="Keep the busiest process's trace alone.")] = False,
    json: take.Json = False,
) -> int:
    """Run CMD under the recorder: a trace of its busiest process, and one beside it for each other.

    The exit status is CMD's, as are the standard streams until it ends; with --json its output goes to standard error.
    """
    from heapsmith.bench.record.record import record as run_recorded

    with show.progress() as progress:
        found = run_recorded(
            take.command_words(command),
            take.writable_file(out),
            all_processes=not only,
            stdout=sys.stderr.fileno() if json else None,
            progress=lambda done, total: progress("ordering events", done, total),
        )
    show.emit_json(found) if json else results.recorded(found)
    return found.exit_status


@trace_app.command("info", epilog=take.example("trace info py.hst"))
def trace_info(trace: take.Trace, json: take.Json = False) -> None:
    """Events, threads, sizes, lifetimes, peak live bytes and cross-thread frees of a trace."""
    from heapsmith.model.trace.stats import trace_info as look

    with show.progress() as progress:
        found = look(trace, progress=progress)
    show.emit_json(found) if json else results.trace_info(found)


@trace_app.command("print", epilog=take.example("trace print py.hst --first 1000 --count 20"))
def trace_print(
    trace: take.Trace,
    first: Annotated[int, typer.Option(metavar="N", help="The number of the first event.", min=0)] = 0,
    count: Annotated[int | None, typer.Option(metavar="N", help="How many events; all without it.", min=0)] = None,
) -> None:
    """The events as text: number, time in ns, thread, operation, block, size, alignment."""
    from heapsmith.model.trace.reader import print_events

    print_events(trace, sys.stdout, first, count)


@trace_app.command("verify", epilog=take.example("trace verify py.hst", "trace verify broken.hst --salvage whole.hst"))
def trace_verify(
    trace: take.Trace,
    salvage: Annotated[
        Path | None, typer.Option(metavar="OUT", help="Write what precedes the damage as a whole trace.")
    ] = None,
    json: take.Json = False,
) -> None:
    """Check every checksum and rule of a trace; with --salvage, recover what precedes the damage."""
    from heapsmith.model.trace.reader import salvage as recover
    from heapsmith.model.trace.reader import verify as check

    if salvage is None:
        whole = check(trace)
        show.emit_json(whole) if json else show.struct(whole)
        return
    if salvage.exists() and salvage.samefile(trace):
        raise BadInput(f"{salvage}: is the trace to salvage; expected another file")
    found = recover(trace, take.writable_file(salvage))
    show.emit_json(found) if json else show.struct(found)
    if found.damage and found.events == 0:
        raise CheckFailed(f"{trace}: nothing precedes the damage: {salvage} is an empty trace")


@trace_app.command("import", epilog=take.example("trace import realloc-bal.rep -o realloc.hst"))
def trace_import(
    source: Annotated[Path, typer.Argument(metavar="FILE", help="CS:APP malloc-lab text (.rep).", show_default=False)],
    out: take.OutFile,
    json: take.Json = False,
) -> None:
    """Make a trace of a malloc-lab .rep file."""
    from heapsmith.model.trace.imports import import_rep

    found = import_rep(source, take.writable_file(out))
    show.emit_json(found) if json else show.struct(found)
