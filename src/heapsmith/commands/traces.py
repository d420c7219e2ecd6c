"""The commands of traces: record, show, check, salvage and import them."""

import sys
from pathlib import Path
from typing import Annotated

import heapsmith
from heapsmith.api import printed, show
from heapsmith.api.stated import Argument, Option
from heapsmith.api.traces import COMMAND, check_frames, recorded
from heapsmith.commands import arguments as take
from heapsmith.commands import results, results_traces
from heapsmith.commands.options import COMMAND_LINE, Commands, Given, example, options_of
from heapsmith.model.errors import BadInput

app = Commands()
trace_app = Commands(help="Show traces, check them, make them from other formats.")
app.add_typer(trace_app, name="trace")


@app.command(
    context_settings=COMMAND_LINE,
    epilog=example("record -o py.hst -- python3 -c 'print(1)'", "record -o job.hst --pid 4711 --seconds 60"),
)
@options_of(heapsmith.compare, "command out only stacks depth frees everywhere pid seconds")
@options_of(heapsmith.record, "out only frees", spelled={"stacks": "depth"})
def record(
    given: Given,
    command: Annotated[list[str] | None, COMMAND] = None,
    stacks: Annotated[bool, Option("Record the call stack of each allocation.")] = False,
    depth: Annotated[int, Option("The most frames of a stack, the innermost; up to 256.", "FRAMES", least=1)] = 64,
    pid: Annotated[int | None, Option("Record a process that runs, from now on.", "PID", least=1)] = None,
    seconds: Annotated[str | None, Option("End the recording of PID then: 10s, 5m.", "TIME")] = None,
    wait: take.Wait = False,
    json: take.Json = False,
) -> int:
    """Run CMD and write a trace of its allocations.

    The trace is that of the busiest process; each other process has a trace beside it. The exit status is that of
    CMD. CMD has the standard streams; with --json its output goes to standard error.

    With --pid, the process runs under a design that can be recorded so, such as sampling-ready (docs/live.md). Its
    live blocks are the trace's first events, which have no stacks. It goes on when the recording ends: after --seconds,
    or by Ctrl-C.
    """
    check_frames(depth)
    if pid is not None:
        others = {
            "CMD": command,
            **{f"--{name}": given[name] for name in ("only", "frees", "everywhere")},
            "--wait": wait,
        }
        refused = [name for name, value in others.items() if value]
        return _record_running(pid, given["out"], seconds, refused, stacks=stacks, json=json)
    if seconds is not None:
        raise BadInput("--seconds: is of a process that runs; expected --pid PID too")
    given["command"] = take.command_words("", command or [])
    with show.progress() as progress:
        found = recorded(
            **given,
            stacks=depth if stacks else 0,
            wait=wait,
            stdout=sys.stderr.fileno() if json else None,
            progress=progress,
        )
    show.emit_json(found) if json else results.recorded(found)
    return found.exit_status


def _record_running(pid: int, out: str, seconds: str | None, others: list[str], *, stacks: bool, json: bool) -> int:
    """Record a process that runs, for which the other options mean nothing."""
    from heapsmith.tools.running.record import record_running
    from heapsmith.tools.top.view import served

    if others:
        raise BadInput(f"{others[0]}: is of a command that is started; expected --pid PID without it")
    limit_s = None if seconds is None else take.seconds("--seconds", seconds)
    with show.progress() as progress:
        to = take.writable_file(Path(out))
        found = record_running(served(pid), to, seconds=limit_s, stacks=stacks, progress=progress)
    show.emit_json(found) if json else results_traces.recorded_running(found)
    return 0


@trace_app.command("info", epilog=example("trace info py.hst", "trace info *.hst"))
def trace_info(traces: take.ManyTraces, json: take.Json = False) -> None:
    """Print a trace in figures. They are events, threads, sizes, lifetimes, peak live bytes and cross-thread frees.

    Several traces are a table, and with --json a list.
    """
    from heapsmith.model.trace.stats import trace_info as look

    with show.progress() as progress:
        found = [look(trace, progress=progress) for trace in traces]
    if json:
        show.emit_json(found if len(found) > 1 else found[0])
    elif len(found) > 1:
        results_traces.trace_table(found)
    else:
        printed.trace_info(found[0])


@trace_app.command("print", epilog=example("trace print py.hst --first 1000 --count 20"))
def trace_print(
    trace: take.Trace,
    first: Annotated[int, Option("The number of the first event.", least=0)] = 0,
    count: Annotated[int | None, Option("The number of events. Default: all.", least=0)] = None,
) -> None:
    """Print events as text. Fields: number, time in ns, thread, operation, block, size, alignment."""
    from heapsmith.model.trace.reader import TraceReader, print_events, require_events

    if first:
        with TraceReader(trace) as reader:
            require_events(trace, reader.footer.events, [first])
    print_events(trace, sys.stdout, first, count)


@trace_app.command("verify", epilog=example("trace verify py.hst", "trace verify broken.hst --salvage whole.hst"))
def trace_verify(
    trace: take.Trace,
    salvage: Annotated[
        Path | None, Option("Write the events before the damage to OUT as a whole trace.", "OUT")
    ] = None,
    json: take.Json = False,
) -> None:
    """Check every checksum and rule of a trace. With --salvage, recover the events before the damage."""
    from heapsmith.model.trace.reader import salvage as recover
    from heapsmith.model.trace.reader import verify as check

    if salvage is None:
        whole = check(trace)
        show.emit_json(whole) if json else show.struct(whole)
        return
    if salvage.exists() and salvage.samefile(trace):
        raise BadInput(f"{salvage}: this is the trace to salvage; expected another file")
    found = recover(trace, take.writable_file(salvage))
    show.emit_json(found) if json else show.struct(found)


@trace_app.command(
    "import",
    epilog=example("trace import realloc-bal.rep -o realloc.hst", "trace import --from mtrace log.txt -o py.hst"),
)
def trace_import(
    source: Annotated[Path, Argument("A file of another tool; - is standard input.", "FILE")],
    out: take.OutFile,
    format_name: Annotated[
        str | None,
        Option("Its format (docs/other-tools.md). Default: as the file's first bytes say.", "FORMAT", "--from"),
    ] = None,
    salvage: Annotated[bool, Option("Of a damaged file, keep the calls before the damage.")] = False,
    json: take.Json = False,
) -> None:
    """Make a trace of a file that another tool wrote.

    It prints what the format does not tell, and the trace keeps that.
    """
    from heapsmith.model.trace.imports.formats import import_trace

    with show.progress() as progress:
        found = import_trace(source, take.writable_file(out), format_name, salvage=salvage, progress=progress)
    show.emit_json(found) if json else results_traces.imported(found)
