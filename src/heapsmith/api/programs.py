"""Programs and pages in Python: a command under several mallocs, and the report on traces."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from heapsmith.api.designs import Design, DesignLike, model_of, models_of, paths_of
from heapsmith.api.models import MACHINE, MachineLike
from heapsmith.api.results import Progress, Result, Say
from heapsmith.api.stated import Argument, Option, Unfit
from heapsmith.api.traces import COMMAND, OUT, TraceLike, words_of
from heapsmith.api.typed import typed

if TYPE_CHECKING:
    from heapsmith.tools.common.rounds import Stop
    from heapsmith.tools.compare.measure import MeasureTable
    from heapsmith.tools.compare.worth import Price, WorthTable
    from heapsmith.tools.forge.page import Written

SECONDS = 60.0
"""The longest comparison if nothing else is said."""

ROUNDS = Option("Exactly N counted rounds instead of {seconds}.", least=1)
TIME = Option("Rounds until the intervals are under 2 %[, for 60s, 5m or 1h at most].", "TIME", "--time")
EVERYWHERE = Option("Also in programs that the command starts with another environment or user (as root).")


INSTANCES = Option("How many instances of the program pay the prices.", least=1)
PER_GB = Option("Price of a GB of memory: say what the peak that is saved is worth.", "DOLLARS")
PER_CORE = Option("Price of a processor: say what the CPU time that is saved is worth.", "DOLLARS")


class Compared(Result):
    """A command under several mallocs, a row for each: medians over the rounds, and ratios to the first."""

    details: MeasureTable

    @property
    def libraries(self) -> list[str]:
        """The names of the mallocs, in order."""
        return [row.library for row in self.details.rows]

    @property
    def rounds(self) -> int:
        """The counted rounds."""
        return self.details.rounds

    @property
    def same_output(self) -> bool:
        """Whether no malloc changes the command's output or exit status."""
        return not self.details.differing()

    @typed
    def ratios(self, library: str) -> dict[str, float]:
        """Return CPU time, wall time, peak and average RSS under a malloc, in parts of those under the first.

        Intervals are in `details` and in the frame. Raises KeyError for a name that is none of `libraries`.
        """
        for row in self.details.rows:
            if row.library == library:
                return {name: getattr(row.ratios, name).median for name in row.ratios.__struct_fields__}
        raise KeyError(library)

    @typed
    def worth(
        self,
        *,
        instances: Annotated[int, INSTANCES] = 1,
        dollar_per_gb: Annotated[float | None, PER_GB] = None,
        dollar_per_core: Annotated[float | None, PER_CORE] = None,
    ) -> Worths:
        """Return what each malloc but the first is worth against it, for the span of time that the prices are of.

        Raises BadInput without a price, and for one that is not above 0.
        """
        from heapsmith.tools.compare.worth import WorthTable, worth

        price = price_of(instances, dollar_per_gb, dollar_per_core)
        first, *others = self.details.rows
        return Worths(WorthTable(price, [one for row in others for one in worth(row, first, price)]))

    def _rows(self) -> Iterable[Any]:
        """Return the rows."""
        return self.details.rows

    def show(self) -> None:
        """Print the tables of `heapsmith compare`."""
        from heapsmith.api import printed

        printed.compared(self.details)


class Worths(Result):
    """What savings are worth: a row for each malloc, and for memory and processors."""

    details: WorthTable

    def _rows(self) -> Iterable[Any]:
        """Return the rows."""
        return self.details.rows

    def show(self) -> None:
        """Print a sentence for each."""
        from heapsmith.api import printed

        printed.worth(self.details)


def price_of(instances: int = 1, dollar_per_gb: float | None = None, dollar_per_core: float | None = None) -> Price:
    """Return the prices; BadInput without one, and for one that is not above 0."""
    from heapsmith.tools.compare.worth import Price

    if dollar_per_gb is None and dollar_per_core is None:
        raise Unfit(("instances",), "expected {dollar_per_gb} or {dollar_per_core} too")
    for name, price in (("dollar_per_gb", dollar_per_gb), ("dollar_per_core", dollar_per_core)):
        if price is not None and not 0 < price < math.inf:
            raise Unfit((name,), f"{price:g} is no price; expected a number above 0")
    return Price(instances, dollar_per_gb, dollar_per_core)


