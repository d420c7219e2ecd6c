"""The fit of a program: what a synthetic trace is drawn from (docs/lab/costs.md, 'synthetic traces')."""

from typing import Annotated, Literal, NamedTuple

import msgspec

Count = Annotated[int, msgspec.Meta(ge=0)]
Positive = Annotated[int, msgspec.Meta(ge=1)]
Bytes = Annotated[int, msgspec.Meta(ge=0, le=1 << 40)]
Number = Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)]
Thread = Annotated[int, msgspec.Meta(ge=0, lt=1 << 16)]
Log2 = Annotated[int, msgspec.Meta(ge=0, le=62)]
Gap = Annotated[int, msgspec.Meta(ge=0, le=1 << 50)]  # nanoseconds
Distance = Annotated[int, msgspec.Meta(gt=-(1 << 31), lt=1 << 31)]
Events = Annotated[int, msgspec.Meta(ge=1, le=1 << 40)]

Operation = Literal["malloc", "calloc", "realloc", "aligned", "free", "free_sized", "thread_start", "thread_exit"]
"""In the order of the numbers of Op."""
Choice = Literal["youngest", "oldest", "next", "older", "younger"]


class Step(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What an event does, without the number of its block.

    The block of a free or realloc is one of those with `from_size` that `from_thread` gave birth to or resized last.
    `choose` and `distance`, the least and the most, say which: counted from the youngest or the oldest, or from the
    place of the last such step (next: to the older; older, younger: the same with one sign).
    """

    op: Operation
    thread: Thread = 0
    size: Bytes = 0  # of births and reallocs: the bytes asked for
    align_log2: Log2 = 0
    from_size: Bytes = 0
    from_thread: Thread = 0
    choose: Choice = "youngest"
    distance: tuple[Distance, Distance] = (0, 0)


class Row(NamedTuple):
    """How often a step came in a context.

    The context is the last step and how many times it came in a row, and the same of the step before these. Step -1 is
    the phase's beginning.
    """

    times: Positive
    step: Number
    last: Annotated[int, msgspec.Meta(ge=-1, lt=1 << 31)]
    run: Number
    before: Annotated[int, msgspec.Meta(ge=-1, lt=1 << 31)]
    run_before: Number


class Bound(NamedTuple):
    """The least and most blocks of a class in a phase, less those at its beginning.

    Classes are the pairs of a thread and a class of sizes (`class_of` of steps.py) that blocks of the steps have. They
    are numbered by thread, then by size.
    """

    size_class: Number
    least: Annotated[int, msgspec.Meta(ge=-(1 << 31), le=0)]
    most: Number


class Phase(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A stretch of the program: its common steps as a distribution, its rare ones one by one."""

    rows: list[Row] = []
    bounds: list[Bound] = []
    marks: list[tuple[Number, Number]] = []  # place in the phase, step


class PhasesFit(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, tag="phases"):
    """A program as phases of steps: what is fitted to a trace."""

    events: Events  # of the trace
    steps: Annotated[list[Step], msgspec.Meta(min_length=1)]
    phases: Annotated[list[Phase], msgspec.Meta(min_length=1)]
    order: Annotated[list[tuple[Number, Gap]], msgspec.Meta(min_length=1)]  # phase, nanoseconds per event
    started: list[Thread] = []  # threads whose starts were seen
    about: str = ""


class Blocks(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Blocks of a size, or of sizes from `size` to `largest` with equal chances.

    A file that states a default of 0 is refused: 0 is no number of bytes, and no alignment.
    """

    size: Bytes
    largest: Annotated[int, msgspec.Meta(ge=1, le=1 << 40)] = 0  # absent: all have `size`
    weight: Annotated[float, msgspec.Meta(gt=0, le=1e18)] = 1.0  # share of the births, of the sum of all weights
    lifetime: Annotated[float, msgspec.Meta(gt=0, le=1e18)] | None = None  # mean, in births of all; null: for ever
    shape: Literal["exponential", "constant", "uniform"] = "exponential"
    op: Literal["malloc", "calloc", "aligned"] = "malloc"
    align_log2: Annotated[int, msgspec.Meta(ge=1, le=62)] = 0  # of `aligned`, and only there
    thread: Thread = 0
    freed_by: Thread | None = None  # null: the same thread


class Mix(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A stretch of time with one distribution of births."""

    blocks: Annotated[list[Blocks], msgspec.Meta(min_length=1)]
    events: Events = 1  # the phase's share of the events, of the sum over all phases


class LivesFit(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, tag="lives"):
    """A program as sizes and lifetimes: what is written by hand, or taken from a heap profile."""

    events: Events
    phases: Annotated[list[Mix], msgspec.Meta(min_length=1)]
    gap_ns: Gap = 100  # between events
    about: str = ""
    assumed: list[str] = []  # what the source did not tell


Fit = PhasesFit | LivesFit
