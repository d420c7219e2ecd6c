"""The command that records a program and shows at once which code its memory is for."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

from msgspec import structs

import heapsmith
from heapsmith.api import show
from heapsmith.api.designs import FOLDER
from heapsmith.api.stated import Option
from heapsmith.api.traces import recorded
from heapsmith.commands import arguments as take
from heapsmith.commands import results, results_sites
from heapsmith.commands.options import COMMAND_LINE, Commands, Given, example, options_of

if TYPE_CHECKING:  # the types need numba, which a command imports only when it runs
    from heapsmith.api.show import Report
    from heapsmith.model.trace.frames import Samples
    from heapsmith.model.trace.kinds import Kinds
    from heapsmith.tools.sites.leaks import LeakTable
    from heapsmith.tools.sites.sites import SiteTable

app = Commands()

FRAMES, DESIGN = 64, "default"


class Inspection(NamedTuple):
    """What a run's memory is for: the sites with most at the peak first, and the blocks that were never freed.

    resident: what was resident by kind, if anybody looked.
    """

    trace: str
    report: str
    exit_status: int
    sites: "SiteTable"
    leaks: "LeakTable"
    resident: "Kinds | None"


@app.command(
    context_settings=COMMAND_LINE, epilog=example("inspect -- python3 job.py", "inspect -o out/perl -- perl x.pl")
)
@options_of(heapsmith.compare, "command out top", command=take.command_words)
def inspect(
    given: Given,
    out: Annotated[Path, FOLDER] = Path("inspected"),
    top: Annotated[int, Option("Rows of each table; --json has all.", least=1)] = 10,
    json: take.Json = False,
) -> int:
    """Record CMD with call stacks and print which code its memory is for, what it never freed, what was temporary.

    The folder gets the trace run.hst, for sites, leaks and tune, and the page report.html. Of several processes it is
    the busiest. The exit status is that of CMD. CMD has the standard streams; with --json its output goes to standard
    error.
    """
    folder = take.writable_folder(out)
    trace, page = folder / "run.hst", folder / "report.html"
    with show.progress() as progress:
        output = sys.stderr.fileno() if json else None
        run = recorded(given["command"], trace, only=True, stacks=FRAMES, frees=True, stdout=output, progress=progress)
        sites, leaks = _looked_at(trace, progress)
        heapsmith.report(trace, page, designs=DESIGN, progress=progress)
    samples = _samples(trace)
    kinds = samples.kinds if samples else None
    found = Inspection(str(trace), str(page), run.exit_status, sites, leaks, kinds)
    if json:
        show.emit_json(found._asdict())
        return run.exit_status
    results.recorded(run)
    results_sites.sites(sites, top, "peak")
    results_sites.leaks(structs.replace(leaks, reasons=[]), top)  # those of the sites
    results_sites.temporary(sites, top)
    results_sites.scoped(sites, top)
    if samples and kinds:
        from heapsmith.tools.common.resident_words import line

        show.line("")
        show.prose(f"Memory: {line(kinds, samples.resident_peak)}")
    show.note(f"heapsmith: {trace}, {page}: the trace and its page")
    return run.exit_status


def _samples(trace: Path) -> "Samples | None":
    from heapsmith.model.trace.reader import TraceReader

    with TraceReader(trace) as reader:
        return reader.footer.samples


def _looked_at(trace: Path, progress: "Report") -> tuple["SiteTable", "LeakTable"]:
    """The tables of `sites`, with advice, and of `leaks`."""
    from heapsmith.model.design.design import load
    from heapsmith.model.predict.pins_at_moments import site_lives
    from heapsmith.tools.sites.advice import with_advice
    from heapsmith.tools.sites.grouping import group_sites
    from heapsmith.tools.sites.leaks import leaks_of
    from heapsmith.tools.sites.scoped import with_scoped
    from heapsmith.tools.sites.sites import site_table

    groups, designs = group_sites(trace), [load(DESIGN)]
    lives = site_lives(groups.grouped, progress)
    sites = site_table(groups, lives, designs, order="peak", progress=progress)
    sites = with_scoped(groups, sites, progress)
    return with_advice(groups, lives, sites, designs, progress=progress), leaks_of(groups, lives)
