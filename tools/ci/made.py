"""The judgements of `guard` and `check`, made ready for all formats."""

import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from heapsmith.model.search import guard as watch
from heapsmith.tools.ci.baseline import Range
from heapsmith.tools.ci.check import Checked, Grown, Judged
from heapsmith.tools.ci.verdict import Case, Finding, Verdict, below
from heapsmith.tools.common.tables import Words
from heapsmith.tools.common.units import amount

MOST_PLACES = 3
"""Functions that are named for a figure that grew."""


def of_guard(found: watch.Guarded, root: Path) -> Verdict:
    """The judgement on recordings. What drifts is found at the first line of the baseline."""
    title = f"{found.design} against {found.baseline}"
    cases = [Case(one.figure, one.ok, _drift(one), "no limit" if one.limit is None else "") for one in found.verdicts]
    return Verdict(
        "heapsmith guard",
        f"{found.design}: {', '.join(found.traces)}",
        found.ok,
        [_figures(title, found.verdicts)],
        [*found.grown, _retuning(found.retuning, found.verdicts)],
        cases,
        [Finding(one.name, one.message, _file(root, found.baseline), 1) for one in cases if not one.ok],
    )


def of_check(found: Checked, root: Path, top: int) -> Verdict:
    """The judgement on a program. top: functions in the table."""
    failing = {figure for one in found.functions for figure in one.figures}
    cases = [Case(one.figure, one.ok and one.figure not in failing, _growth(one), one.why_not) for one in found.figures]
    tables = [_judged(found)]
    if found.functions:
        tables.append(_functions(found.functions[:top]))
    if found.pays and found.committed:
        tables.append(_figures(f"What the design {found.design} pays (not gated)", found.pays))
    return Verdict(
        "heapsmith check",
        shlex.join(found.command),
        found.ok,
        tables,
        [*_about(found), *found.notes],
        cases,
        list(_findings(found, root)),
    )


def of_written(found: Checked) -> Verdict:
    """The judgement where nothing was compared: the baseline was written."""
    said = f"{found.baseline} was written: nothing was compared"
    return Verdict("heapsmith check", shlex.join(found.command), True, [_judged(found)], [said, *found.notes], [], [])


def _file(root: Path, file: str) -> str:
    """A file as seen from the root; its own name if it lies elsewhere."""
    return below(root, str(Path(file).resolve())) or Path(file).name


def _figures(title: str, verdicts: Iterable[watch.Verdict]) -> Words:
    rows = [
        (
            *(one.figure, _few_digits(one.baseline), _few_digits(one.now)),
            *("-" if one.limit is None else _few_digits(one.limit), "ok" if one.ok else "DRIFTS"),
        )
        for one in verdicts
    ]
    return Words(title, ("figure", "baseline", "now", "limit", "<verdict"), rows)


def _few_digits(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3f}"


def _drift(one: watch.Verdict) -> str:
    limit = "" if one.limit is None else f", at most {_few_digits(one.limit)}"
    return f"{_few_digits(one.baseline)} before, {_few_digits(one.now)} now{limit}"


def _retuning(new: watch.Retuning, figures: Sequence[watch.Verdict]) -> str:
    """Whether to tune again: for size classes that save enough, or because the workload drifts."""
    drifts = ", ".join(one.figure for one in figures if not one.ok)
    hardly = "may pay by more than size classes" if drifts else "hardly pays by size classes"
    verdict = "may pay" if new.may_pay else hardly
    return (
        f"blocks live at the peak take {amount(new.design_bytes)} in the design's size classes and "
        f"{amount(new.best_bytes)} in the best {new.classes}: in full slabs, that saves {new.saves:.1%} of the "
        f"committed peak. Tuning again {verdict}{f': {drifts} drifted' if drifts else ''}."
    )


def _shown(figure: str, of: Range) -> str:
    shown = amount if "bytes" in figure else "{:,}".format
    return " to ".join(dict.fromkeys(map(shown, (of.least, of.most))))


def _percent(growth: float | None) -> str:
    return "from nothing" if growth is None else f"{growth:+.2%}"


def _growth(one: Judged) -> str:
    return f"{_shown(one.figure, one.before)} before, {_shown(one.figure, one.now)} now"


def _judged(found: Checked) -> Words:
    rows = [
        (
            *(one.figure, _shown(one.figure, one.before), _shown(one.figure, one.now), _percent(one.growth)),
            f"not gated: {one.why_not}" if one.why_not else "ok" if one.ok else "GROWN",
        )
        for one in found.figures
    ]
    title = f"{found.runs} runs against {found.baseline}, at most {found.tolerance:+.2%}"
    return Words(title, ("figure", "baseline", "now", "growth", "<verdict"), rows)


def _functions(grown: Sequence[Grown]) -> Words:
    rows = [
        (one.name, f"{one.file}:{one.line}" if one.file else one.module, name, _shown(name, old), _shown(name, new))
        for one in grown
        for name, (old, new) in one.figures.items()
    ]
    return Words("Functions that ask for more", ("function", "<place", "<figure", "baseline", "now"), rows)


def _about(found: Checked) -> Iterator[str]:
    """Which figures are not gated, what the design commits, and whether to tune again."""
    if loose := [one.figure for one in found.figures if one.why_not]:
        yield f"Not stable from run to run, so not gated: {', '.join(loose)}."
    if found.committed:
        before, now = map(amount, found.committed)
        yield f"The design {found.design} commits {before} before and {now} now at the peak (simulated)."
    yield _retuning(found.retuning, found.pays or ())


def _findings(found: Checked, root: Path) -> Iterator[Finding]:
    """Of each figure that grew too much, the functions that made it grow most; else the baseline."""
    own = _file(root, found.baseline)
    for figure in found.figures:
        makers = [one for one in found.functions if figure.figure in one.figures]
        makers.sort(key=lambda one: one.figures[figure.figure][0].most - one.figures[figure.figure][1].least)
        placed = [one for one in makers if one.file][:MOST_PLACES]
        said = "" if figure.ok else f"; of the program {_growth(figure)} ({_percent(figure.growth)})"
        for one in placed:
            old, new = (_shown(figure.figure, of) for of in one.figures[figure.figure])
            text = f"of {one.name} {old} before, {new} now{said}"
            yield Finding(figure.figure, text, one.file, one.line)
        if not placed and (makers or not figure.ok):
            names = f", by {', '.join(one.name for one in makers[:MOST_PLACES])}" if makers else ""
            yield Finding(figure.figure, f"{_growth(figure)} ({_percent(figure.growth)}){names}", own, 1)
