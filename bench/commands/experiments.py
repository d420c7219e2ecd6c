"""The commands of the group `experiments`: list, show, run."""

from pathlib import Path
from typing import Annotated

import typer

import heapsmith
from heapsmith.api import show
from heapsmith.bench.common.command import example
from heapsmith.commands import arguments as take
from heapsmith.commands.options import Commands, Given, options_of
from heapsmith.model.errors import BadInput

app = typer.Typer(rich_markup_mode=None)
experiments = Commands(name="experiments", help="Claims of an allocator's log book, predicted and measured here.")
app.add_typer(experiments)

Names = Annotated[
    list[str] | None, typer.Argument(metavar="[EXPERIMENT]...", help="Such as E12; default: all.", show_default=False)
]


@experiments.command("list", epilog=example("experiments list"))
def list_experiments(json: take.Json = False) -> None:
    """List the experiments and the log's claims."""
    from heapsmith.bench.experiments.book import book

    found = book()
    if json:
        show.emit_json(found)
        return
    lines = [(name, one.about, one.claim.text or "-") for name, one in found.experiments.items()]
    show.table("", ["name", "<compares", "<the log's claim"], lines)


@experiments.command("show", epilog=example("experiments show E12"))
def show_experiment(
    name: Annotated[str, typer.Argument(metavar="EXPERIMENT", help="Such as E12.", show_default=False)],
    json: take.Json = False,
) -> None:
    """Print an experiment: its arms, its workloads, and every value in which the arms differ."""
    from heapsmith.bench.experiments.book import book, designs_of
    from heapsmith.bench.experiments.fair import differences, faults
    from heapsmith.bench.experiments.page import description
    from heapsmith.model.errors import CheckFailed

    found = book()
    (name,) = found.chosen([name])
    one = found.experiments[name]
    if json:
        show.emit_json(one)
        return
    show.fields(description(found, name, one))
    designs = designs_of(name, one)
    reference = next(iter(designs), "")
    for arm in list(designs)[1:]:
        fields, _ = differences(designs[reference], designs[arm])
        show.table("", ["field", f"<{reference}", f"<{arm}"], [(key, a, b) for key, (a, b) in fields.items()])
    if wrong := faults(name, one):
        raise CheckFailed("; ".join(wrong))


@experiments.command(epilog=example("experiments run E7 E12", "experiments run all --predict --keep"))
@options_of(heapsmith.tune, "name machine")
def run(
    given: Given,
    name: Names = None,
    rounds: take.Rounds = 11,
    quick: Annotated[bool, typer.Option("--quick", help="A fifth of the work, and fewer rounds.")] = False,
    predict: Annotated[bool, typer.Option("--predict", help="Measure nothing.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the figures, and make docs/lab/experiments.md.")] = False,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="FILE", help="Also write the results: .md or .json.")
    ] = None,
    json: take.Json = False,
) -> None:
    """Predict and measure experiments. A run that was interrupted goes on where it was.

    A row has 5 rounds at least, and no more once its intervals are 2 % wide.
    """
    from heapsmith.bench.experiments import kept, page
    from heapsmith.bench.experiments.book import book
    from heapsmith.bench.experiments.run import QUICK_ROUNDS, run_experiments
    from heapsmith.model.files import json_text, write_text
    from heapsmith.model.memory.hardware import load_hardware
    from heapsmith.model.predict.times import priced

    if out is not None and out.suffix not in (".md", ".json"):
        raise BadInput(f"{out}: expected a name that ends with .md or .json")
    path = take.writable_file(out) if out is not None else None
    hardware, found = priced(load_hardware(given["machine"])), book()
    with show.progress() as progress:
        results = run_experiments(
            found,
            found.chosen(name or []),
            hardware,
            rounds=0 if predict else min(QUICK_ROUNDS, rounds) if quick else rounds,
            quick=quick,
            progress=progress,
        )
    figures = kept.of_run(found, results, {})
    if keep:
        page.write(found, kept.keep(found, results))
    if path is not None:
        text = page.markdown(found, figures) if path.suffix == ".md" else json_text(results) + "\n"
        write_text(path, text)
    if json:
        show.emit_json(results)
        return
    for skipped, reason in results.skipped.items():
        show.note(f"heapsmith: {skipped} was skipped: {reason}")
    for words in page.tables(found, figures):
        show.table(words.title, words.columns, words.rows)
