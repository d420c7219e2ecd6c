"""The log's allocator, step by step: each step is an experiment whose arms are the states before and after it.

python -m heapsmith.bench.experiments.log [--page | --predict | --rounds N] [STEP]..., or make log: figures and page
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from heapsmith.bench.common.command import exit_with
from heapsmith.bench.experiments.book import BASE, Arm, Book, Claim, Experiment, Workload, book
from heapsmith.bench.experiments.fair import differences
from heapsmith.bench.experiments.kept import Kept, keep, kept, stale
from heapsmith.bench.experiments.page import change_text, conditions, filled, percent, profiles, rows
from heapsmith.bench.experiments.run import run_experiments
from heapsmith.model.design.design import Design, changed, load
from heapsmith.model.errors import CheckFailed
from heapsmith.model.files import write_text
from heapsmith.model.memory.hardware import load_hardware
from heapsmith.model.predict.times import priced
from heapsmith.model.toml_text import from_toml, read_text
from heapsmith.tools.common.tables import Words, section

FILE = Path(__file__).with_name("log.toml")
FIGURES = Path(__file__).with_name("log.json")
PAGE = Path(__file__).resolve().parents[2] / "docs/lab/log.md"

NO_FIGURE = "none"
"""Of a step whose figure the log does not give."""
AGAIN = "python -m heapsmith.bench.experiments.log --page"

HEAD = """# The log, step by step

In 2025 somebody wrote an allocator by hand, and a log of some sixty experiments with it. This page
walks through that allocator in the order of a lesson. It begins with a plain design: for each small
size a pointer that moves through fresh blocks, a list of freed ones below it, and a store behind
all lists. Each step changes one thing, and the last state is the built-in design `hakmem`.
[experiments.md](experiments.md) has the experiments themselves, each by itself and under the log's
own conditions.

A malloc is a stack of layers. A *front* belongs to one thread and holds freed blocks of one size.
Most calls end there, after a handful of instructions. Behind it lies the *store*: slabs of 64 KiB,
each cut into blocks of one size. Slabs come from *superslabs* of 1 MiB, and these come from the
system. A call that finds its layer empty goes one layer down, where it takes many times as long. So
it matters how often a call goes down, and only then how fast a layer is. Look at the table with
this in mind: a step that makes a layer faster shows on the workloads that reach this layer, and on
no others.

