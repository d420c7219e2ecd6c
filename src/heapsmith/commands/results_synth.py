"""How the result of `trace synth` is printed."""

from typing import TYPE_CHECKING

from heapsmith.api import show
from heapsmith.bench.common.units import amount

if TYPE_CHECKING:
    from heapsmith.model.predict.likeness import Likeness, Synthetic


def synthesised(found: "Synthetic") -> None:
    """The synthetic trace, what was assumed, and the figures of original and synthetic side by side."""
    show.fields(
        [
            *((name, f"{getattr(found, name):,}") for name in ("events", "threads", "max_blocks")),
            ("phases", f"{found.phases:,}, of them {found.different_phases:,} different"),
            ("rows", f"{found.rows:,}"),
            *(("assumed", line) for line in found.assumed),
        ]
    )
    if found.likeness:
        columns = ("design", "<figure", "original", "synthetic", "difference")
        show.table("simulated on both", columns, [_row(row) for row in found.likeness.rows])
        worst = max(found.likeness.rows, key=lambda row: abs(row.difference))
        _, figure, original, synthetic, difference = _row(worst)
        show.prose(f"The largest difference is {difference}: {figure} of {worst.design}, {original} and {synthetic}.")


def _row(row: "Likeness") -> tuple[str, ...]:
    form = amount if row.figure.endswith("bytes") else (lambda value: f"{value:,.0f}")
    return row.design, row.figure, form(row.original), form(row.synthetic), f"{row.difference:+.1%}"
