"""Gain: whether the choice is better than the base beyond the errors of what tells it, and the words that say so."""

import math
from collections.abc import Sequence

import msgspec

from heapsmith.model.search.confirm import PREDICTION_ERROR, Finalist
from heapsmith.model.search.explore import Explorer, Known
from heapsmith.model.search.findings import named
from heapsmith.model.search.outcome import OBJECTIVES

LEAST = 0.02
"""The least gain that counts: of predicted bytes 90 % are within it (docs/lab/errors.md), and programs vary by that
between their inputs.
"""

LEAST_TIME = 2 * PREDICTION_ERROR
"""The least gain of predicted time that counts where no replay confirms it."""

ERRORS = 2
"""By how many standard errors a replayed time must be below the base's."""


class Gain(msgspec.Struct, frozen=True):
    """What the choice gains over the base, on all traces by weight.

    proven: a ratio is below 1 by more than its error, or the base breaks a limit of the user. False where the base
    stays. ratios: of time (as replayed, where it was), peak, average, and p99.9 where it is an objective. better: the
    names of those that are proven. why: all this in a sentence.
    """

    proven: bool
    ratios: dict[str, float]
    better: list[str]
    why: str


def gain_of(found: Known, explorer: Explorer, finalists: Sequence[Finalist], known_as: str) -> Gain:
    """Return what the choice gains; known_as: the name of the base."""
    base = explorer.known[explorer.base.hash()]
    replayed = next((one for one in finalists if one.hash == found.design.hash()), None)
    found_ratios = {name: ratio for name, ratio in named(found.ratios).items() if name != OBJECTIVES[3]}
    most = {name: 1 - LEAST for name in found_ratios} | {OBJECTIVES[0]: 1 - LEAST_TIME}
    if replayed is not None:
        found_ratios[OBJECTIVES[0]] = replayed.replayed
        most[OBJECTIVES[0]] = min(1 - LEAST, math.exp(-ERRORS * replayed.error))
    if explorer.asked.follows_p999:
        late, before = (max(explorer.p999_ns[one.design.hash()]) for one in (found, base))
        found_ratios["p99.9"], most["p99.9"] = late / max(1.0, before), 1 - LEAST_TIME
    better = [name for name, ratio in found_ratios.items() if ratio <= most[name]]
    proven = found is not base and bool(better or not explorer.allowed(base))
    worse = [name for name, ratio in found_ratios.items() if ratio * most[name] >= 1]
    why = _why(found is base, proven, better, worse, known_as)
    told = "by replays" if replayed is not None else "predicted"
    gains = ", ".join(f"{name} {ratio - 1:+.1%}" for name, ratio in found_ratios.items())
    return Gain(proven, found_ratios, better, why if found is base else f"{why}: {gains} (time {told}).")


def _why(kept: bool, proven: bool, better: Sequence[str], worse: Sequence[str], known_as: str) -> str:
    if kept:
        return f"Use {known_as}: no simulated design within the limits is clearly better."
    if better:
        but = f" and worse in {' and '.join(worse)}" if worse else ""
        return f"Better than {known_as} in {' and '.join(better)}{but}, beyond the errors"
    if proven:
        return f"Within the limits, which {known_as} breaks"
    but = f", and {' and '.join(worse)} more" if worse else ""
    return f"The gain is NOT proven, {known_as} is as good, as nothing is less beyond its error{but}"
