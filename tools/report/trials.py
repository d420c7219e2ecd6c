"""Tables of trials: designs beside a base, prediction beside measurement, and the way from one design to another."""

from collections.abc import Callable, Iterator

from heapsmith.tools.common.ratios import LEAST_ROUNDS, Ratio
from heapsmith.tools.common.tables import Words
from heapsmith.tools.common.units import amount, duration
from heapsmith.tools.compare.measure import MeasureTable
from heapsmith.tools.replay.replay import ReplayTable
from heapsmith.tools.report.measurements import change, medians, notes, other_memory
from heapsmith.tools.trial.ab import Trial
from heapsmith.tools.trial.bisect import Bisected, Step

UNITS: dict[str, Callable[[float], str]] = {
    "cpu": duration,
    "peak": amount,
    "average": amount,
    "instructions": "{:,.0f}".format,
}


def tried(found: Trial) -> Iterator[Words]:
    """A table for each design beside the base: a row for each figure."""
    columns, how = ("figure", "predicted", "measured (95 %)", "<agree?"), medians(_measured(found))
    for one in found.changes:
        rows = [(row.figure, f"{row.predicted:.3f}", _ratio(row.measured), row.agree) for row in one.figures]
        title = f"{found.subject}: {one.change}, in parts of {found.base}'s; {how}"
        yield Words(title, columns, rows)


def differences(found: Trial) -> Iterator[str]:
    """For each design what its intervals say, then the warnings of the measurement."""
    measured = _measured(found)
    decides = measured.rounds >= LEAST_ROUNDS
    for one in found.changes if decides else ():
        said = [f"{row.figure} {change(row.measured)}" for row in one.figures if row.measured]
        yield f"{one.change}: {', '.join(said)}."
    yield from notes(measured)
    if found.ran:
        yield from other_memory(found.ran)


def _measured(found: Trial) -> MeasureTable | ReplayTable:
    """The rounds of a trial."""
    table = found.ran or found.replayed
    assert table
    return table


def bisected(found: Bisected) -> Words:
    """A row for each step of the way."""
    measured = any(step.measured for step in found.steps)
    columns = ["step", f"<{found.first}", f"<{found.last}", "change", "of all", "alone", "last"]
    columns += ["measured (95 %)"] * measured
    whole = found.last_value - found.first_value
    rows = [
        (
            " with ".join(step.paths),
            step.before,
            step.after,
            _part(step.change, found.first_value),
            f"{step.change / whole:.0%}" if whole else "-",
            _part(step.alone, found.first_value),
            _part(step.last, found.first_value),
            *[_ratio(step.measured)] * measured,
        )
        for step in found.steps
    ]
    unit = UNITS[found.by]
    title = f"{found.subject}: {found.by} of the allocator, predicted: {unit(found.first_value)} under {found.first}"
    return Words(f"{title}, {unit(found.last_value)} under {found.last}", columns, rows)


def causes(found: Bisected) -> Iterator[str]:
    """Which change does it; then what had to go together, and the warnings of the measurement."""
    whole, cause = found.last_value - found.first_value, found.steps[found.cause]
    if cause.change:
        part = f"{cause.change / whole:.0%} of " if whole else ""
        yield (
            f"{' with '.join(cause.paths)} ({cause.before} to {cause.after}) makes {part}the change: "
            f"{_part(cause.change, found.first_value)} of {found.first}'s {found.by}."
        )
    else:
        yield f"No change makes a difference in {found.by}."
    for step in found.steps:
        yield from _together(step)
    if table := found.ran or found.replayed:
        yield from notes(table)


def _together(step: Step) -> Iterator[str]:
    name = " with ".join(step.paths)
    for side, paths in (("alone", step.alone_with), ("last", step.last_with)):
        if paths:
            yield f"{name}, {side}: legal only together with {', '.join(paths)}."
    if step.refused:
        yield f"{name}: no legal design: {step.refused}."


def _ratio(found: Ratio | None) -> str:
    """A ratio with three decimals and its interval; an exact one without."""
    if found is None:
        return "-"
    bounds = found.bounds()
    if bounds is None or bounds[0] == bounds[1]:
        return f"{found.median:.3f}"
    return f"{found.median:.3f} ({bounds[0]:.3f}-{bounds[1]:.3f})"


def _part(found: float | None, whole: float) -> str:
    """A change in parts of the first design's figure."""
    if found is None:
        return "-"
    if not whole:
        return f"{found:+,.0f}"
    return "0.0%" if abs(found / whole) < 0.0005 else f"{found / whole:+.1%}"
