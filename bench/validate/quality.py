"""The quality of predictions: their errors, and whether they rank designs like measurements."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from statistics import median

import msgspec

from heapsmith.model.design.design import Design
from heapsmith.tools.calibrate.fit import Errors, relative

WORST = 5
CLEAR = 0.03
"""The least measured effect of a change whose sign is asked for."""


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


class Sign(msgspec.Struct, frozen=True):
    """What the change of a single field does to a time on a trace: the ratio to the design `base`.

    is_clear: the measured difference is also larger than the spread of either measurement.
    """

    trace: str
    quantity: str
    field: str
    base: str
    design: str
    predicted: float
    measured: float
    is_clear: bool

    @property
    def is_right(self) -> bool:
        """Whether prediction and measurement lie on the same side of 1."""
        return (self.predicted - 1) * (self.measured - 1) > 0


def signs(cells: Sequence[Comparison], designs: Sequence[Design], quantities: Sequence[str]) -> Iterator[Sign]:
    """Yield each pair of designs that differ in one field where a measured time differs by more than CLEAR."""
    by_place = {(cell.trace, cell.quantity, cell.design): cell for cell in cells if cell.quantity in quantities}
    measured = dict.fromkeys((trace, quantity) for trace, quantity, _ in by_place)
    for one, other in combinations(designs, 2):
        fields = [name for name in Design.__struct_fields__ if name not in ("name", "about")]
        changed = [name for name in fields if getattr(one, name) != getattr(other, name)]
        if len(changed) != 1:
            continue
        for trace, quantity in measured:
            base, new = (by_place.get((trace, quantity, design.name)) for design in (one, other))
            if base is None or new is None or abs(new.measured / base.measured - 1) <= CLEAR:
                continue
            noise = max(cell.spread * cell.measured for cell in (base, new))
            ratios = (new.predicted / base.predicted, new.measured / base.measured)
            clear = abs(new.measured - base.measured) > noise
            yield Sign(trace, quantity, changed[0], base.design, new.design, *ratios, clear)
