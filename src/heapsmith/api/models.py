"""The model in Python: simulate designs on a trace, and search for the best design."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypedDict, Unpack

from heapsmith.api.designs import DesignLike, PageSize, for_any_trace, models_of
from heapsmith.api.results import Progress, Result
from heapsmith.api.stated import Option, Unfit
from heapsmith.api.traces import TRACE, TraceLike
from heapsmith.api.typed import typed
from heapsmith.model.memory import Part

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from heapsmith.model.design import design as model
    from heapsmith.model.memory.application import Application
    from heapsmith.model.memory.hardware import Hardware
    from heapsmith.model.predict.ledgers import LedgerTable
    from heapsmith.model.predict.simulate import Simulation, SimulationTable

MachineLike = str | os.PathLike[str]
"""A built-in machine, a file that `heapsmith calibrate` wrote, or "here": this machine's caches, without costs."""

MACHINE = Option(
    "Also simulate caches, TLBs and pages: a built-in machine, a file that calibrate wrote, or `here`.", "MACHINE"
)
Births = Annotated[
    Part | None, Option("What the program writes of a new block: nothing, its ends, or all.", usual="all")
]
Deaths = Annotated[Part | None, Option("What the program reads of a block before it frees it.", usual="ends")]


class Simulated:
    """One design on a trace. Sizes are in bytes."""

    details: Simulation
    design: str
    """The design's name."""
    committed_peak: int
    """The most bytes committed."""
    peak_ratio: float
    """committed_peak over the most live bytes asked for."""

    def __init__(self, details: Simulation) -> None:
        self.details, self.design = details, details.design
        self.committed_peak, self.peak_ratio = details.committed_peak, details.peak_ratio

    def __repr__(self) -> str:
        return f"<heapsmith Simulated {self.design}: {self.committed_peak:,} bytes committed at the peak>"

    @property
    def resident_peak(self) -> int | None:
        """The most bytes resident; None without a machine."""
        return self.details.touches.resident_peak if self.details.touches else None

    @property
    def ns_per_op(self) -> float | None:
        """Predicted nanoseconds per operation of a replay; None without a machine that has costs."""
        return self.details.price.ns_per_op if self.details.price else None

    @property
    def block_sizes(self) -> npt.NDArray[np.int64]:
        """The block size of each class, in the order of `counters`."""
        import numpy as np

        return np.array(self.details.block_sizes, np.int64)

    @property
    def counters(self) -> dict[str, npt.NDArray[np.int64]]:
        """The counters of docs/machine.md that are kept by size class: a number for each class."""
        import numpy as np

        return {name: np.array(counts, np.int64) for name, counts in self.details.counters.classes.items()}

    @property
    def totals(self) -> dict[str, int]:
        """The other counters of docs/machine.md."""
        return self.details.counters.totals

    @property
    def locks(self) -> dict[str, int]:
        """How many locks were taken, by path and stage (docs/machine-rooms.md, 'locks')."""
        return self.details.counters.locks

    @property
    def timeline(self) -> dict[str, npt.NDArray[np.int64]]:
        """Up to 1,024 moments: event, and the live, committed and resident bytes then (0 without a machine)."""
        import numpy as np

        names = ("event", "live_bytes", "committed_bytes", "resident_bytes")
        moments = np.array(self.details.statistics.timeline, np.int64).reshape(-1, len(names))
        return dict(zip(names, moments.T, strict=True))


class Ledgers(Result):
    """What the bytes of each design are for: at the peak, on average, at the end (docs/report.md)."""

    details: LedgerTable

    def _rows(self) -> Iterable[Any]:
        """Return a row for each design."""
        return self.details.ledgers

    def show(self) -> None:
        """Print the ledgers as `heapsmith simulate --bytes` does."""
        from heapsmith.api import printed

        printed.ledgers(self.details)


class _Pass(NamedTuple):
    """What a simulation was of."""

    designs: list[model.Design]
    page_bytes: int | None
    hardware: Hardware | None
    application: Application


