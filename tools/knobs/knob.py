"""A setting of another malloc with its reason, and the limits of what an advice may cost."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from heapsmith.model.knobs.evidence import Evidence
from heapsmith.model.search import Favour as Favour
from heapsmith.model.search.capacities import Curve

OPERATION_NS = 50.0
"""The time of a malloc or free, its caller's share of cache misses included: a saving counts against it."""

MISS_NS = 11.0
"""The time that a miss of a thread cache costs more than a hit, with the free that overflows it (docs/compare.md)."""

MATERIAL = 0.01
"""A setting is given if it saves this share of the time in the allocator,"""

PROGRAM = 0.002
"""and this share of the time of the program, where the trace tells it,"""

LEAST_NS = 100_000.0
"""and this time: nobody would notice less."""

MOST_IDLE: dict[Favour, float] = {"balanced": 0.05, "time": 0.25, "memory": 0.0}
"""The bytes that a setting may keep more than the default, as a share of the peak live bytes."""

LEAST_IDLE = 64 << 10
"""Bytes that a setting may keep more in any case, unless memory is favoured."""


class Knob(msgspec.Struct, frozen=True):
    """A setting. reason: in a line, with figures of the traces. simulated: what the model says it changes.

    simulated is None where no model of that malloc tells it.
    """

    name: str
    value: str
    default: str
    reason: str
    simulated: str | None


class Asked(NamedTuple):
    """What a knob is derived from: the traces, what is favoured, and the prices of the machine."""

    evidence: Evidence
    favour: Favour
    costs: Mapping[str, float]

    @property
    def room(self) -> float:
        """Return the bytes that a setting may keep more than the default."""
        share = MOST_IDLE[self.favour]
        return max(LEAST_IDLE, share * self.evidence.peak_bytes) if share else 0.0

    @property
    def time_ns(self) -> float:
        """Return the time in the allocator that savings are compared with."""
        return OPERATION_NS * self.evidence.operations

    def is_material(self, saved_ns: float) -> bool:
        """Return whether a saving is worth a setting."""
        return saved_ns >= max(MATERIAL * self.time_ns, PROGRAM * self.evidence.events_ns, LEAST_NS)


class Cached(NamedTuple):
    """Thread caches of one capacity for each class: misses, and the most idle bytes."""

    misses: int
    idle: int


def cached(curves: Sequence[Curve], rooms: Sequence[int], sizes: Sequence[int]) -> Cached:
    """Return what caches of these rooms do, class by class."""
    misses = sum(int(curve.misses[room]) for curve, room in zip(curves, rooms, strict=True))
    idle = sum(
        int(curve.most.clip(max=room).sum()) * size for curve, room, size in zip(curves, rooms, sizes, strict=True)
    )
    return Cached(misses, idle)


def percent(part: float, whole: float) -> str:
    """Return a share for people."""
    return f"{100 * part / whole if whole else 0:.1f} %"
