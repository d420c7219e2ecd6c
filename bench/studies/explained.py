"""Makes docs/explain/demo.json, of which the pictures there are drawn: one recording, looked at in each way.

python -m heapsmith.bench.studies.explained records the program of `make demo`, and takes about five minutes.
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import msgspec
import numpy as np
import typer

from heapsmith.bench.common.command import exit_with
from heapsmith.codegen.built import library_of
from heapsmith.codegen.difference import counted
from heapsmith.codegen.driver import Driver
from heapsmith.codegen.verify import verify
from heapsmith.model.design.design import Design, load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.errors import CheckFailed
from heapsmith.model.files import write_json
from heapsmith.model.heap.ledger import ITEMS
from heapsmith.model.heap.simulator import Simulator
from heapsmith.model.memory.application import PROGRAM as PROGRAM_TOUCHES
from heapsmith.model.memory.hardware import load_hardware
from heapsmith.model.predict.ledgers import with_ledgers
from heapsmith.model.predict.simulate import SimulationTable, simulate
from heapsmith.model.search.asked import Asked
from heapsmith.model.search.choice import scores
from heapsmith.model.search.exact import Exact
from heapsmith.model.search.outcome import OBJECTIVES, Glance, Outcome, combined, ratios
from heapsmith.model.search.source import Source
from heapsmith.model.search.tune import Tuned, tune
from heapsmith.model.search.workers import Bench, Result, Task, Workers
from heapsmith.model.trace.reader import Op, TraceReader
from heapsmith.tools.common.rounds import Stop
from heapsmith.tools.record.record import record
from heapsmith.tools.replay.replay import replay

FILE = Path(__file__).resolve().parents[2] / "docs" / "explain" / "demo.json"
PROGRAM = ["perl", "bench/programs/demo_job.pl"]
DESIGN = "default"
REPLAYED = ("default", "lean", "coarse", "fullest", "bare", "page-map", "dedicated", "powers")
"""Built-in designs whose predicted memory is held against a replay."""
SIMULATIONS, ROUNDS, SHOWN, CURVE_BYTES = 100, 3, 8, (32, 64, 80)


class Event(msgspec.Struct, frozen=True):
    """A malloc of the trace, and the offset of its block in its region: by the model, and in the library."""

    event: int
    size: int
    model: int
    library: int


class Proof(msgspec.Struct, frozen=True):
    """What `verify` compared on the release build, and some of the events."""

    events: int
    addresses: int
    counters: int
    differences: int
    shown: list[Event]


class Replayed(msgspec.Struct, frozen=True):
    """A design's peak: predicted, and of a replay (median)."""

    design: str
    predicted: int
    measured: int


class Curve(msgspec.Struct, frozen=True):
    """The requests of a class that find the front empty, by the front's capacity, from 1 on."""

    block: int
    requests: int
    misses: list[int]


class Without(msgspec.Struct, frozen=True):
    """What the chosen design takes with a choice put back to the base's, as ratios to the chosen design."""

    fields: list[str]
    chosen: str
    base: str
    ratios: dict[str, float]


class Search(msgspec.Struct, frozen=True):
    """A search: how many designs it looked at, and the ratios to the base of those that it priced, in their order.

    chosen, front: numbers of priced designs. weights: of the score.
    """

    looks: int
    priced: list[list[float]]
    scores: list[float]
    front: list[int]
    chosen: int
    weights: dict[str, float]
    without: list[Without]


