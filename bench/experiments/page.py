"""The page of experiments, made of the kept figures: prediction, measurement and the log's figure, row by row."""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from textwrap import fill

from heapsmith.bench.experiments import kept
from heapsmith.bench.experiments.book import Book, Experiment, Workflow, book
from heapsmith.bench.experiments.kept import Kept
from heapsmith.bench.experiments.profile import Figure
from heapsmith.bench.experiments.results import Change, Conditions, Result, judged
from heapsmith.model.errors import CheckFailed
from heapsmith.model.files import write_text
from heapsmith.model.toml_text import read_text
from heapsmith.tools.common.tables import Words, section

PAGE = Path(__file__).resolve().parents[2] / "docs/lab/experiments.md"
AGAIN = "python -m heapsmith.bench experiments run all --predict --keep"

HEAD = """# Experiments

`make experiments` measures these experiments anew and makes this page of the figures. The claims
are those of the log book of an allocator that was written by hand in 2025. Each experiment compares
designs that differ in one choice, and in nothing else: the command refuses arms that differ in a
number that does not follow from the choice, on classes that no workload asks for, or in how a call
comes to its class. Where several fields differ, the text says why. A change is a ratio to the first
design. *Predicted* is the model's figure, from a recording of the same program: of loops with
another seed, of real programs that which is replayed. *Measured* is the median over the rounds with
the interval that holds it in 95 % of resamplings. *Not yet*: nothing was measured since the arms
changed. Each round has another layout of each library: the same code, behind paddings of another
length. So a difference that hangs on the address of a loop or a variable decides nothing. The log's
figures are mostly of throughput, so its +10 % is a fall here. Only a row with a claim of the log
and an interval has a verdict. The claim *holds here* if the interval lies on its side of 1. If the
interval holds 1 the row is *undecided*, but within 1 % of 1 on both sides there is *no difference*.
*Sign* says of decided rows whether the prediction lay on the same side of 1. A prediction within
1 % of 1 has no sign: it is right if the interval comes as near.
"""


def tables(book: Book, figures: Mapping[str, Kept]) -> list[Words]:
    """Return the tables that have rows."""
    return [words for words in (rows(book, figures), others(figures), profiles(book, figures)) if words.rows]


def change_text(change: Change) -> str:
    """Return a change in percent: measured with its interval, or predicted alone."""
    return percent(change.predicted) if change.measured is None else _interval(change)


def _interval(change: Change) -> str:
    if change.measured is None:
        return "-"
    middle, bounds = percent(change.measured.median), change.measured.bounds()
    return f"{middle} ({percent(bounds[0])} to {percent(bounds[1])})" if bounds else middle


def percent(ratio: float | None) -> str:
    """Return a ratio as a change in percent."""
    return "-" if ratio is None else f"{ratio - 1:+.1%}".replace("%", " %")


def _judged(book: Book, one: Result) -> tuple[str, bool | None]:
    claim = book.experiments[one.experiment].claim.of(one.workload, one.arm)
    return judged(one.changes[0], claim.sign)


def _results(figures: Mapping[str, Kept]) -> Iterable[tuple[Kept, Result]]:
    return ((of, one) for of in figures.values() for one in of.results)


def rows(book: Book, figures: Mapping[str, Kept]) -> Words:
    """Return the table of all results: the claim's own quantity beside the log's figure."""
    columns = [
        "experiment",
        "<workload",
        "<arms",
        "<quantity",
        "predicted",
        "measured",
        "<the log",
        "<verdict",
        "<sign",
    ]
    return Words(_title(book, figures), columns, [_row(book, of, one) for of, one in _results(figures)])


def _row(book: Book, of: Kept, one: Result) -> list[str]:
    claimed, (verdict, right) = one.changes[0], _judged(book, one)
    sign = "" if right is None else ("right" if right else "wrong")
    measured = _interval(claimed) if of.conditions.rounds else "not yet"
    the_log = book.experiments[one.experiment].claim.of(one.workload, one.arm).text or "-"
    figures = [claimed.quantity, percent(claimed.predicted), measured, the_log]
    return [one.experiment, one.workload, f"{one.reference} -> {one.arm}", *figures, verdict, sign]


def _title(book: Book, figures: Mapping[str, Kept]) -> str:
    measured = sum(1 for of in figures.values() if of.conditions.rounds)
    signs = [right for _, one in _results(figures) if (right := _judged(book, one)[1]) is not None]
    parts = [f"{len(figures)} experiments, {measured} of them measured"]
    parts += [f"predictions with the right sign: {sum(signs)} of {len(signs)}"] if signs else []
    return "; ".join(parts)


def conditions(figures: Mapping[str, Kept]) -> str:
    """Return how the measured figures came about, a sentence for each kind of run."""
    runs: dict[Conditions, list[Kept]] = {}
    for one in figures.values():
        if one.conditions.rounds:
            runs.setdefault(one.conditions, []).append(one)
    return " ".join(
        f"{len(of_these)} experiments were measured in up to {of.rounds} rounds{' of quick runs' if of.quick else ''}, "
        f"on {of.processors} processors, {_when(of_these)}, and predicted by the machine file `{of.machine}`."
        for of, of_these in runs.items()
    )


def _when(measured: list[Kept]) -> str:
    """Return between which dates figures were measured, and at which commits, the first one first."""
    dates = sorted({one.date for one in measured})
    commits = dict.fromkeys(one.commit for one in sorted(measured, key=lambda one: one.date))
    span = f"on {dates[0]}" if len(dates) == 1 else f"from {dates[0]} to {dates[-1]}"
    return f"{span} at {'commit' if len(commits) == 1 else 'the commits'} {', '.join(commits)}"


