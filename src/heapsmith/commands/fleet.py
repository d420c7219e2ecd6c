"""The command for many traces: sweep designs over them."""

import os
from pathlib import Path
from typing import Annotated

import heapsmith
from heapsmith.api import show
from heapsmith.api.stated import Option
from heapsmith.commands import arguments as take
from heapsmith.commands import results
from heapsmith.commands.options import Commands, Given, example, options_of

app = Commands()


@app.command(
    epilog=example(
        "sweep --designs builtin --traces traces -o results.parquet",
        "sweep --designs grid.toml --designs lean --traces a.hst --machine default -o results.parquet",
        "sweep --designs grid.toml --traces traces --scheduler tcp://10.0.0.7:8786 -o results.parquet",
    )
)
@options_of(heapsmith.simulate, "designs traces out machine workers scheduler")
def sweep(
    given: Given,
    designs: Annotated[
        list[str],
        Option(
            "A folder of designs and grids, a design, a grid (docs/howto/sweep-on-a-cluster.md), or `builtin` for "
            "all built-in designs; repeat it.",
            "DIR|FILE|NAME",
        ),
    ],
    traces: Annotated[list[Path], Option("Traces, or a folder of them; repeat it.", "DIR|FILE")],
    out: take.OutFile,
    workers: Annotated[int | None, Option("Processes. Default: one for each processor.", least=1)] = None,
    scheduler: take.Scheduler = None,
    store: Annotated[Path | None, Option("Where finished tasks are kept. Default: the user's cache.", "DIR")] = None,
    json: take.Json = False,
) -> None:
    """Simulate every design on every trace and write one row for each to a Parquet file.

    What is finished is kept. After an interrupt, the same command goes on where it was; another sweep with some of the
    same designs and traces simulates only what is new. See docs/howto/sweep-on-a-cluster.md.
    """
    from heapsmith.model.errors import BadInput
    from heapsmith.model.files import cache_dir
    from heapsmith.model.memory.hardware import load_hardware
    from heapsmith.tools.sweep import sweep as fleet
    from heapsmith.tools.sweep.grid import variants

    if workers is not None and scheduler is not None:
        raise BadInput("--workers and --scheduler: expected one of them; a cluster has its own workers")
    found, skipped = variants(designs)
    asked = fleet.Request(
        variants=found,
        skipped=skipped,
        traces=take.trace_files(traces),
        hardware=load_hardware(given["machine"]) if "machine" in given else None,
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
