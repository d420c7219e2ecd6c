"""The commands of call sites: which code the memory of a trace is for."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from heapsmith.api import show
from heapsmith.api.stated import Option
from heapsmith.commands import arguments as take
from heapsmith.commands import profiles
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
    Literal["pinned", "peak", "asked", "requests", "life", "temporary"],
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


def whole_stacks(trace: take.Trace, by: By, skip: Skip) -> "Groups":
    """The whole stacks of a trace, as profiles have them."""
    from heapsmith.tools.sites.grouping import group_sites

    return group_sites(trace, by, 0, skip or [])


def have_stacks(*traces: Path) -> bool:
    """Whether all of these traces have call stacks."""
    from heapsmith.model.trace.reader import TraceReader

    for trace in traces:
        with TraceReader(trace) as reader:
            if not reader.header.has_sites:
                return False
    return True


def frames(by: By, depth: Depth) -> int:
    """How many frames tell rows apart; 0: all."""
    return depth or (0 if by == "path" else 1)


def grouped(trace: take.Trace, by: By, depth: Depth, skip: Skip) -> "Groups":
    """The sites of a trace in groups, as the options say."""
    from heapsmith.tools.sites.grouping import group_sites

    return group_sites(trace, by, frames(by, depth), skip or [])


@app.command(
    epilog=example(
        "sites job.hst",
        "sites job.hst --design default --design lean --sort peak",
        "sites job.hst --by function --skip 'Py.*_New.*' --top 40",
        "sites job.hst --format pprof -o job.pb.gz",
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
    form: profiles.Form = "text",
    out: profiles.Out = None,
    weight: profiles.Weight = None,
    json: take.Json = False,
) -> None:
    """Print which code the memory of a trace is for, and whose blocks keep the pages of each design.

    The trace needs call stacks (record --stacks). Pinned are the pages that only this row's blocks keep, when live
    blocks keep most in vain after the peak (docs/report.md).
    """
    from heapsmith.model.design.design import load
    from heapsmith.model.memory.hardware import load_hardware
    from heapsmith.model.predict.pins_at_moments import site_lives
    from heapsmith.tools.profiles.made import of_sites
    from heapsmith.tools.sites.advice import with_advice
    from heapsmith.tools.sites.scoped import with_scoped
    from heapsmith.tools.sites.sites import site_table

    chosen = profiles.chosen(form, out, weight, json)
    hardware = load_hardware(machine) if machine is not None else None
    designs = [load(name) for name in design]
    with show.progress() as progress:
        if chosen.is_profile:
            whole, moments = whole_stacks(trace, by, skip), at or []
            table = of_sites(whole, frames(by, depth), designs, hardware=hardware, at=moments, progress=progress)
            profiles.emit(table, chosen)
            return
        groups = grouped(trace, by, depth, skip)
        lives = site_lives(groups.grouped, progress)
        found = site_table(groups, lives, designs, hardware=hardware, order=order, at=at or [], progress=progress)
        found = with_scoped(groups, found, progress)
        if advice:
            found = with_advice(groups, lives, found, designs, hardware=hardware, progress=progress)
    if chosen.is_json:
        show.emit_json(found)
        return
    results.sites(found, top, order)
    results.scoped(found, top)


@app.command(
    epilog=example("leaks job.hst", "leaks job.hst --by function --at 3000000", "leaks job.hst --format collapsed")
)
def leaks(
    trace: take.Trace,
    by: By = "site",
    depth: Depth = None,
    skip: Skip = None,
    top: Top = 20,
    at: Annotated[
        int | None, Option("Blocks live after this event, from 0. Default: the last.", "EVENT", least=0)
    ] = None,
    form: profiles.Form = "text",
    out: profiles.Out = None,
    weight: profiles.Weight = None,
    json: take.Json = False,
) -> None:
    """Print which code's blocks were never freed. First come those whose number grows through the whole trace.

    The trace needs call stacks (record --stacks). A program that frees all at its end shows its leaks at an earlier
    event (--at).
    """
    from heapsmith.tools.profiles.made import of_leaks
    from heapsmith.tools.sites.leaks import leak_table

    chosen = profiles.chosen(form, out, weight, json)
    with show.progress() as progress:
        if chosen.is_profile:
            profiles.emit(of_leaks(whole_stacks(trace, by, skip), at, progress), chosen)
            return
        found = leak_table(grouped(trace, by, depth, skip), at, progress)
    show.emit_json(found) if chosen.is_json else results.leaks(found, top)


@app.command(
    epilog=example(
        "diff before.hst after.hst",
        "diff before.hst after.hst --by site --sort asked",
        "diff before.hst after.hst --format pprof -o change.pb.gz",
    )
)
def diff(
    first: take.Trace,
    second: take.Trace,
    by: By = "function",
    depth: Depth = None,
    skip: Skip = None,
    order: Annotated[
        Literal["peak", "asked", "requests", "life", "end"],
        Option("By what difference rows are sorted.", flags="--sort"),
    ] = "peak",
    top: Top = 20,
    form: profiles.Form = "text",
    out: profiles.Out = None,
    weight: profiles.Weight = None,
    json: take.Json = False,
) -> None:
    """Print how two traces differ: peaks, lifetimes, sizes, and if both have call stacks, which code asks for more.

    Rows of the two are the same site if their names are equal.
    """
    from heapsmith.tools.profiles.made import of_difference
    from heapsmith.tools.sites.diff import difference

    chosen = profiles.chosen(form, out, weight, json)
    if chosen.is_profile:
        with show.progress() as progress:
            whole = whole_stacks(first, by, skip), whole_stacks(second, by, skip)
            profiles.emit(of_difference(whole, progress), chosen)
            return
    has_stacks = have_stacks(first, second)
    with show.progress() as progress:
        groups = (grouped(first, by, depth, skip), grouped(second, by, depth, skip)) if has_stacks else None
        found = difference((first, second), groups, by, order=order, progress=progress)
    show.emit_json(found) if chosen.is_json else results.difference(found, top)
