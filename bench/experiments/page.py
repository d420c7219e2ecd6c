"""The results of experiments as tables: a row per arm and workload, beside the log's claim."""

import re
from collections import Counter
from pathlib import Path
from textwrap import fill

from heapsmith.bench.experiments.book import FILE, Book, Experiment, book
from heapsmith.bench.experiments.run import Change, Result, Results
from heapsmith.model.errors import CheckFailed
from heapsmith.model.toml_text import read_text
from heapsmith.tools.common.tables import Words, section

PAGE = Path(__file__).resolve().parents[2] / "docs/experiments.md"

HEAD = """# Experiments

This page is the output of `python -m heapsmith.bench experiments run all -o docs/experiments.md`.
The claims are those of the log book of an allocator that was written by hand in 2025. Each
experiment compares designs that differ in one choice, and in nothing else: the command checks this.
A change is a ratio to the first design. *Predicted* is the model's figure, from a recording of the
same program: of loops with another seed, of real programs that which is replayed. *Measured* is the
median over the rounds with the interval that holds it in 95 % of resamplings. Each round has
another layout of each library: the same code, behind paddings of another length. So a difference
that hangs on the address of a loop or a variable decides nothing. A claim *holds here* if the
interval lies on its side of 1. If the interval holds 1 the row is *undecided*, but within 1 % of 1
on both sides there is *no difference*. *Sign* says of decided rows whether the prediction lay on
the same side of 1. A prediction within 1 % of 1 has no sign: it is right if the interval comes as
near.
"""

TITLE = re.compile(r"^\*\*(\w+)\*\*:", re.MULTILINE)
"""What the page says of an experiment begins so."""


def tables(results: Results) -> list[Words]:
    """Return the tables that have rows."""
    return [words for words in (rows(results), others(results), profiles(results)) if words.rows]


def change_text(change: Change) -> str:
    """Return a change in percent: measured with its interval, or predicted alone."""
    if change.measured is None:
        return _percent(change.predicted)
    middle = _percent(change.measured.median)
    bounds = change.measured.bounds()
    return f"{middle} ({_percent(bounds[0])} to {_percent(bounds[1])})" if bounds else middle


def _percent(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio - 1:+.1%}".replace("%", " %")


def rows(results: Results) -> Words:
    """Return the table of all results: the claim's own quantity, and what else changed."""
    columns = ["experiment", "<workload", "<arms", "<quantity", "predicted", "measured", "<verdict", "<sign"]
    return Words(_title(results), columns, [_row(one) for one in results.results])


def _row(one: Result) -> list[str]:
    claimed = one.changes[0]
    sign = "" if one.sign is None else ("right" if one.sign else "wrong")
    arms = f"{one.reference} -> {one.arm}"
    measured = "-" if claimed.measured is None else change_text(claimed)
    figures = [claimed.quantity, _percent(claimed.predicted), measured]
    return [one.experiment, one.workload, arms, *figures, one.verdict, sign]


def _title(results: Results) -> str:
    of = results.conditions
    quick = ", quick" if of.quick else ""
    return f"Up to {of.rounds} rounds on {of.processors} processors{quick}, machine {of.machine}{signs(results)}"


def signs(results: Results) -> str:
    """Return how often the prediction had the sign, as the end of a title."""
    decided = [one.sign for one in results.results if one.sign is not None]
    return f"; predictions with the right sign: {sum(decided)} of {len(decided)}" if decided else ""


def others(results: Results) -> Words:
    """Return the table of the other quantities, predicted and measured."""
    names = list(dict.fromkeys(change.quantity for one in results.results for change in one.changes))
    lines: list[list[str]] = []
    for one in results.results:
        by_name = {change.quantity: change for change in one.changes}
        cells = [change_text(by_name[name]) if name in by_name else "" for name in names]
        lines.append([one.experiment, one.workload, f"{one.reference} -> {one.arm}", *cells])
    return Words(
        "All changes: measured, or predicted where nothing was measured",
        ["experiment", "<workload", "<arms", *names],
        lines,
    )


def profiles(results: Results) -> Words:
    """Return the table of profiles: shares of the instructions, or counters per operation."""
    return Words(
        "Where the instructions go, and counters per operation",
        ["experiment", "<workload", "<arm", "<quantity", "predicted", "measured"],
        [
            [
                one.experiment,
                one.workload,
                one.arm,
                figure.quantity,
                _figure(figure.predicted),
                _figure(figure.measured),
            ]
            for one in results.profiles
            for figure in one.figures
        ],
    )


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def markdown(book: Book, results: Results) -> str:
    """Return the page: the tables, and a paragraph for each experiment in them."""
    lines = [HEAD]
    for words in tables(results):
        lines += section(words)
    lines += ["", "## What each compares, and why it differs from the log"]
    ran = (
        {one.experiment for one in results.results} | {one.experiment for one in results.profiles} | {*results.skipped}
    )
    for name in (name for name in book.experiments if name in ran):
        lines += ["", fill(_paragraph(name, book.experiments[name], results), 100, break_on_hyphens=False)]
    return "\n".join(lines) + "\n"


def _paragraph(name: str, one: Experiment, results: Results) -> str:
    found = f"**{name}**: {one.about}. The log: {one.claim.text}."
    if name in results.skipped:
        return f"{found} It was skipped: {results.skipped[name]}."
    verdicts = Counter(row.verdict for row in results.results if row.experiment == name)
    said = ", ".join(f"{verdict} in {count}" for verdict, count in verdicts.items())
    return " ".join(filter(None, [found, f"Of its rows, {said}." if said else "", one.why]))


def check() -> None:
    """Raise CheckFailed if the committed page has other experiments than the file, or another order."""
    told, stated = TITLE.findall(read_text(PAGE, str(PAGE))), list(book().experiments)
    if told != stated:
        other = ", ".join(sorted(set(told) ^ set(stated))) or "the order"
        raise CheckFailed(
            f"{PAGE.name} differs from {FILE.name} in {other}: run python -m heapsmith.bench experiments run all"
        )


def description(book: Book, name: str, one: Experiment) -> list[tuple[str, object]]:
    """Return what `show` prints of an experiment."""
    arms = [f"{arm.name}: {arm.peer or arm.design or 'the base'}" for arm in one.arms]
    return [
        (name, one.about),
        ("the log's claim", one.claim.text),
        ("quantity", one.claim.quantity),
        *((f"workload {workload}", book.workloads[workload].about) for workload in one.workloads),
        ("base", one.base or "default"),
        *(("arm", arm) for arm in arms),
        ("varies", ", ".join(one.varies) or "the allocator"),
        ("follows", ", ".join(one.follows) or "nothing"),
        *([("why", one.why)] if one.why else []),
    ]