class Demo(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All that the pictures show: counts and bytes of one recording under `default`, and the rest."""

    command: str
    design: str
    events: int
    requests: int
    refills: int
    slabs: int
    superslabs: int
    bytes: dict[str, int]
    proof: Proof
    replayed: list[Replayed]
    curves: list[Curve]
    search: Search


def read() -> Demo:
    """The data of the pictures."""
    return msgspec.json.decode(FILE.read_bytes(), type=Demo)


class Noting(Workers):
    """Workers that note what they were given and what came of it, of the searched trace itself."""

    def __init__(self, bench: Bench, trace: Path, notes: list[tuple[Task, Result]]) -> None:
        super().__init__(bench)
        self._notes = notes if [source.path for source in bench.sources] == [trace] else []

    def run(self, tasks: Sequence[Task]) -> Iterator[Result]:
        for task, result in zip(tasks, super().run(tasks), strict=True):
            self._notes.append((task, result))
            yield result


def searched(trace: Path) -> Search:
    """A search for the trace, and what it priced."""
    notes: list[tuple[Task, Result]] = []
    asked = Asked(simulations=SIMULATIONS)
    found = tune(trace, base=load(DESIGN), name="tuned", asked=asked, hire=lambda bench: Noting(bench, trace, notes))
    priced = {task.design.hash(): result for task, result in notes if isinstance(result, Outcome)}
    base = priced[load(DESIGN).hash()].figures()
    points = [combined([ratios(one.figures(), base)], [1.0]) for one in priced.values()]
    hashes = list(priced)
    weights = [found.weights[name] for name in OBJECTIVES]
    return Search(
        looks=len({task.design.hash() for task, result in notes if isinstance(result, Glance)}),
        priced=[[round(float(ratio), 4) for ratio in point] for point in points],
        scores=[round(float(score), 5) for score in scores(np.array(points), np.array(weights))],
        front=sorted(hashes.index(member.hash) for member in found.front),
        chosen=hashes.index(found.design.hash()),
        weights=found.weights,
        without=_without(found),
    )


def _without(found: Tuned) -> list[Without]:
    return [Without(one.fields, one.chosen, one.base, one.without) for one in found.worth]


def proved(trace: Path, design: Design) -> Proof:
    """What `verify` compares on the trace, and the places of the last mallocs of its first chunk."""
    (_, release) = verify(design, [trace], audit=False).runs
    plan = make_plan(design)
    with TraceReader(trace) as reader:
        chunk = next(iter(reader))
    model = Simulator(plan)
    wanted = chunk.size * 0
    model.feed(chunk, wanted)
    with Driver(library_of(design), plan.grain, len(counted(plan, checked=False))) as driver:
        driver.send(chunk, model.groups(chunk), model.processors(chunk))
        got, _ = driver.receive(len(chunk.op))
    small = [i for i in range(len(chunk.op)) if chunk.op[i] == Op.MALLOC and 0 < chunk.size[i] <= plan.small_limit]
    shown = small[-SHOWN:]
    return Proof(
        events=release.events,
        addresses=release.addresses,
        counters=release.counters,
        differences=int(release.difference is not None),
        shown=[Event(i, int(chunk.size[i]), int(wanted[i]), int(got[i])) for i in shown],
    )


def replayed(trace: Path) -> list[Replayed]:
    """Predicted and measured peaks of some designs."""
    designs = [load(name) for name in REPLAYED]
    predicted = simulate(trace, designs, hardware=load_hardware("default")).rows
    measured = replay(trace, designs, stop=Stop(rounds=ROUNDS)).rows
    rows = []
    for name, model, library in zip(REPLAYED, predicted, measured, strict=True):
        if model.touches is None or library.peak_rss_bytes is None:
            raise CheckFailed(f"{name}: no peak: {library.note}")
        rows.append(Replayed(name, model.touches.resident_peak, int(library.peak_rss_bytes.median)))
    return rows


def curves(trace: Path, design: Design) -> list[Curve]:
    """The misses of some classes by the capacity of a front, from one pass."""
    found, _ = Exact([Source(trace)], design, 48, 1.0).curves(design)
    plan = make_plan(design)
    rows = {plan.classes[i].size: curve.misses.tolist() for i, curve in enumerate(found)}
    return [Curve(block, rows[block][0], rows[block][1:257]) for block in CURVE_BYTES]


def at_peak(trace: Path, design: Design, table: SimulationTable) -> dict[str, int]:
    """What each committed byte is for when they are most."""
    (row,) = with_ledgers(table, [make_plan(design)], None, PROGRAM_TOUCHES).ledgers
    return {name: value for name in ITEMS if (value := getattr(row.peak.bytes, name))}


def main(out: Annotated[Path, typer.Option("--out", help="The file to write.")] = FILE) -> int:
    """Record the demo's program, simulate, verify, replay and tune, and write what the pictures need."""
    design = load(DESIGN)
    with TemporaryDirectory() as folder:
        trace = Path(folder) / "demo.hst"
        record(PROGRAM, trace, stdout=sys.stderr)
        table = simulate(trace, [design])
        (row,) = table.rows
        of, totals = row.counters.classes, row.counters.totals
        refills = sum(of["refill"])
        demo = Demo(
            command="python -m heapsmith.bench.studies.explained",
            design=row.hash,
            events=table.events,
            requests=sum(of["hit0"]) + refills,
            refills=refills,
            slabs=sum(of["acquire"]),
            superslabs=totals["superslabs"],
            bytes=at_peak(trace, design, table),
            proof=proved(trace, design),
            replayed=replayed(trace),
            curves=curves(trace, design),
            search=searched(trace),
        )
    write_json(out, demo)
    return 0


if __name__ == "__main__":
    exit_with(main)