Each row compares the state before a step with the state behind it, by the time of an operation on
one workload (bench/experiments/*.toml say what each does). *Predicted* is the model's
figure, *measured* the median with the interval that holds it in 95 % of resamplings, and *not yet*
means that nothing was measured since the step has its present form. The log's figures are mostly
gains of throughput, on its machine and against its own state of that day. Its order was another
one: what each of its numbered phases changed stands [at the end](#the-phases-of-the-log).

This page is made by `make log`.
"""

PHASES = """The log's phases went by another order than this page, and each began from the state of its day.
Here the arms of a row differ by what the phase changed, and in nothing else: a step of this page, or an experiment of
[experiments.md](experiments.md). Figures are ratios to the first arm, or shares where the quantity is a level."""


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A change of the state before. log: the log's figure; text: what a reader learns from the step."""

    name: str
    about: str
    change: dict[str, Any]
    workloads: list[str]
    log: str
    text: str


class Phase(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A phase by the log's number. of: the steps and experiments whose arms differ by what the phase changed."""

    number: str
    about: str
    of: list[str]
    text: str


class Log(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The first state, as changes of base.toml, workloads of these steps alone, and the steps and phases in order."""

    base: dict[str, Any]
    workloads: dict[str, Workload]
    steps: list[Step]
    phases: list[Phase]


def log(path: Path = FILE) -> Log:
    """Return the steps of a file; BadInput names the file, the field and the expectation."""
    found: Log = from_toml(read_text(path, str(path)), str(path), Log, str)
    return found


def states(of: Log) -> list[Design]:
    """Return the design before the first step, and the design behind each step; BadInput if one is not legal."""
    fields, found = dict(of.base), [changed(load(str(BASE)), "log-begin", of.base)]
    for step in of.steps:
        fields |= step.change
        found.append(changed(load(str(BASE)), f"log-{step.name}", fields))
    return found


def as_book(of: Log) -> Book:
    """Return the steps as experiments on the workloads of the book; what follows from a step is not stated again."""
    fields, found, designs = dict(of.base), {}, states(of)
    for step, before, after in zip(of.steps, designs, designs[1:], strict=False):
        found[step.name] = Experiment(
            about=step.about,
            claim=Claim(step.log.removeprefix(NO_FIGURE), sign=None),
            workloads=step.workloads,
            arms=[Arm("before"), Arm("after", step.change)],
            varies=list(step.change),
            follows=[key for key in differences(before, after)[1] if key not in step.change],
            together="" if len(step.change) == 1 else "The log made them one step.",
            base=dict(fields),
        )
        fields |= step.change
    return Book(book().workloads | of.workloads, found)


def page(of: Log, figures: Mapping[str, Kept]) -> str:
    """Return the page: what a reader must know, all steps in a table, and a section for each."""
    lines = [HEAD, filled(conditions(figures)), *section(table(of, figures)), ""]
    for number, step in enumerate(of.steps, 1):
        lines += [f"## {number}. {step.about[0].upper()}{step.about[1:]}", "", filled(" ".join(step.text.split())), ""]
        its = figures[step.name]
        found = [f"{one.workload} {change_text(one.changes[0])}" for one in its.results]
        how = "Measured here" if its.conditions.rounds else "Predicted here"
        lines += [filled(f"{how}: {'; '.join(found)}. The log: {step.log}."), ""]
    lines[-1:] = [*section(phases(of, figures)), "", filled(" ".join(PHASES.split()))]
    for phase in of.phases:
        about = f"{phase.about[0].upper()}{phase.about[1:]}."
        lines += ["", f"### Phase {phase.number}", "", filled(" ".join([about, *phase.text.split()]))]
    return "\n".join(lines) + "\n"


def phases(of: Log, figures: Mapping[str, Kept]) -> Words:
    """Return the table of all phases: the design fields that changed, predicted, measured, and the log's figure."""
    steps, rest = as_book(of), book()
    both = Book(rest.workloads | steps.workloads, rest.experiments | steps.experiments)
    known = {**kept(), **figures}
    lines: list[list[str]] = []
    for phase in of.phases:
        for name in phase.of:
            one, its = both.experiments[name], {name: known[name]}
            found = [*(row[:7] for row in rows(both, its).rows), *profiles(both, its).rows]
            lines += [[phase.number, ", ".join(f"`{field}`" for field in one.varies), *row] for row in found]
    head = ["<phase", "<changed", "<of", "<workload", "<arms", "<quantity", "predicted", "measured", "<the log"]
    return Words("The phases of the log", head, lines)


def table(of: Log, figures: Mapping[str, Kept]) -> Words:
    """Return the table of all steps: predicted, measured, and the log's figure."""
    rows = [
        [
            step.name,
            one.workload,
            percent(one.changes[0].predicted),
            change_text(one.changes[0]) if figures[step.name].conditions.rounds else "not yet",
            step.log,
        ]
        for step in of.steps
        for one in figures[step.name].results
    ]
    return Words(
        "Time of an operation behind each step", ["<step", "<workload", "predicted", "measured", "<the log"], rows
    )


def check() -> None:
    """Raise CheckFailed if a kept figure is of another step than the file's, or the page is not made of the figures."""
    found, figures = log(), kept(FIGURES)
    if old := stale(as_book(found), figures):
        raise CheckFailed(f"{FIGURES.name}: {', '.join(old)} changed; run make log")
    if read_text(PAGE, str(PAGE)) != page(found, figures):
        raise CheckFailed(f"{PAGE.name} is not made of {FIGURES.name} and results.json; run {AGAIN}")


def main(
    steps: Annotated[list[str] | None, typer.Argument(metavar="[STEP]...", help="Default: all.")] = None,
    predict: Annotated[bool, typer.Option("--predict", help="Measure nothing.")] = False,
    rounds: Annotated[int, typer.Option("--rounds", help="The most rounds.")] = 7,
    only_page: Annotated[bool, typer.Option("--page", help="Only make the page of the kept figures.")] = False,
    only_check: Annotated[bool, typer.Option("--check", help="Only compare the page with the figures.")] = False,
) -> int:
    """Predict and measure the steps, keep the figures, and write the page."""
    if only_check:
        check()
        return 0
    if only_page:
        write_text(PAGE, page(log(), kept(FIGURES)))
        return 0
    found = as_book(log())
    hardware = priced(load_hardware("epyc"))
    results = run_experiments(
        found,
        found.chosen(steps or []),
        hardware,
        rounds=0 if predict else rounds,
        quick=False,
        progress=lambda *_: None,
    )
    write_text(PAGE, page(log(), keep(found, results, FIGURES)))
    return 0


if __name__ == "__main__":
    exit_with(main)
