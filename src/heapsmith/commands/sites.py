"""The commands of call sites: which code the memory of a trace is for."""

from typing import TYPE_CHECKING, Annotated, Literal

from heapsmith.api import show
from heapsmith.api.stated import Option
from heapsmith.commands import arguments as take
from heapsmith.commands import results_sites as results
from heapsmith.commands.options import Commands, example

if TYPE_CHECKING:
    from heapsmith.tools.sites.grouping import Groups

app = Commands()

By = Annotated[
    Literal["site", "path", "function", "module"],
    Option("What a row is: a place in the code, a whole call path, a function or a file of code.", flags="--by"),
]
Depth = Annotated[int | None, Option("Frames that tell rows apart.", "FRAMES", least=1, usual="1, all of a path")]
Skip = Annotated[
    list[str] | None, Option("Functions that allocate for their caller, besides those known; repeat it.", "REGEX")
]
Top = Annotated[int, Option("Rows to print; --json has all.", least=1)]
Order = Annotated[
    Literal["pinned", "peak", "allocated", "requests", "life"],
    Option("What the first rows have most of.", flags="--sort"),
]
SiteDesigns = Annotated[
    list[str], Option("A design whose pages are looked at; repeat it to compare designs.", "DESIGN", "--design")
]
At = Annotated[
    list[int] | None, Option("Show the pages after this event, from 0; repeatable.", "EVENT", "--at", least=0)
]

Machine = Annotated[
    str | None,
    Option("Count resident pages, not committed ones: a built-in machine or a file.", "MACHINE", "--machine"),
]


def grouped(trace: take.Trace, by: By, depth: Depth, skip: Skip) -> "Groups":
    """The sites of a trace in groups, as the options say."""
    from heapsmith.tools.sites.grouping import group_sites

    return group_sites(trace, by, depth or (0 if by == "path" else 1), skip or [])


@app.command(
    epilog=example(
        "sites job.hst",
        "sites job.hst --design default --design lean --sort peak",
        "sites job.hst --by function --skip 'Py.*_New.*' --top 40",
    )
)
def sites(
    trace: take.Trace,
    design: SiteDesigns = ["default"],  # noqa: B006
    by: By = "site",
    depth: Depth = None,
    skip: Skip = None,
    order: Order = "pinned",
    top: Top = 20,
    at: At = None,
    machine: Machine = None,
    advice: Annotated[bool, Option("Say what to do, with figures that are simulated.")] = True,
    json: take.Json = False,
) -> None:
    """Print which code the memory of a trace is for, and whose blocks keep the pages of each design.

    The trace needs call stacks (record --stacks). Pinned are the pages that only this row's blocks keep, when live
    blocks keep most in vain after the peak (docs/sites.md).
    """
    from heapsmith.model.design.design import load
    from heapsmith.model.memory.hardware import load_hardware
    from heapsmith.model.predict.pins_at_moments import site_lives
    from heapsmith.tools.sites.advice import with_advice
    from heapsmith.tools.sites.sites import site_table

    hardware = load_hardware(machine) if machine is not None else None
    designs = [load(name) for name in design]
    with show.progress() as progress:
        groups = grouped(trace, by, depth, skip)
        lives = site_lives(groups.grouped, progress)
        found = site_table(groups, lives, designs, hardware=hardware, order=order, at=at or [], progress=progress)
        if advice:
            found = with_advice(groups, lives, found, designs, hardware=hardware, progress=progress)
    show.emit_json(found) if json else results.sites(found, top)


@app.command(epilog=example("leaks job.hst", "leaks job.hst --by function --at 3000000"))
def leaks(
    trace: take.Trace,
    by: By = "site",
    depth: Depth = None,
    skip: Skip = None,
    top: Top = 20,
    at: Annotated[
        int | None, Option("Blocks live after this event, from 0. Default: the last.", "EVENT", least=0)
    ] = None,
    json: take.Json = False,
) -> None:
    """Print which code's blocks were never freed. First come those whose number grows through the whole trace.

    The trace needs call stacks (record --stacks). A program that frees all at its end shows its leaks at an earlier
    event (--at).
    """
    from heapsmith.tools.sites.leaks import leak_table

    with show.progress() as progress:
        found = leak_table(grouped(trace, by, depth, skip), at, progress)
    show.emit_json(found) if json else results.leaks(found, top)


@app.command(epilog=example("diff before.hst after.hst", "diff before.hst after.hst --by site --sort allocated"))
def diff(
    first: take.Trace,
    second: take.Trace,
    by: By = "function",
    depth: Depth = None,
    skip: Skip = None,
    order: Annotated[
        Literal["peak", "allocated", "requests", "life", "end"],
        Option("By what difference rows are sorted.", flags="--sort"),
    ] = "peak",
    top: Top = 20,
    json: take.Json = False,
) -> None:
    """Print how two traces differ: peaks, lifetimes, sizes, and if both have call stacks, which code asks for more.

    Rows of the two are the same site if their names are equal.
    """
    from heapsmith.model.trace.reader import TraceReader
    from heapsmith.tools.sites.diff import difference

    has_stacks = True
    for trace in (first, second):
        with TraceReader(trace) as reader:
            has_stacks = has_stacks and reader.header.has_sites
    with show.progress() as progress:
        groups = (grouped(first, by, depth, skip), grouped(second, by, depth, skip)) if has_stacks else None
        found = difference((first, second), groups, by, order=order, progress=progress)
    show.emit_json(found) if json else results.difference(found, top)
