"""The commands that make traces of traces: filter, slice, merge, cat, sample, scale, repair; and trace diff."""

import difflib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from heapsmith.api import show
from heapsmith.api.stated import Option
from heapsmith.commands import arguments as take
from heapsmith.commands import ranges, results_traces, sites, standard
from heapsmith.commands.options import Commands, example
from heapsmith.model.errors import BadInput

if TYPE_CHECKING:
    from heapsmith.model.trace.edit.output import Edited

app = Commands()

Time = Annotated[str | None, Option("Milliseconds since the first event, or shares: 10%:50%.", "FIRST:LAST", "--time")]
MS = 1_000_000
MOST_COPIES = 1024


def _done(found: "Edited", out: Path, json: bool) -> None:
    """Print what a tool made, and on standard error what it could not keep."""
    for what in found.dropped:
        show.note(f"heapsmith: {found.out} lacks {what}")
    if found.events_before and not found.max_blocks:
        show.note(f"heapsmith: {found.out} has no blocks: none of the trace was chosen")
    with standard.result(out):
        if json:
            show.emit_json(found)
        else:
            names = [name for name in found.__struct_fields__ if name != "dropped"]
            show.fields((name, show.figure(getattr(found, name))) for name in names)


def _time(text: str, trace: Path) -> tuple[int, int]:
    """The nanoseconds of --time; BadInput if the trace has no event in them."""
    from heapsmith.model.trace.reader import TraceReader
    from heapsmith.model.trace.slices import last_time_ns

    with TraceReader(trace) as reader:
        last = last_time_ns(reader)
    bounds = ranges.span("--time", text, MS, lambda: last)
    if not last:
        raise BadInput(f"--time {text}: {trace} has no times; expected a trace with times, or a range of events")
    return ranges.inside("--time", text, bounds, last + 1, f"{trace} has times from 0 to {last / MS:.6g} ms")


def _events(text: str, trace: Path) -> tuple[int, int]:
    """The numbers of --events; BadInput if the trace has none of them."""
    from heapsmith.model.trace.reader import TraceReader

    with TraceReader(trace) as reader:
        count = reader.footer.events
    bounds = ranges.span("--events", text, 1, lambda: count)
    extent = f"{trace} has {f'events 0 to {count - 1:,}' if count else 'no events'}"
    return ranges.inside("--events", text, bounds, count, extent)


def _sites(trace: Path, wanted: list[str], by: sites.By) -> frozenset[int]:
    """The numbers of the sites that have these names, or are these numbers; BadInput for a name without sites."""
    numbers = {int(name) for name in wanted if name.isdecimal()}
    names = [name for name in wanted if not name.isdecimal()]
    if names:
        groups = sites.grouped(trace, by, None, [])
        known = [groups.name(group) for group in range(groups.grouped.groups)]
        for name in names:
            pattern = re.compile("".join(".*" if part == "*" else re.escape(part) for part in re.split(r"(\*)", name)))
            found = {group for group, one in enumerate(known) if pattern.fullmatch(one)}
            if not found:
                near = f"{_near(name, known)}, and `heapsmith sites --by {by}` lists all"
                raise BadInput(f"--site {name}: {trace} has no such site; {near}")
            numbers |= {site for site, group in enumerate(groups.grouped.group_of_site.tolist()) if group in found}
    return frozenset(numbers)


def _near(name: str, known: list[str]) -> str:
    """The known names that have this one in them or are like it, at most three."""
    part = name.strip("*").lower()
    near = [one for one in known if part in one.lower()] or difflib.get_close_matches(name, known, cutoff=0.5)
    return f"near are {', '.join(near[:3])}" if near else "no name is near"


@app.command(
    "filter",
    epilog=example(
        "trace filter job.hst -o small.hst --sizes :1024",
        "trace filter job.hst -o two.hst --threads 0,3-5 --time 10%:50%",
        "trace filter job.hst -o cache.hst --site 'cache_insert*'",
    ),
)
def trace_filter(
    trace: take.Trace,
    out: take.OutTrace,
    threads: Annotated[
        str | None, Option("Blocks that these threads allocated; the threads alone start.", "N,N-N")
    ] = None,
    sizes: Annotated[str | None, Option("Blocks that were born with MIN to MAX bytes.", "MIN:MAX")] = None,
    site: Annotated[
        list[str] | None,
        Option("Blocks of a site, by its name in `sites` (* matches all) or its number; repeat it.", "NAME|NUMBER"),
    ] = None,
    by: sites.By = "site",
    time: Time = None,
    json: take.Json = False,
) -> None:
    """Write the blocks that were born as the options say, each with its whole life.

    All options must hold. A block's size, thread, site and time are those of its birth.
    """
    from heapsmith.model.trace.edit.selection import Criteria, filter_trace

    criteria = Criteria(
        threads=None if threads is None else ranges.members("--threads", threads),
        sizes=(0, ranges.MAX) if sizes is None else ranges.span("--sizes", sizes),
        sites=None if not site else _sites(trace, site, by),
        time_ns=(0, ranges.MAX) if time is None else _time(time, trace),
    )
    with show.progress() as progress:
        found = filter_trace(trace, standard.for_output(out), criteria, progress)
    _done(found, out, json)