def others(figures: Mapping[str, Kept]) -> Words:
    """Return the table of the other quantities, predicted and measured."""
    names = list(dict.fromkeys(change.quantity for _, one in _results(figures) for change in one.changes))
    lines: list[list[str]] = []
    for _, one in _results(figures):
        by_name = {change.quantity: change for change in one.changes}
        cells = [change_text(by_name[name]) if name in by_name else "" for name in names]
        lines.append([one.experiment, one.workload, f"{one.reference} -> {one.arm}", *cells])
    return Words(
        "All changes: measured, or predicted where nothing was measured",
        ["experiment", "<workload", "<arms", *names],
        lines,
    )


def profiles(book: Book, figures: Mapping[str, Kept]) -> Words:
    """Return the table of profiles: shares, or counters per operation, of single designs."""
    return Words(
        "Shares, and counters per operation",
        ["experiment", "<workload", "<arm", "<quantity", "predicted", "measured", "<the log"],
        [
            [
                name,
                one.workload,
                one.arm,
                figure.quantity,
                _figure(figure.predicted),
                _measured_figure(figure) if of.conditions.rounds else "not yet",
                _log_of(book.experiments[name], one.arm, figure.quantity),
            ]
            for name, of in figures.items()
            for one in of.profiles
            for figure in one.figures
        ],
    )


def _log_of(one: Experiment, arm: str, quantity: str) -> str:
    return one.figures.get(f"{arm}: {quantity}", one.figures.get(quantity, "-"))


def _measured_figure(figure: Figure) -> str:
    interval = f" ({_figure(figure.bounds[0])} to {_figure(figure.bounds[1])})" if figure.bounds else ""
    return _figure(figure.measured) + interval


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def markdown(book: Book, figures: Mapping[str, Kept]) -> str:
    """Return the page: the tables, and a paragraph for each experiment in them."""
    lines = [HEAD, filled(conditions(figures))]
    for words in tables(book, figures):
        lines += section(words)
    lines += ["", "## What each compares, and why it differs from the log"]
    for name, of in figures.items():
        lines += ["", filled(_paragraph(book, name, of))]
    if book.workflows:
        lines += ["", "## Workflows of the log"]
    for name, workflow in book.workflows.items():
        lines += ["", filled(_workflow(name, workflow))]
    return "\n".join(lines) + "\n"


def filled(text: str) -> str:
    """Return prose in lines."""
    return fill(text, 100, break_on_hyphens=False)


def _paragraph(book: Book, name: str, of: Kept) -> str:
    one = book.experiments[name]
    found = f"**{name}**: {one.about}. {_of_the_log(one)}"
    if len(one.varies) > 1:
        found += f" The arms differ in {', '.join(f'`{field}`' for field in one.varies)}. {one.together}"
    if of.skipped:
        return f"{found} It was skipped: {of.skipped}."
    return " ".join(filter(None, [found, _verdicts(book, of), one.why]))


def _verdicts(book: Book, of: Kept) -> str:
    if not of.conditions.rounds:
        return "Nothing is measured since the arms changed."
    verdicts = Counter(verdict for one in of.results if (verdict := _judged(book, one)[0]))
    said = ", ".join(f"{verdict} in {count}" for verdict, count in verdicts.items())
    return f"Of its rows, {said}." if said else ""


def _of_the_log(one: Experiment) -> str:
    texts = [one.claim.text] if one.claim.text else []
    texts += [f"{row.text} ({row.workload or row.arm})" for row in one.claim.rows if row.text]
    texts += [f"{key} {text}" for key, text in one.figures.items()]
    return f"The log: {'; '.join(texts)}." if texts else "The log has no figure."


def _workflow(name: str, one: Workflow) -> str:
    return f"**{name}**: {one.about}. The log: {one.log}. Here: {one.here} {one.lacks}"


def write(book: Book, figures: Mapping[str, Kept]) -> None:
    """Write the page of the kept figures."""
    write_text(PAGE, markdown(book, figures))


def check() -> None:
    """Raise CheckFailed if a kept figure is of other arms than the file's, or the page is not made of the figures."""
    found, figures = book(), kept.kept()
    if old := kept.stale(found, figures):
        raise CheckFailed(f"{kept.FILE.name} has no figures of the arms of {', '.join(old)}: run {AGAIN}")
    if read_text(PAGE, str(PAGE)) != markdown(found, figures):
        raise CheckFailed(f"{PAGE.name} is not made of {kept.FILE.name}: run {AGAIN}")


def description(book: Book, name: str, one: Experiment) -> list[tuple[str, object]]:
    """Return what `show` prints of an experiment."""
    arms = [f"{arm.name}: {arm.peer or arm.design or 'the base'}" for arm in one.arms]
    return [
        (name, one.about),
        ("the log's claim", _of_the_log(one)),
        ("quantity", one.claim.quantity),
        *((f"workload {workload}", book.workloads[workload].about) for workload in one.workloads),
        ("base", one.base or "default"),
        *(("arm", arm) for arm in arms),
        ("varies", ", ".join(one.varies) or "the allocator"),
        *([("together", one.together)] if one.together else []),
        ("follows", ", ".join(one.follows) or "nothing"),
        *([("why", one.why)] if one.why else []),
    ]