class Simulations(Result):
    """Designs side by side on a trace: a row for each design, by its name or its place."""

    details: SimulationTable

    def __init__(self, details: SimulationTable, of: _Pass) -> None:
        super().__init__(details)
        self._of = of

    def __getitem__(self, design: str | int) -> Simulated:
        if isinstance(design, int):
            return Simulated(self.details.rows[design])
        for row in self.details.rows:
            if row.design == design:
                return Simulated(row)
        raise KeyError(design)

    def __iter__(self) -> Iterator[Simulated]:
        return map(Simulated, self.details.rows)

    def __len__(self) -> int:
        return len(self.details.rows)

    def _rows(self) -> Iterable[Any]:
        """Return a row for each design."""
        return self.details.rows

    @typed
    def bytes(
        self,
        at: Annotated[
            Sequence[int], Option("Also after this event, from 0[ (with --bytes; repeatable)].", "EVENT", least=0)
        ] = (),
        *,
        progress: Progress | None = None,
    ) -> Ledgers:
        """Return what the bytes of each design are for: a second pass over the trace, with a machine a third.

        Raises BadInput for an event beyond the trace.
        """
        from heapsmith.model.design.fitted import plan_for
        from heapsmith.model.predict.ledgers import with_ledgers

        designs, page_bytes, hardware, application = self._of
        plans, moments = [plan_for(one, page_bytes) for one in designs], [int(one) for one in at]
        return Ledgers(with_ledgers(self.details, plans, hardware, application, at=moments, progress=progress))

    def show(self) -> None:
        """Print the tables of `heapsmith simulate`."""
        from heapsmith.api import printed

        printed.simulated(self.details)


class SimulateOptions(TypedDict, total=False):
    """The options of `simulate` for other systems, which say what each is."""

    page_size: PageSize


@typed
def simulate(
    trace: Annotated[TraceLike, TRACE],
    designs: Annotated[
        DesignLike | Iterable[DesignLike] | None,
        Option("A design[; repeat it to compare them]. Default: built-in ones for any trace.", "DESIGN", "--design"),
    ] = None,
    *,
    machine: Annotated[MachineLike | None, MACHINE] = None,
    births: Births = None,
    deaths: Deaths = None,
    times: Literal["dense", "recorded"] | None = None,
    cores: Annotated[
        Sequence[int], Option("Also the threads on these numbers of cores, with their waits for locks.", "N[,N]...")
    ] = (),
    progress: Progress | None = None,
    **options: Unpack[SimulateOptions],
) -> Simulations:
    """Simulate designs on a trace, side by side; by default all built-in designs that serve any trace.

    times: also follow the time of each operation, for each number of `cores` (default: those of the machine).
    Between its events a thread spends no time ("dense"), or what the trace tells ("recorded"). Memory does not
    grow with the trace. Raises BadInput for a damaged trace and an illegal design, and for times without a
    machine that has costs.

    >>> from heapsmith import Trace
    >>> trace = Trace.from_arrays("a.hst", op=["malloc", "free"], block=[1, 1], size=[24, 0])
    >>> found = simulate(trace, ["lean", "bare"])
    >>> [row.design for row in found], int(found["lean"].counters["refill"].sum())
    (['lean', 'bare'], 1)
    """
    from heapsmith.model.design.fitted import plan_for
    from heapsmith.model.errors import BadInput
    from heapsmith.model.memory.hardware import load_hardware
    from heapsmith.model.predict.simulate import simulate as run_model
    from heapsmith.model.predict.times import priced, timed

    cores = [int(one) for one in cores]
    if machine is None and (births or deaths):
        raise Unfit(("births", "deaths"), "expected {machine} too, whose caches they fill")
    if machine is None and (times or cores):
        raise Unfit(("times", "cores"), "expected {machine} too, whose costs they use")
    if times not in (None, "dense", "recorded"):
        raise BadInput(f"times: {times!r}; expected 'dense' or 'recorded'")
    hardware = load_hardware(os.fspath(machine)) if machine is not None else None
    chosen, path = models_of(for_any_trace() if designs is None else designs), Path(trace)
    if not chosen:
        raise BadInput("designs: expected at least one")
    application = application_of(path, births, deaths)
    wanted = hardware if times or cores else None
    if wanted:
        priced(wanted)
    page_bytes = _page_bytes(options.get("page_size"), hardware)
    found = run_model(
        path, chosen, hardware=hardware, application=application, page_bytes=page_bytes, progress=progress
    )
    if wanted:
        plans, paced = [plan_for(one, page_bytes) for one in chosen], times == "recorded"
        found = timed(found, plans, wanted, application, cores=cores, paced=paced, progress=progress)
    return Simulations(found, _Pass(chosen, page_bytes, hardware, application))


def _page_bytes(page_size: str | None, hardware: Hardware | None) -> int | None:
    """Return the pages that simulations ask for; None: those of x86-64. Raises BadInput for a size that is none."""
    from heapsmith.model.design.fitted import PAGE_NAMES
    from heapsmith.model.errors import BadInput

    if page_size is None:
        return hardware.other_pages() if hardware else None
    if page_size not in PAGE_NAMES:
        raise BadInput(f"page_size: {page_size!r}; expected {', '.join(PAGE_NAMES)}")
    return PAGE_NAMES[page_size]


def application_of(trace: Path, births: Part | None, deaths: Part | None) -> Application:
    """Return what the program of the trace touches; None: as of a program of which nothing is known."""
    from heapsmith.model.memory.application import PROGRAM, program_of

    return program_of(trace, births or PROGRAM.births, deaths or PROGRAM.deaths)