@app.command(
    "slice",
    epilog=example(
        "trace slice job.hst -o part.hst --events 1000000:2000000",
        "trace slice job.hst -o start.hst --time :20%",
        "trace slice job.hst -o peak.hst --peak 100000",
    ),
)
def trace_slice(
    trace: take.Trace,
    out: take.OutTrace,
    events: Annotated[
        str | None, Option("From event FIRST to before LAST, from 0, or shares: 10%:50%.", "FIRST:LAST")
    ] = None,
    time: Time = None,
    peak: Annotated[
        int | None, Option("N events through the one after which live bytes are most, and N more.", least=1)
    ] = None,
    json: take.Json = False,
) -> None:
    """Write a part of a trace. Blocks and threads that are alive at its begin are born there."""
    from heapsmith.model.trace.edit.window import Window, peak_event, slice_trace

    if [events, time, peak].count(None) != 2:
        raise BadInput("expected one of --events, --time and --peak")
    with show.progress() as progress:
        if events is not None:
            window = Window(events=_events(events, trace))
        elif time is not None:
            window = Window(time_ns=_time(time, trace))
        else:
            after = peak_event(trace, progress) + 1
            window = Window(events=(max(0, after - (peak or 0)), after + (peak or 0)))
        found = slice_trace(trace, standard.for_output(out), window, progress)
    _done(found, out, json)


@app.command(
    "merge", epilog=example("trace merge a.hst b.hst -o both.hst", "trace merge a.hst b.hst -o both.hst --begin 0,250")
)
def trace_merge(
    traces: take.ManyTraces,
    out: take.OutTrace,
    begin: Annotated[
        str | None,
        Option("When each trace begins, in milliseconds. Default: as in their recording, else together.", "MS,MS"),
    ] = None,
    json: take.Json = False,
) -> None:
    """Write several traces as one, side by side by time. Threads and blocks of each are its own; sites stay."""
    from heapsmith.model.trace.edit.several_traces import merge_traces

    begins = None if begin is None else [_milliseconds("--begin", text) for text in begin.split(",")]
    if begins is not None and len(begins) != len(traces):
        raise BadInput(f"--begin {begin}: expected a time for each of {len(traces)} traces")
    with show.progress() as progress:
        found = merge_traces(traces, standard.for_output(out), begins, progress)
    _done(found, out, json)


def _milliseconds(option: str, text: str) -> int:
    """The nanoseconds of a number of milliseconds; BadInput for any other text."""
    if not re.fullmatch(r"[0-9]{1,12}(\.[0-9]+)?", text):
        raise BadInput(f"{option} {text}: expected milliseconds such as 250 or 0.5")
    return round(float(text) * MS)


@app.command("cat", epilog=example("trace cat a.hst b.hst -o both.hst --free"))
def trace_cat(
    traces: take.ManyTraces,
    out: take.OutTrace,
    free: Annotated[bool, Option("What is alive at the end of a trace dies there, but for the last trace.")] = False,
    gap: Annotated[str, Option("Milliseconds between two traces.", "MS")] = "0",
    json: take.Json = False,
) -> None:
    """Write several traces as one, one after the other. Blocks that are alive at an end stay alive, or see --free."""
    from heapsmith.model.trace.edit.several_traces import concatenate

    gap_ns = _milliseconds("--gap", gap)
    with show.progress() as progress:
        found = concatenate(traces, standard.for_output(out), gap_ns=gap_ns, free=free, progress=progress)
    _done(found, out, json)


@app.command("sample", epilog=example("trace sample job.hst -o tenth.hst --rate 0.1 --seed 7"))
def trace_sample(
    trace: take.Trace,
    out: take.OutTrace,
    rate: Annotated[str, Option("The share of blocks: 0.1 or 10%.", "SHARE")],
    seed: Annotated[int, Option("Another seed chooses other blocks.", least=0)] = 0,
    json: take.Json = False,
) -> None:
    """Write a random share of the blocks, each with its whole life, and all threads. `trace info` shows the rate."""
    from heapsmith.model.trace.edit.selection import sample_trace

    share = take.share("--rate", rate)
    if not 0 < share <= 1:
        raise BadInput(f"--rate {rate}: expected a share above 0 and at most 1")
    with show.progress() as progress:
        found = sample_trace(trace, standard.for_output(out), share, seed, progress)
    _done(found, out, json)


@app.command("scale", epilog=example("trace scale job.hst -o four.hst -n 4 --stagger 50"))
def trace_scale(
    trace: take.Trace,
    out: take.OutTrace,
    copies: Annotated[int, Option("Copies, up to 1,024.", flags="-n", least=1)],
    stagger: Annotated[str, Option("Milliseconds by which each copy begins after the one before.", "MS")] = "0",
    json: take.Json = False,
) -> None:
    """Write N copies of a trace side by side by time, each with threads and blocks of its own."""
    from heapsmith.model.trace.edit.several_traces import scale_trace

    stagger_ns = _milliseconds("--stagger", stagger)
    if copies > MOST_COPIES:
        raise BadInput(f"-n {copies}: expected 1 to {MOST_COPIES} copies")
    with show.progress() as progress:
        found = scale_trace(trace, standard.for_output(out), copies, stagger_ns, progress)
    _done(found, out, json)


@app.command("repair", epilog=example("trace repair broken.hst -o whole.hst"))
def trace_repair(trace: take.Trace, out: take.OutTrace, json: take.Json = False) -> None:
    """Write a whole trace of what is sound in a damaged one, wherever the damage is, and print what is lost.

    Chunks with damage are left out. Events that break rules are dropped, or what was not seen is put in.
    """
    from heapsmith.model.trace.edit.repair import repair

    if out.exists() and out.samefile(trace):
        raise BadInput(f"{out}: this is the trace to repair; expected another file")
    with show.progress() as progress:
        found = repair(trace, standard.for_output(out), progress)
    with standard.result(out):
        show.emit_json(found) if json else results_traces.repaired(found)


app.command("diff", epilog=example("trace diff before.hst after.hst"))(sites.diff)
