"""The command that advises settings of other mallocs for a workload."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import heapsmith
from heapsmith.api import show
from heapsmith.api.programs import SECONDS, stop_of
from heapsmith.api.stated import Argument, Option
from heapsmith.commands import arguments as take
from heapsmith.commands import results
from heapsmith.commands.options import Commands, Given, WithProgram, example, options_of, program
from heapsmith.model.errors import BadInput, printable

if TYPE_CHECKING:
    from heapsmith.tools.common.rounds import Stop
    from heapsmith.tools.knobs.advice import Advice
    from heapsmith.tools.knobs.measure import Measured

app = Commands()

LIBS = ("glibc", "jemalloc", "mimalloc3", "tcmalloc")
"""Those that are advised without --lib."""


@app.command(
    cls=WithProgram,
    epilog=example(
        "knobs job.hst",
        "knobs job.hst --lib glibc --favour memory",
        "knobs job.hst --lib glibc --lib jemalloc --measure -- ./job",
        "knobs job.hst --classes > size_classes.inc",
    ),
)
@options_of(
    heapsmith.compare, "context sources lib favour machine classes measure each rounds seconds", seconds=take.seconds
)
@options_of(heapsmith.tune, "favour machine")
def knobs(
    context: typer.Context,
    given: Given,
    sources: Annotated[list[str], Argument("Traces (.hst); or a design, with --classes.", "TRACE...|DESIGN")],
    lib: Annotated[
        list[str] | None,
        Option("glibc, jemalloc, mimalloc2, mimalloc3 or tcmalloc; repeat it. Default: all but mimalloc2.", "LIB"),
    ] = None,
    classes: Annotated[bool, Option("Print instead the table of size classes for Google's TCMalloc.")] = False,
    measure: Annotated[
        bool, Option("Run the command behind -- under each malloc with its settings and without.")
    ] = False,
    each: Annotated[bool, Option("Also measure each setting alone.")] = False,
    json: take.Json = False,
) -> None:
    """Print settings of other mallocs for a workload, each with its reason, and the lines for a shell.

    For those who cannot replace their malloc, but can set its environment (docs/compare.md).
    """
    from heapsmith.tools.knobs.advice import advise

    command = program(context)
    if measure != bool(command) or each > measure:
        raise BadInput("--measure: expected -- CMD [ARG]... behind it, and neither CMD nor --each without it")
    if classes:
        print_classes(sources, json)
        return
    if designs := [one for one in sources if is_design(one)]:
        raise BadInput(f"{designs[0]}: a design has size classes (--classes); settings need traces (.hst)")
    words = take.command_words("", command) if command else []
    stop = stop_of(given.get("rounds"), given.get("seconds"), SECONDS)
    with show.progress() as progress:
        found = advise([Path(one) for one in sources], lib or LIBS, given["favour"], given["machine"], progress)
    if not json:
        results.advised(found)
    measured = measured_with(words, found.advice, each, stop) if measure else None
    if json:
        show.emit_json({"advised": found, "measured": measured})
    elif measured:
        results.measured_settings(measured)


def measured_with(command: list[str], advice: "list[Advice]", each: bool, stop: "Stop") -> "Measured | None":
    """What the settings gain in the command; None if there are none."""
    if not any(one.knobs for one in advice):
        return None
    from heapsmith.tools.knobs.measure import measure_settings

    with show.progress() as progress:
        return measure_settings(command, advice, each=each, stop=stop, progress=progress)


def is_design(source: str) -> bool:
    """Whether this names a design, not a trace."""
    from heapsmith.model.design.design import builtin_names

    return source.endswith(".toml") or source in builtin_names()


def print_classes(inputs: list[str], json: bool) -> None:
    """The table of a design, or of traces."""
    from heapsmith.model.design.design import load
    from heapsmith.tools.knobs.tcmalloc_classes import of_design, of_traces, source

    of_one = len(inputs) == 1 and is_design(inputs[0])
    with show.progress() as progress:
        table = of_design(load(inputs[0])) if of_one else of_traces([Path(one) for one in inputs], progress)
    if json:
        show.emit_json(table.classes)
        return
    show.text(source(table.classes, printable(", ".join(Path(one).name for one in inputs))) + "\n")
    if not of_one:
        count = len(table.classes)
        show.note(f"heapsmith: {count} classes; a request's class is {table.lost:.1f} bytes too large on average")