@typed
def compare(
    command: Annotated[Sequence[str], COMMAND],
    libraries: Annotated[
        Iterable[DesignLike],
        Option(
            "glibc, a peer (docs/compare.md), a .so or a design[; repeat it to compare].", "LIB|DESIGN", flags="--lib"
        ),
    ],
    *,
    rounds: Annotated[int | None, ROUNDS] = None,
    seconds: Annotated[float | None, TIME] = None,
    env: Mapping[str, str] | None = None,
    everywhere: Annotated[bool, EVERYWHERE] = False,
    progress: Progress | None = None,
    say: Say | None = None,
) -> Compared:
    """Run a command under several mallocs in turn, and compare CPU and wall time, RSS, and output.

    Without `rounds` the rounds go on for `seconds` at most (60), but there are at least 5. The command
    reads /dev/null, and its output is compared, not shown. env: its environment. say: hears how long the
    rounds will take, once that is known and if it is more than `seconds`. Raises BadInput for an
    unknown command or library, a command that LD_PRELOAD does not reach, and both rounds and seconds;
    CheckFailed for a run that takes far longer than the first, and for a library that does not serve the
    processes that do the work.

    >>> measured = compare(["ls", "/"], ["glibc", "default"], rounds=1)
    >>> measured.libraries, measured.same_output
    (['glibc', 'default'], True)
    """
    from heapsmith.tools.common.ratios import LEAST_ROUNDS
    from heapsmith.tools.common.rounds import quiet, silent
    from heapsmith.tools.compare.measure import Given, measure

    stop = stop_of(rounds, seconds, SECONDS, least=LEAST_ROUNDS)._replace(say=say or silent)
    specs = [model_of(one) if isinstance(one, Design) else os.fspath(one) for one in libraries]
    given, report = Given(env, everywhere), progress or quiet
    return Compared(measure(words_of(command), specs, stop=stop, given=given, progress=report))


def stop_of(rounds: int | None, seconds: float | None, usual: float, least: int = 0) -> Stop:
    """Return when rounds end, after `usual` seconds if neither is given; BadInput if both are."""
    from heapsmith.tools.common.rounds import Stop

    if rounds is not None and seconds is not None:
        raise Unfit(("rounds", "seconds"), "expected one of them, not both")
    return Stop(rounds) if rounds is not None else Stop(limit_s=usual if seconds is None else seconds, least=least)


class Report(Result):
    """A page that was written."""

    details: Written

    @property
    def file(self) -> Path:
        """The page's file."""
        return Path(self.details.file)

    def show(self) -> None:
        """Print the page's file, its bytes, and what it shows."""
        from heapsmith.api import printed

        printed.reported(self.details)


@typed
def report(
    sources: Annotated[
        TraceLike | Iterable[TraceLike], Argument("Traces (.hst), or the folder that a forge wrote.", "TRACE|DIR...")
    ],
    out: Annotated[str | os.PathLike[str], OUT],
    *,
    designs: Annotated[
        DesignLike | Iterable[DesignLike],
        Option(
            "A design to show[; repeat it]. Default: `default` and `lean`; of a forge: its base and its design.",
            "DESIGN",
            "--design",
        ),
    ] = (),
    machine: Annotated[MachineLike | None, MACHINE] = None,
    series: Annotated[
        str | os.PathLike[str] | None,
        Option("Also the time lines: .json (Chrome trace, for Perfetto) or .parquet.", "FILE"),
    ] = None,
    glibc: Annotated[bool, Option("Also replay the traces under glibc, and show what its bytes are for.")] = False,
    progress: Progress | None = None,
) -> Report:
    """Write one HTML page on traces, or on the folder that `heapsmith forge` wrote, to `out`.

    Raises BadInput for a damaged trace, a folder that is not the only source or has no forge, and a file
    that cannot be written.

    >>> from heapsmith import Trace
    >>> trace = Trace.from_arrays("a.hst", op=["malloc", "free"], block=[1, 1], size=[24, 0])
    >>> report(trace, "a.html", designs="lean").file.name
    'a.html'
    """
    from heapsmith.model.files import writable_file
    from heapsmith.model.memory.hardware import load_hardware
    from heapsmith.tools.forge.page import write_report
    from heapsmith.tools.page.series import check_series

    path, lines = writable_file(Path(out)), writable_file(Path(series)) if series is not None else None
    if lines is not None:
        check_series(lines)
    hardware = load_hardware(os.fspath(machine)) if machine is not None else None
    written = write_report(
        path, paths_of(sources), models_of(designs), hardware=hardware, series=lines, glibc=glibc, progress=progress
    )
    return Report(written)
