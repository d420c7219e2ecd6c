"""The command line: the commands of all groups, and the options of the program itself.

Commands import the modules that need numpy or numba: help and completion must not wait for them.
"""

from typing import Annotated

import typer

import heapsmith
from heapsmith.commands import (
    assistants,
    designs,
    export,
    fleet,
    gates,
    inspection,
    knobs,
    live,
    model,
    runs,
    sampled,
    sites,
    trace_synth,
    trace_tools,
    traces,
    trials,
)

app = typer.Typer(
    name="heapsmith",
    help="Make malloc for a workload: record, simulate, tune, generate C, prove it, preload it.",
    epilog="Start with:  heapsmith forge -o out -- CMD...    (then see out/report.html)",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
OF_TRACES = (traces, export, inspection, sites, designs, model, fleet, gates)
GROUPS = (*OF_TRACES, runs, live, sampled, trials, knobs, assistants)
traces.trace_app.add_typer(trace_tools.app)
for group in GROUPS:
    app.add_typer(group.app)
traces.trace_app.add_typer(trace_synth.app)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"heapsmith {heapsmith.__version__}")
        raise typer.Exit()


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass
