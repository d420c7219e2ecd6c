"""The search in Python: the best design for traces, and the front."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict, Unpack

from heapsmith.api.designs import Design, DesignLike, model_of, paths_of
from heapsmith.api.models import MachineLike
from heapsmith.api.results import Progress, Result
from heapsmith.api.stated import Argument, Option, defaults
from heapsmith.api.traces import Trace, TraceLike
from heapsmith.api.typed import typed
from heapsmith.model.search import MOST_CLASSES, Favour

if TYPE_CHECKING:
    from heapsmith.model.search.tune import Tuned as Choice
    from heapsmith.model.search.workers import Hire


class Tuned(Result):
    """The design that `tune` chose, and the front: designs that no other beats in all objectives."""

    details: Choice

    @property
    def design(self) -> Design:
        """The choice. Its file has the reason beside each choice as a comment."""
        return Design._of(self.details.design, self.details.reasons)

    @property
    def kept_base(self) -> bool:
        """Whether no design was better than the base."""
        return self.details.kept_base

    @property
    def ratios(self) -> dict[str, float]:
        """Time and bytes of the choice on the first trace, in parts of those of the base."""
        return self.details.traces[0].ratios

    @property
    def front(self) -> list[Design]:
        """The designs of the front, the best first."""
        return [Design._of(member.design) for member in self.details.front]

    def _rows(self) -> Iterable[Any]:
        """Return the members of the front."""
        return self.details.front

    def show(self) -> None:
        """Print the front, the choice on each trace, and what its choices are worth, as `heapsmith tune` does."""
        from heapsmith.api import printed

        printed.tuned(self.details)


class TuneOptions(TypedDict, total=False):
    """The options of `tune`, which says what each is."""

    name: Annotated[str, Option("The design's name.[ Default: that of the file.]", "NAME")]
    favour: Annotated[
        Favour,
        Option("What counts most among designs that none beats in all.", default="balanced"),
    ]
    max_time: Annotated[str, Option("The allocator's most time, of the base's.", "FACTOR", usual="1.01x to 1.05x")]
    max_rss: Annotated[
        str,
        Option(
            "The most bytes of the heap resident at the peak (200M), or a factor of the base's (0.9x; above 1x it is "
            "the average's too).",
            "BYTES|FACTOR",
            usual="1.01x",
        ),
    ]
    max_p999: Annotated[str, Option("The most time that one operation in a thousand may exceed: 2us. Slower.", "TIME")]
    latency: Annotated[bool, Option("Make p99.9 an objective of the front.")]
    cores: Annotated[
        int, Option("Add what threads wait for locks on N cores to the time. Slower, and without replays.", least=1)
    ]
    hold_out: Annotated[
        Sequence[TraceLike],
        Option("A trace that the search does not see: the limits hold there too[; repeat it].", "TRACE"),
    ]
    seed: Annotated[int, Option("Which designs the search mixes.", least=0, default=1)]
    resume: Annotated[bool, Option("Go on from the designs of earlier searches on these traces.")]
    max_overhead: Annotated[
        float, Option("The most bytes idle in fronts, as a fraction of the peak live bytes.", "FRACTION", default=1.0)
    ]
    max_classes: Annotated[int, Option("The most size classes.", least=1, default=MOST_CLASSES)]
    huge_pages: Annotated[
        bool,
        Option("The program touches all bytes that it requests: consider huge pages without samples in the trace."),
    ]
    replay: Annotated[
        bool,
        Option(
            "Replay the best designs, and choose by that too. Default: where gcc is, but not with {simulations} or "
            "{machine}, and never with {cores}.",
            flags="--replay/--no-replay",
        ),
    ]
    machine: Annotated[
        MachineLike, Option("A built-in machine, a file that calibrate wrote, or `here`.", "MACHINE", default="default")
    ]


@typed
def tune(
    traces: Annotated[
        TraceLike | Iterable[TraceLike | tuple[TraceLike, float]],
        Argument("Traces (.hst). A trace of weight 3 counts as three.", "TRACE[:WEIGHT]..."),
    ],
    base: Annotated[DesignLike, Option("The design to start from.", "DESIGN")] = "default",
    *,
    budget: Annotated[
        float | None,
        Option("Time to search[: 90s or 2m].", "TIME", usual="20s for a million events, a minute for ten million"),
    ] = None,
    simulations: Annotated[
        int | None, Option("Designs to simulate with caches, in place of a time: repeats exactly.", least=2)
    ] = None,
    progress: Progress | None = None,
    **options: Unpack[TuneOptions],
) -> Tuned:
    """Search for the best design for traces, each of which may have a weight: `[(trace, 3), other]`.

    Raises BadInput for a damaged trace, one without allocations, and options out of range. KeyboardInterrupt
    ends the search without a result.

    >>> trace = Trace.from_arrays("a.hst", op=["malloc", "free"] * 50, block=[1] * 100, size=[24, 0] * 50)
    >>> tune(trace, simulations=2, name="mine").design.name
    'mine'
    """
    if unknown := options.keys() - TuneOptions.__annotations__:
        raise TypeError(f"tune() got an unexpected keyword argument {min(unknown)!r}")
    asked = {"name": "tuned", "base": base, "budget": budget, "simulations": simulations, **options}
    return Tuned(searched(traces, asked, progress=progress))


def searched(
    traces: TraceLike | Iterable[TraceLike | tuple[TraceLike, float]],
    options: dict[str, Any],
    *,
    patient: bool = False,
    hire: Hire | None = None,
    progress: Progress | None = None,
) -> Choice:
    """Return what a search found; options: the parameters of `tune`, and its name.

    patient: Ctrl-C ends it with the best so far. hire: who simulates, if not processes of this machine.
    """
    from heapsmith.model.memory.hardware import load_hardware
    from heapsmith.model.search import tune as search
    from heapsmith.model.search.asked import Asked
    from heapsmith.model.search.choice import parse_limits
    from heapsmith.tools.replay.finalists import replays

    given = defaults(tune) | options
    name, base, held, machine = given.pop("name"), given.pop("base"), given.pop("hold_out", ()), given.pop("machine")
    simulations = given.pop("simulations", None)
    limits = parse_limits(*(given.pop(limit, None) for limit in ("max_time", "max_rss", "max_p999")))
    usual = simulations is None and machine == "default" and given.get("cores") is None
    finalists = replays(given.pop("replay", None), usual=usual, progress=progress)
    asked = Asked(
        limits=limits,
        seconds=given.pop("budget", None),
        simulations=simulations,
        replays=finalists,
        patient=patient,
        **given,
    )
    several = [traces] if isinstance(traces, Trace | str | os.PathLike) else traces
    weighted = [one if isinstance(one, tuple) else (one, 1.0) for one in several]
    return search.tune(
        [(Path(trace), float(weight)) for trace, weight in weighted],
        base=model_of(base),
        name=name,
        asked=asked,
        hold_out=paths_of(held),
        hardware=load_hardware(os.fspath(machine)),
        hire=hire,
        progress=progress,
    )
