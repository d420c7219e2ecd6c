"""The commands for many traces: sweep designs over them."""

import os
from pathlib import Path
from typing import Annotated

import typer

from heapsmith import arguments as take
from heapsmith import results, show

app = take.Commands(rich_markup_mode=None)


@app.command(
    epilog=take.example(
        "sweep --designs builtin --traces traces -o results.parquet",
        "sweep --designs grid.toml --designs lean --traces a.hst --machine default -o results.parquet",
        "sweep --designs grid.toml --traces traces --scheduler tcp://10.0.0.7:8786 -o results.parquet",
    )
)
def sweep(
    designs: Annotated[
        list[str],
        typer.Option(
            metavar="DIR|FILE|NAME",
            help="A folder of designs and grids, a design, a grid (docs/sweep.md), or `builtin` for all built-in "
            "designs; repeat it.",
            autocompletion=take.designs,
        ),
    ],
    traces: Annotated[
        list[Path], typer.Option("--traces", metavar="DIR|FILE", help="Traces, or a folder of them; repeat it.")
    ],
    out: take.OutFile,
    machine: take.Simulated = None,
    workers: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Processes. Default: one for each processor.")
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Work on the dask cluster of this scheduler: tcp://HOST:PORT.")
    ] = None,
    store: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where finished tasks are kept. Default: the user's cache.")
    ] = None,
    json: take.Json = False,
) -> None:
    """Simulate every design on every trace and write one row for each to a Parquet file.

    What is finished is kept. After an interrupt, the same command goes on where it was; another sweep with some of the
    same designs and traces simulates only what is new. See docs/sweep.md.
    """
    from heapsmith.bench.sweep import sweep as fleet
    from heapsmith.bench.sweep.grid import variants
    from heapsmith.model.errors import BadInput
    from heapsmith.model.files import cache_dir
    from heapsmith.model.memory.hardware import load_hardware

    if workers is not None and scheduler is not None:
        raise BadInput("--workers and --scheduler: expected one of them; a cluster has its own workers")
    found, skipped = variants(designs)
    asked = fleet.Request(
        variants=found,
        skipped=skipped,
        traces=take.trace_files(traces),
        hardware=load_hardware(machine) if machine is not None else None,
        folder=take.writable_folder(store if store is not None else cache_dir() / "sweep"),
    )
    path = take.writable_file(out)
    runs_on = fleet.executor(workers or len(os.sched_getaffinity(0)), scheduler)
    try:
        with show.progress() as progress:
            done = fleet.sweep(asked, path, runs_on, progress)
    except KeyboardInterrupt:
        show.note("heapsmith: interrupted: what is finished is kept, and the same command goes on from there")
        raise
    show.emit_json(done) if json else results.swept(done)
