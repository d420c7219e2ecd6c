"""Tables of prediction errors: their sizes, the worst of them, and their signs."""

from heapsmith.bench.validate.validate import Validation
from heapsmith.tools.common.tables import Words


def predicted(found: Validation) -> Words:
    """The errors of predictions, and how well they rank the designs of a trace."""
    columns = ("quantity", "cells", "median error", "90 % within", "worst", "tau", "least tau")
    rows = [
        (
            one.quantity,
            f"{one.cells:,}",
            f"{one.errors.median:.2%}",
            f"{one.errors.p90:.2%}",
            f"{one.errors.worst:.1%}",
            *("-" if tau is None else f"{tau:.2f}" for tau in (one.tau, one.least_tau)),
        )
        for one in found.qualities
    ]
    what = f"{len(found.traces)} traces, {len(found.designs)} designs, machine {found.machine}"
    speed = f"{found.speed.core:.0%} and its first touches of memory in {found.speed.memory:.0%}"
    return Words(f"{what}, which ran its core's yardstick in {speed} of their calibrated times", columns, rows)


def worst(found: Validation) -> Words:
    """For each quantity, the cells with the largest errors."""
    columns = ("quantity", "<trace", "<design", "predicted", "measured", "error")
    rows = [
        (
            cell.quantity,
            cell.trace,
            cell.design,
            f"{cell.predicted:,.1f}",
            f"{cell.measured:,.1f}",
            f"{cell.predicted / cell.measured - 1:+.1%}" if cell.measured else "-",
        )
        for one in found.qualities
        for cell in one.worst
        if cell.predicted != cell.measured
    ]
    return Words("furthest off", columns, rows)


def signed(found: Validation) -> Words:
    """Changes of a single field with a clear effect on a time: whether the predictions have its sign."""
    clear = [one for one in found.signs if one.is_clear]
    columns = ("<field", "<from", "<to", "<trace", "<quantity", "predicted", "measured", "<sign")
    rows = [
        (
            *(one.field, one.base, one.design, one.trace, one.quantity),
            f"{one.predicted - 1:+.1%}",
            f"{one.measured - 1:+.1%}",
            "right" if one.is_right else "WRONG",
        )
        for one in sorted(clear, key=lambda one: (one.field, one.base, one.design, one.trace))
    ]
    right, all_right = (sum(one.is_right for one in some) for some in (clear, found.signs))
    title = f"signs of changes of one field, clear and over 3 %: {right} of {len(clear)} right"
    return Words(f"{title} (within the spread too: {all_right} of {len(found.signs)})", columns, rows)
