"""Meters: the charges of a trace's events add up to its price, in every design; locks and paths by short cases."""

from pathlib import Path

import msgspec
import numpy as np
import pytest
from traces import random_trace

from heapsmith.model.compile.kernel import Records
from heapsmith.model.design.design import builtin_names, load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.errors import BadInput
from heapsmith.model.heap.simulator import Simulator
from heapsmith.model.memory.application import Application
from heapsmith.model.memory.hardware import Hardware, load_hardware
from heapsmith.model.memory.listener import Listener
from heapsmith.model.parts.charge import PATHS, UNIT
from heapsmith.model.predict.counter_prices import meter_of
from heapsmith.model.predict.simulate import simulate
from heapsmith.model.predict.times import timed
from heapsmith.model.trace.reader import Chunk, Op, TraceReader

ENDS = Application(births="ends", deaths="none")
EVENTS = 200
OFTEN = ("default", "hardened", "learner", "prewarm", "rounding", "background", "owner-queue", "own-superslabs")
"""Designs whose events move counters of other classes than their blocks', or that lock otherwise."""
DESIGNS = [pytest.param(name, marks=() if name in OFTEN else pytest.mark.big) for name in builtin_names()]


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("meters") / "t.hst"
    return random_trace(path, EVENTS, 3, threads=3, max_size=100_000, cross_thread=0.3)


@pytest.fixture(scope="module")
def hardware() -> Hardware:
    found = load_hardware()
    alone = {kind: cost * (3 if kind.startswith("miss") else 2) for kind, cost in found.costs.items()}
    return msgspec.structs.replace(found, alone=alone, zeroing_caches=False)  # plain Python would zero huge pages


def charges_of(name: str, chunks: list[Chunk], hardware: Hardware, peak: int, *, everything: bool = False) -> Records:
    plan = make_plan(load(name))
    simulator = Simulator(plan, listener=Listener(hardware), application=ENDS, meter=meter_of(plan, hardware, peak))
    found = []
    for chunk in chunks:
        for event in range(len(chunk.op)):
            simulator.state.charge_all = max(simulator.state.charge_all, int(everything))
            simulator.feed(chunk.part(event, event + 1))
            found.append(simulator.charges)
    return np.concatenate(found)


@pytest.mark.parametrize("name", DESIGNS)
def test_charges_add_up_to_the_price(name: str, trace: Path, hardware: Hardware) -> None:
    """And an event is charged what it moved itself, although not all classes are looked at after each event."""
    table = simulate(trace, [load(name)], hardware=hardware, application=ENDS)
    price, touches = table.rows[0].price, table.rows[0].touches
    assert price is not None
    assert touches is not None
    with TraceReader(trace) as reader:
        chunks = list(reader)
    charges = charges_of(name, chunks, hardware, touches.resident_peak)
    # A learner's price counts whole windows, an event its share of one.
    tolerance = 1e-3 if "learn_window" in make_plan(load(name)).numbers else 1e-6
    assert charges["own"].sum() / UNIT == pytest.approx(price.ns_per_op * table.operations, rel=tolerance)
    by_itself = msgspec.structs.replace(hardware, costs=hardware.alone)
    alone = simulate(trace, [load(name)], hardware=by_itself, application=ENDS).rows[0].price
    assert alone is not None
    assert charges["alone"].sum() / UNIT == pytest.approx(alone.ns_per_op * table.operations, rel=tolerance)
    assert (charges == charges_of(name, chunks, hardware, touches.resident_peak, everything=True)).all()
    for lock in ("pool", "large"):
        assert (charges[lock] <= charges["own"]).all()
    assert charges["pool"].any()


def test_locks_and_paths_of_events(hardware: Hardware) -> None:
    sizes = [100, 100, 1 << 20, 100_000, 64 << 20]
    births = len(sizes)
    ops, zeros = [Op.MALLOC] * births + [Op.FREE] * 3, [0] * (births + 3)
    chunk = Chunk.of(ops, zeros, [*range(births), 1, 2, 4], [*sizes, 0, 0, 0], zeros, zeros)
    held = {}
    for name in ("keep", "owner"):
        charges = charges_of(name, [chunk], hardware, 0)
        own, pool, large = (charges[field] / UNIT for field in ("own", "pool", "large"))
        assert [PATHS[path] for path in charges["path"][[0, 7]]] == ["page fault", "huge mapping"]
        assert pool[0] > 0
        assert (pool[1:] == 0).all()
        assert (large[[2, 3, 6]] > 0).all()  # runs
        assert (large[[0, 1, 5]] == 0).all()
        assert 0 < large[4] < own[4] / 3  # a mapping of its own: neither mmap nor munmap needs a lock
        assert large[7] < own[7] / 3
        assert own[5] < 20
        held[name] = pool[0] / own[0]
    assert held["owner"] < held["keep"] < 1  # the store of an owner's heap needs no lock


def test_a_design_without_costs_has_no_times(trace: Path, hardware: Hardware) -> None:
    bare = msgspec.structs.replace(hardware, costs={})
    table = simulate(trace, [load("default")], hardware=bare, application=ENDS)
    with pytest.raises(BadInput, match="default: this machine has no costs; run: heapsmith calibrate"):
        timed(table, [make_plan(load("default"))], bare, ENDS)
    with pytest.raises(BadInput, match="cores: 0; expected at least 1"):
        timed(table, [make_plan(load("default"))], hardware, ENDS, cores=[0])
