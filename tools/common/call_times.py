"""The time of single calls, from stamps around each: of one run, and over rounds (runtime/replay/latency.h)."""

from collections.abc import Sequence

import msgspec

from heapsmith.tools.common.rounds import Figure


class Stamped(msgspec.Struct, frozen=True):
    """Nanoseconds of single operations: a call and the writes to its new block (runtime/replay/latency.h).

    stamp: what a stamp costs; it is subtracted from the others. step: the clock's step.
    """

    mean: float
    p50: float
    p99: float
    p999: float
    worst: float
    stamp: float
    step: float


class LatencyFigures(msgspec.Struct, frozen=True):
    """The distribution of single operations, in ns, over the rounds of stamped runs."""

    mean: Figure
    p50: Figure
    p99: Figure
    p999: Figure
    worst: Figure
    stamp: Figure

    @classmethod
    def of(cls, runs: Sequence[Stamped]) -> "LatencyFigures":
        """From at least one run."""
        return cls(*(Figure.of([getattr(one, name) for one in runs]) for name in cls.__struct_fields__))
