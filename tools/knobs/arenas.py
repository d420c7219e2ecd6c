"""How many arenas a program needs, so that its threads seldom wait for each other's locks."""

from typing import NamedTuple

from heapsmith.tools.knobs.knob import Asked, Favour, percent

MOST_WAITS: dict[Favour, float] = {"balanced": 0.01, "time": 0.0, "memory": 0.1}
"""The share of the time in the allocator that waits may take at most."""


class Arenas(NamedTuple):
    """A number of arenas with its reason and what it means."""

    number: int
    reason: str
    simulated: str


def advise(asked: Asked, locking: int) -> Arenas | None:
    """Return fewer arenas than threads, if so few suffice; None without times or threads, and if time is favoured.

    locking: requests of the traces that take an arena's lock. As many frees take it. Two calls that
    meet wait if both take the same lock; threads are spread over the arenas.
    """
    evidence = asked.evidence
    most_ns = MOST_WAITS[asked.favour] * asked.time_ns
    if evidence.lacks or evidence.threads < 2 or not most_ns:
        return None
    share = min(1.0, 2 * locking / max(1, evidence.operations))
    waits = evidence.meetings * share * share
    number = max(1, -int(-waits * asked.costs["wake"] // most_ns))
    if number >= evidence.threads:
        return None
    reason = (
        f"{evidence.threads} threads live at once; {evidence.meetings:,} of {evidence.operations:,} calls follow one "
        f"of another thread within a microsecond, and {percent(share, 1)} of all calls take an arena's lock"
    )
    return Arenas(number, reason, f"at most {waits / number:,.0f} calls wait")
