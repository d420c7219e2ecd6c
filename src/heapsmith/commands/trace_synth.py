"""The commands that make a trace which may be given away: anonymise, synth."""

from pathlib import Path
from typing import Annotated

import typer

from heapsmith.api import show
from heapsmith.api.stated import Option
from heapsmith.commands import arguments as take
from heapsmith.commands import results_traces, standard
from heapsmith.commands.options import Commands, example

app = Commands()


@app.command(
    "anonymise",
    epilog=example("trace anonymise py.hst -o anon.hst", "trace anonymise py.hst -o anon.hst --round-sizes"),
)
def trace_anonymise(
    trace: take.Trace,
    out: take.OutTrace,
    round_sizes: Annotated[bool, Option("Round sizes to the largest that no design tells from them.")] = False,
    no_sites: Annotated[bool, Option("Leave the call stacks out.")] = False,
    json: take.Json = False,
) -> None:
    """Make a trace without names: no command line, paths, functions, places in code, or environment.

    Operations, threads, blocks, sizes and times stay, and call stacks as numbers. So every figure of a simulation is
    that of the trace. With --round-sizes all counters are, and committed bytes.
    """
    from heapsmith.model.trace.anonymise import anonymise

    target = standard.for_output(out)
    with show.progress() as progress:
        found = anonymise(trace, target, sites=not no_sites, round_sizes=round_sizes, progress=progress)
    with standard.result(out):
        show.emit_json(found) if json else show.struct(found)


@app.command(
    "synth",
    epilog=example(
        "trace synth --like py.hst -o like-py.hst",
        "trace synth --like py.hst -o long.hst --events 10000000 --save-fit py.json",
        "trace synth --like lesson.toml -o lesson.hst --seed 7",
        "trace synth --like dhat.out.1234 -o guess.hst",
    ),
)
def trace_synth(
    like: Annotated[
        Path,
        typer.Option(
            "--like",
            metavar="TRACE|PROFILE|FIT",
            help="A trace, a heap profile of jemalloc, gperftools, DHAT or pprof, or a fit (JSON or TOML).",
            show_default=False,
            callback=standard.of_input,
        ),
    ],
    out: take.OutTrace,
    events: Annotated[int | None, Option("The number of events. Default: that of the original.", least=1)] = None,
    seed: Annotated[int, Option("Which trace is drawn.", least=0)] = 1,
    save_fit: Annotated[Path | None, Option("Write the fit: TOML if it ends so, else JSON.", "FIT")] = None,
    design: Annotated[
        list[str] | None,
        Option("A design to compare the traces by; repeat it. Default: default, lean, owner and two-level.", "DESIGN"),
    ] = None,
    no_check: Annotated[bool, Option("Do not simulate designs on both traces.")] = False,
    json: take.Json = False,
) -> None:
    """Draw a trace that designs cannot tell from the original: sizes, lifetimes, threads and phases are like its own.

    Of a trace it prints by how much simulated figures differ; the designs are `default`, `lean`, `owner` and
    `two-level`, or those of --design. Of a profile it prints what it assumed.
    """
    from heapsmith.model.design.design import load
    from heapsmith.model.predict.trace_likeness import checked_synth

    target = standard.for_output(out)
    fit = take.writable_file(save_fit) if save_fit is not None else None
    designs = [] if no_check else [load(name) for name in design or ("default", "lean", "owner", "two-level")]
    with show.progress() as progress, standard.whole(target) as written:
        found = checked_synth(like, written, designs=designs, events=events, seed=seed, save_fit=fit, progress=progress)
    with standard.result(out):
        show.emit_json(found) if json else results_traces.synthesised(found)
