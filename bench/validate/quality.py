"""The quality of predictions: their errors, and whether they rank designs like measurements."""

from collections.abc import Sequence
from statistics import median

import msgspec

from heapsmith.bench.calibrate.fit import Errors, relative

WORST = 5


class Comparison(msgspec.Struct, frozen=True):
    """One quantity of a design on a trace; `spread` is the quartile distance over the median."""

    trace: str
    design: str
    quantity: str
    predicted: float
    measured: float
    spread: float = 0.0


class Quality(msgspec.Struct, frozen=True):
    """The quality of one quantity's predictions.

    tau: Kendall's tau of each trace's designs (`tau_of`), the median and the least over the traces;
    None if no two designs differ.
    """

    quantity: str
    cells: int
    errors: Errors
    tau: float | None
    least_tau: float | None
    worst: list[Comparison]


def tau_of(cells: Sequence[Comparison]) -> float | None:
    """Kendall's tau of the predicted and the measured order: (concordant - discordant) / pairs.

    Counts only pairs whose measurements differ by more than either spread; None without such pairs.
    A pair with equal predictions is neither concordant nor discordant.
    """
    agree = pairs = 0
    for i, one in enumerate(cells):
        for other in cells[:i]:
            noise = max(one.spread * one.measured, other.spread * other.measured)
            difference = one.measured - other.measured
            if abs(difference) <= noise:
                continue
            pairs += 1
            predicted = one.predicted - other.predicted
            agree += (predicted * difference > 0) - (predicted * difference < 0)
    return agree / pairs if pairs else None


def quality(quantity: str, cells: Sequence[Comparison]) -> Quality:
    """The quality of a quantity in its cells, at least one."""
    errors = Errors.of([cell.predicted for cell in cells], [cell.measured for cell in cells])
    by_trace: dict[str, list[Comparison]] = {}
    for cell in cells:
        by_trace.setdefault(cell.trace, []).append(cell)
    ranked = by_trace.values() if quantity != "counters" else []  # a trace has many designs
    taus = [tau for one in ranked if (tau := tau_of(one)) is not None]
    worst = sorted(cells, key=lambda cell: -relative(cell.predicted, cell.measured))[:WORST]
    return Quality(quantity, len(cells), errors, median(taus) if taus else None, min(taus) if taus else None, worst)


def qualities(cells: Sequence[Comparison]) -> list[Quality]:
    """The quality of every quantity, in the order of their first cells."""
    names = dict.fromkeys(cell.quantity for cell in cells)
    return [quality(name, [cell for cell in cells if cell.quantity == name]) for name in names]
