"""The command `validate`: predictions beside measurements."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import heapsmith
from heapsmith.api import show
from heapsmith.api.designs import models_of
from heapsmith.bench.common.command import example
from heapsmith.commands import arguments as take
from heapsmith.commands.options import Commands, Given, options_of

if TYPE_CHECKING:  # needs numba, which a command imports only when it runs
    from heapsmith.bench.validate.validate import Validation

app = Commands()


@app.command(
    epilog=example("validate --machine machine.toml", "validate --machine machine.toml --traces traces --json")
)
@options_of(heapsmith.tune, "machine")
@options_of(heapsmith.simulate, "traces designs")
def validate(
    given: Given,
    traces: Annotated[
        list[Path] | None,
        typer.Option("--traces", metavar="DIR|FILE", help="Traces, or a folder of them; repeat it."),
    ] = None,
    rounds: take.Rounds = 15,
    out: Annotated[Path | None, typer.Option("-o", "--out", metavar="FILE", help="Write scatter plots (HTML).")] = None,
    json: take.Json = False,
) -> None:
    """Measure how wrong the model is.

    The tables show predicted beside measured figures, for good and bad designs. Default: traces of real programs,
    recorded now; all built-in designs, and deliberately bad designs.
    """
    from heapsmith.bench.validate import validate as bench
    from heapsmith.model.design.design import builtin_names, load
    from heapsmith.model.files import scratch
    from heapsmith.model.memory.hardware import load_hardware
    from heapsmith.model.predict.times import priced
    from heapsmith.tools.calibrate.bad_designs import bad_designs

    page = None
    if out is not None:
        from heapsmith.bench.validate.scatter import write_scatter

        page = take.writable_file(out)
    hardware = priced(load_hardware(given["machine"]))
    designs = models_of(given["designs"]) if "designs" in given else [*map(load, builtin_names()), *bad_designs()]
    with show.progress() as progress, scratch() as folder:
        files = take.trace_files(traces) if traces else bench.recorded(folder, progress)
        found = bench.validate(files, designs, hardware, rounds=rounds, progress=progress)
    if page is not None:
        write_scatter(page, found)
    show.emit_json(found) if json else _show(found)


def _show(found: "Validation") -> None:
    """How wrong each quantity is, and the worst cases."""
    from heapsmith.bench.validate.tables import predicted, signed, worst
    from heapsmith.tools.common.tables import draw

    for line in found.notes:
        show.note(f"heapsmith: {line}")
    for table in (predicted(found), worst(found), signed(found)):
        draw(table)
