"""Validation: how far predictions are from what was measured, and whether they rank designs as measurements do."""

from collections.abc import Sequence
from statistics import median

import msgspec

from heapsmith.bench.calibrate.fit import Errors, relative

WORST = 5


class Comparison(msgspec.Struct, frozen=True):
    """One quantity of one design on one trace. spread: of what was measured, between the quartiles, over its median."""

    trace: str
    design: str
    quantity: str
    predicted: float
    measured: float
    spread: float = 0.0


class Quality(msgspec.Struct, frozen=True):
    """How well one quantity is predicted. tau: Kendall's, of the designs of each trace by `tau_of`, the median and the
    least over the traces; None if no two designs differ."""

    quantity: str
    cells: int
    errors: Errors
    tau: float | None
    least_tau: float | None
    worst: list[Comparison]


def tau_of(cells: Sequence[Comparison]) -> float | None:
    """Kendall's tau of the predicted and the measured order: (concordant - discordant) / pairs.

    Of the pairs whose measurements differ by more than the spread of either; None if there is none. A pair that is
    predicted to be equal is neither.
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
    """Of the cells of one quantity, at least one."""
    errors = Errors.of([cell.predicted for cell in cells], [cell.measured for cell in cells])
    by_trace: dict[str, list[Comparison]] = {}
    for cell in cells:
        by_trace.setdefault(cell.trace, []).append(cell)
    ranked = by_trace.values() if quantity != "counters" else []  # there are many of a design
    taus = [tau for one in ranked if (tau := tau_of(one)) is not None]
    worst = sorted(cells, key=lambda cell: -relative(cell.predicted, cell.measured))[:WORST]
    return Quality(
        quantity,
        len(cells),
        errors,
        median(taus) if taus else None,
        min(taus) if taus else None,
        worst,
    )


def qualities(cells: Sequence[Comparison]) -> list[Quality]:
    """Of every quantity there is, in the order of their first cells."""
    names = dict.fromkeys(cell.quantity for cell in cells)
    return [quality(name, [cell for cell in cells if cell.quantity == name]) for name in names]
