"""The commands of the model: simulate designs on a trace, tune a design, calibrate costs."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import heapsmith
from heapsmith.api import printed, show
from heapsmith.api.designs import for_any_trace, models_of
from heapsmith.api.models import Simulations, application_of
from heapsmith.api.stated import Option
from heapsmith.api.tuning import searched
from heapsmith.commands import arguments as take
from heapsmith.commands import results
from heapsmith.commands.limits import Limit, limited
from heapsmith.commands.options import Commands, Given, example, options_of
from heapsmith.model.errors import BadInput

if TYPE_CHECKING:
    from heapsmith.model.search.workers import Hire

app = Commands()


@app.command(
    epilog=example(
        "simulate py.hst",
        "simulate py.hst --design default --design tuned.toml --json",
        "simulate py.hst --design default --machine machine.toml",
        "simulate py.hst --machine machine.toml --latency --cores 2,8,64",
        "simulate py.hst --design default --machine default --bytes --at 1000",
    )
)
@options_of(Simulations.bytes, "trace designs machine births deaths latency cores page_size recorded_times bytes at")
@options_of(
    heapsmith.simulate,
    "trace designs machine births deaths latency cores page_size",
    spelled={"times": "latency recorded_times"},
    cores=take.core_counts,
)
def simulate(
    given: Given,
    latency: Annotated[bool, Option("Also the time of single operations: p50, p99, p99.9 and the worst.")] = False,
    recorded_times: Annotated[
        bool, Option("Between its events a thread spends the time that the trace tells, not none.")
    ] = False,
    bytes: Annotated[
        bool, Option("Print instead what the bytes are for: at the peak, on average, at the end.")
    ] = False,
    limit: Limit = None,
    json: take.Json = False,
) -> None:
    """Simulate designs on a trace, side by side.

    The tables show counts, bytes and fragmentation. --machine adds cache and TLB misses, page faults and resident
    bytes, and time if the machine file has costs. --latency and --cores follow the time of each operation. --bytes
    shows a ledger of each design's bytes, to the byte: of the committed ones, with --machine of the resident ones.
    """
    at, scaling = given.pop("at", ()), recorded_times or "cores" in given
    if at and not bytes:
        raise BadInput("--at: expected --bytes too")
    if bytes and (latency or scaling):
        raise BadInput("--bytes: expected neither --latency, --cores nor --recorded-times, which tell of times")
    given["designs"] = limited(given.get("designs") or for_any_trace(), limit)
    given["times"] = "recorded" if recorded_times else "dense" if latency or scaling else None
    with show.progress() as progress:
        found = heapsmith.simulate(**given, progress=progress)
        if bytes:
            ledgers = found.bytes(at, progress=progress)
            show.emit_json(ledgers.details) if json else ledgers.show()
            return
    show.emit_json(found.details) if json else printed.simulated(found.details, latency=latency, scaling=scaling)


@app.command(epilog=example("reuse py.hst --design default --design lean", "reuse py.hst --deaths all --json"))
@options_of(heapsmith.simulate, "trace designs births deaths")
def reuse(given: Given, json: take.Json = False) -> None:
    """Print the miss ratio of every cache size. It tells how soon designs and program touch the same lines again."""
    from heapsmith.model.predict.reuse import reuse as measure

    trace, designs = Path(given["trace"]), models_of(given.get("designs") or for_any_trace())
    with show.progress() as progress:
        application = application_of(trace, given.get("births"), given.get("deaths"))
        found = measure(trace, designs, application=application, progress=progress)
    show.emit_json(found) if json else results.reused(found)


@app.command(epilog=example("mesh py.hst", "mesh py.hst --design default --design scan --stops 50 --json"))
def mesh(
    trace: take.Trace,
    design: Annotated[list[str], Option("A design; repeat it to compare.", "DESIGN")] = ["default"],  # noqa: B006
    stops: Annotated[int, Option("Moments, evenly spaced in events.", least=1)] = 20,
    probes: Annotated[int, Option("Partners that each slab or page tries.", least=1)] = 64,
    seed: Annotated[int, Option("Which order and places are drawn.", least=0)] = 1,
    at: Annotated[
        list[int] | None, Option("Look after this event too, from 0; repeatable.", "EVENT", "--at", least=0)
    ] = None,
    json: take.Json = False,
) -> None:
    """Say what compaction without moving would give back: meshing, as the allocator Mesh does it.

    Units (slabs or pages) of a class mesh if their live blocks do not overlap: one physical page can then serve both.
    Blocks lie at their own places or at random ones of the slab; blocks in fronts are live (held) or given back
    (flushed). Split is Mesh's search for pairs, greedy a packing of any number, bound what no packing exceeds. The
    shares are of the committed bytes.
    """
    from heapsmith.model.design.design import load
    from heapsmith.model.predict.mesh import mesh as look

    with show.progress() as progress:
        designs = [load(name) for name in design]
        found = look(trace, designs, stops=stops, probes=probes, seed=seed, at=at or [], progress=progress)
    show.emit_json(found) if json else results.meshed(found)


@app.command(
    epilog=example(
        "tune py.hst -o tuned.toml",
        "tune py.hst -o tuned.toml --favour memory --max-time 1.0x",
        "tune a.hst b.hst:3 --hold-out c.hst -o tuned.toml --budget 2m --resume",
        "tune server.hst -o tuned.toml --cores 32",
        "tune a.hst -o tuned.toml --scheduler tcp://10.0.0.7:8786",
    )
)
@options_of(
    heapsmith.tune,
    "traces out base favour max_time max_rss max_p999 latency cores hold_out budget simulations replay seed resume "
    "scheduler max_overhead max_classes huge_pages machine name",
    traces=take.weighted,
    budget=take.seconds,
)
def tune(given: Given, out: take.OutFile, scheduler: take.Scheduler = None, json: take.Json = False) -> None:
    """Search for the best design for traces. Write it to a file, with what each choice is worth.

    The search simulates designs of every policy with caches. Of those that no other beats in time, peak, average and
    last bytes, it takes the one that --favour and the limits want, after replays of the best. Ctrl-C ends it with the
    best so far.
    """
    from heapsmith.model.design.toml import design_name, write_design

    path, traces = take.writable_file(out), given.pop("traces")
    with _hired(scheduler) as hire, show.progress() as progress:
        options = {"name": design_name(out.stem)} | given
        found = searched(traces, options, patient=True, hire=hire, progress=progress)
    write_design(path, found.design, found.reasons)
    show.emit_json(found) if json else printed.tuned(found, out)


@contextmanager
def _hired(scheduler: str | None) -> Iterator["Hire | None"]:
    """Give what simulates for a search: the workers of a cluster, or None for processes of this machine."""
    if scheduler is None:
        yield None
        return
    from heapsmith.tools.sweep.cluster import Cluster
    from heapsmith.tools.sweep.search import ClusterRunner

    with Cluster(scheduler) as cluster:
        yield partial(ClusterRunner, cluster)


@app.command(epilog=example("calibrate -o machine.toml"))
def calibrate(out: take.OutFile, rounds: take.Rounds = 5, json: take.Json = False) -> None:
    """Measure the cost of each kind of event here. Instructions come from valgrind, nanoseconds from replays."""
    from heapsmith.tools.calibrate.calibrate import calibrate as measure
    from heapsmith.tools.calibrate.calibrate import write_machine

    path = take.writable_file(out)
    with show.progress() as progress:
        found = measure(rounds=rounds, progress=progress)
    write_machine(path, found.hardware)
    show.emit_json(found) if json else results.calibrated(found, path)
