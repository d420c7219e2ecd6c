"""The commands of the model: simulate designs on a trace, tune a design, calibrate costs, validate predictions."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

import heapsmith
from heapsmith.api import show
from heapsmith.commands import arguments as take
from heapsmith.commands import results, results_mesh
from heapsmith.commands.limits import Limit, limited
from heapsmith.model.errors import BadInput
from heapsmith.model.search import MOST_CLASSES

if TYPE_CHECKING:
    from heapsmith.model.search.workers import Hire

app = take.Commands(rich_markup_mode=None)


@app.command(
    epilog=take.example(
        "simulate py.hst",
        "simulate py.hst --design default --design tuned.toml --json",
        "simulate py.hst --design default --machine machine.toml",
        "simulate py.hst --machine machine.toml --latency --cores 2,8,64",
        "simulate py.hst --design default --machine default --bytes --at 1000",
    )
)
def simulate(
    trace: take.Trace,
    design: take.Designs = None,
    machine: take.Simulated = None,
    births: take.Births = None,
    deaths: take.Deaths = None,
    latency: take.Latency = False,
    cores: take.Cores = None,
    recorded_times: take.RecordedTimes = False,
    bytes: take.Bytes = False,
    at: take.At = None,
    limit: Limit = None,
    json: take.Json = False,
) -> None:
    """Simulate designs on a trace, side by side.

    The tables show counts, bytes and fragmentation. --machine adds cache and TLB misses, page faults and resident
    bytes, and time if the machine file has costs. --latency and --cores follow the time of each operation. --bytes
    shows a ledger of each design's bytes, to the byte: of the committed ones, with --machine of the resident ones.
    """
    if at and not bytes:
        raise BadInput("--at: expected --bytes too")
    if bytes and (latency or cores or recorded_times):
        raise BadInput("--bytes: expected neither --latency, --cores nor --recorded-times, which tell of times")
    if machine is None and (births or deaths):
        raise BadInput("--births and --deaths: expected --machine too, whose caches they fill")
    counts = take.core_counts(cores)
    times: Literal["dense", "recorded"] | None = (
        "recorded" if recorded_times else "dense" if latency or counts else None
    )
    if machine is None and times:
        raise BadInput("--latency, --cores and --recorded-times: expected --machine too, whose costs they use")
    with show.progress() as progress:
        found = heapsmith.simulate(
            trace,
            limited(design or heapsmith.Design.builtin(), limit),
            machine=machine,
            births=births,
            deaths=deaths,
            times=times,
            cores=counts,
            progress=progress,
        )
        if bytes:
            ledgers = found.bytes(at or [], progress=progress).details
            show.emit_json(ledgers) if json else results.ledgers(ledgers)
            return
    scaling = bool(counts or recorded_times)
    show.emit_json(found.details) if json else results.simulated(found.details, latency=latency, scaling=scaling)


@app.command(epilog=take.example("reuse py.hst --design default --design lean", "reuse py.hst --deaths all --json"))
def reuse(
    trace: take.Trace,
    design: take.Designs = None,
    births: take.Births = None,
    deaths: take.Deaths = None,
    json: take.Json = False,
) -> None:
    """Print the miss ratio of every cache size. It tells how soon designs and program touch the same lines again."""
    from heapsmith.model.design.design import builtin_names, load
    from heapsmith.model.predict.reuse import reuse as measure

    with show.progress() as progress:
        found = measure(
            trace,
            [load(name) for name in design or builtin_names()],
            application=take.application(trace, births, deaths),
            progress=progress,
        )
    show.emit_json(found) if json else results.reused(found)


@app.command(epilog=take.example("mesh py.hst", "mesh py.hst --design default --design scan --stops 50 --json"))
def mesh(
    trace: take.Trace,
    design: take.MeshDesigns = ["default"],  # noqa: B006
    stops: Annotated[int, typer.Option(metavar="N", min=1, help="Moments, evenly spaced in events.")] = 20,
    probes: Annotated[int, typer.Option(metavar="N", min=1, help="Partners that each slab or page tries.")] = 64,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Which order and places are drawn.")] = 1,
    json: take.Json = False,
) -> None:
    """Say what compaction without moving would give back: meshing, as the allocator Mesh does it.

    Slabs or pages of a class mesh if their live blocks do not overlap: one physical page can then serve both. The
    shares are of the committed bytes. Split is Mesh's own search for pairs, greedy a packing of any number, and bound
    what no packing exceeds.
    """
    from heapsmith.model.design.design import load
    from heapsmith.model.predict.mesh import mesh as look

    with show.progress() as progress:
        found = look(trace, [load(name) for name in design], stops=stops, probes=probes, seed=seed, progress=progress)
    show.emit_json(found) if json else results_mesh.meshed(found)


Replay = Annotated[
    bool | None,
    typer.Option(
        "--replay/--no-replay",
        help="Replay the best designs, and choose by that too. Default: where gcc is, but not with --simulations "
        "or --machine, and never with --cores.",
    ),
]
WaitCores = Annotated[
    int | None,
    typer.Option(
        metavar="N", min=1, help="Add what threads wait for locks on N cores to the time. Slower, and without replays."
    ),
]


@app.command(
    epilog=take.example(
        "tune py.hst -o tuned.toml",
        "tune py.hst -o tuned.toml --favour memory --max-time 1.0x",
        "tune a.hst b.hst:3 --hold-out c.hst -o tuned.toml --budget 2m --resume",
        "tune server.hst -o tuned.toml --cores 32",
        "tune a.hst -o tuned.toml --scheduler tcp://10.0.0.7:8786",
    )
)
def tune(
    traces: take.WeightedTraces,
    out: take.OutFile,
    base: take.Base = "default",
    favour: take.Favour = "balanced",
    max_time: take.MaxTime = None,
    max_rss: take.MaxRss = None,
    max_p999: take.MaxP999 = None,
    latency: take.Latency = False,
    cores: WaitCores = None,
    hold_out: take.HoldOut = None,
    budget: take.Budget = None,
    simulations: take.Simulations = None,
    replay: Replay = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Which designs the search mixes.")] = 1,
    resume: take.Resume = False,
    scheduler: take.Scheduler = None,
    max_overhead: take.Overhead = 1.0,
    max_classes: Annotated[int, typer.Option(metavar="N", min=1, help="The most size classes.")] = MOST_CLASSES,
    huge_pages: take.HugePages = False,
    machine: take.Machine = "default",
    name: take.DesignName = None,
    json: take.Json = False,
) -> None:
    """Search for the best design for traces. Write it to a file, with what each choice is worth.

    The search simulates designs of every policy with caches. Of those that no other beats in time, peak, average and
    last bytes, it takes the one that --favour and the limits want, after replays of the best. Ctrl-C ends it with the
    best so far.
    """
    from heapsmith.bench.replay.finalists import replays
    from heapsmith.model.design.design import load
    from heapsmith.model.design.toml import design_name, write_design
    from heapsmith.model.memory.hardware import load_hardware
    from heapsmith.model.search import choice
    from heapsmith.model.search import tune as search

    path, limits = take.writable_file(out), choice.parse_limits(max_time, max_rss, max_p999)
    usual = simulations is None and machine == "default" and cores is None
    with _hired(scheduler) as hire, show.progress() as progress:
        asked = search.Asked(
            *(favour, limits, max_overhead, max_classes, huge_pages, latency, cores, take.budget(budget), simulations),
            seed=seed,
            resume=resume,
            patient=True,
            replays=replays(replay, usual=usual, progress=progress),
        )
        found = search.tune(
            [take.weighted(text) for text in traces],
            base=load(base),
            name=name or design_name(out.stem),
            asked=asked,
            hold_out=hold_out or [],
            hardware=load_hardware(machine),
            hire=hire,
            progress=progress,
        )
    write_design(path, found.design, found.reasons)
    show.emit_json(found) if json else results.tuned(found, out)


@contextmanager
def _hired(scheduler: str | None) -> Iterator["Hire | None"]:
    """Give what simulates for a search: the workers of a cluster, or None for processes of this machine."""
    if scheduler is None:
        yield None
        return
    from heapsmith.bench.sweep.cluster import Cluster
    from heapsmith.bench.sweep.search import ClusterRunner

    with Cluster(scheduler) as cluster:
        yield partial(ClusterRunner, cluster)


@app.command(epilog=take.example("policies py.hst -o chosen.toml", "policies py.hst -o chosen.toml --seed 7 --json"))
def policies(
    trace: take.Trace,
    out: take.OutFile,
    base: take.Base = "default",
    arms: Annotated[int, typer.Option(metavar="N", min=2, help="Designs to draw.")] = 16,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Which designs are drawn.")] = 1,
    machine: take.Machine = "default",
    json: take.Json = False,
) -> None:
    """Choose policies for large blocks and pages by a bandit over slices of a trace, with a log of each pull.

    Designs are drawn that differ from the base in release, run cache, huge blocks, populate and huge pages. Each is
    simulated on a slice of the trace; the better half goes on to a slice twice as long (successive halving). A design
    continues its own simulation, so a slice begins with the live blocks that the trace has there. The cost is that of
    tune: the model's time and memory, as a share of the base's.
    """
    from heapsmith.model.design.design import load
    from heapsmith.model.design.toml import design_name, write_design
    from heapsmith.model.memory.hardware import load_hardware
    from heapsmith.model.search.policies import choose_policies

    with show.progress() as progress:
        found = choose_policies(
            trace,
            base=load(base),
            hardware=load_hardware(machine),
            name=design_name(out.stem),
            arms=arms,
            seed=seed,
            progress=progress,
        )
    write_design(take.writable_file(out), found.design, found.reasons)
    show.emit_json(found) if json else results.policies(found, out)


@app.command(epilog=take.example("calibrate -o machine.toml"))
def calibrate(out: take.OutFile, rounds: take.Rounds = 5, json: take.Json = False) -> None:
    """Measure the cost of each kind of event here. Instructions come from valgrind, nanoseconds from replays."""
    from heapsmith.bench.calibrate.calibrate import calibrate as measure
    from heapsmith.bench.calibrate.calibrate import write_machine

    path = take.writable_file(out)
    with show.progress() as progress:
        found = measure(rounds=rounds, progress=progress)
    write_machine(path, found.hardware)
    show.emit_json(found) if json else results.calibrated(found, path)


@app.command(
    epilog=take.example("validate --machine machine.toml", "validate --machine machine.toml --traces traces --json")
)
def validate(
    machine: take.Machine = "default",
    traces: take.Traces = None,
    design: take.Designs = None,
    rounds: take.Rounds = 15,
    out: Annotated[Path | None, typer.Option("-o", "--out", metavar="FILE", help="Write scatter plots (HTML).")] = None,
    json: take.Json = False,
) -> None:
    """Measure how wrong the model is.

    The tables show predicted beside measured figures, for good and bad designs. Default: traces of real programs,
    recorded now; all built-in designs, and deliberately bad designs.
    """
    from heapsmith.bench.calibrate.bad_designs import bad_designs
    from heapsmith.bench.report.scatter import write_scatter
    from heapsmith.bench.validate import validate as bench
    from heapsmith.model.design.design import builtin_names, load
    from heapsmith.model.files import scratch
    from heapsmith.model.memory.hardware import load_hardware
    from heapsmith.model.predict.times import priced

    page = take.writable_file(out) if out is not None else None
    hardware = priced(load_hardware(machine))
    designs = [load(name) for name in design] if design else [*map(load, builtin_names()), *bad_designs()]
    with show.progress() as progress, scratch() as folder:
        files = take.trace_files(traces) if traces else bench.recorded(folder, progress)
        found = bench.validate(files, designs, hardware, rounds=rounds, progress=progress)
    if page is not None:
        write_scatter(page, found)
    show.emit_json(found) if json else results.validated(found)
