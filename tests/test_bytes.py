"""The ledger of bytes adds up for every design and any events, counts as by hand, and stops where it is asked."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec
import numpy as np
import pytest
from conftest import Answer
from covering import covering_designs, of_each_row, soon
from nasty import nasty_trace
from program import Program
from traces import random_trace

from heapsmith.model.design.design import Design, load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.errors import BadInput, CheckFailed
from heapsmith.model.heap.ledger import ITEMS, Ledger, ledger, mean
from heapsmith.model.heap.simulator import Simulator
from heapsmith.model.memory.application import PROGRAM
from heapsmith.model.memory.hardware import load_hardware
from heapsmith.model.memory.listener import Listener
from heapsmith.model.policy.front import array_stack as front_array_stack
from heapsmith.model.policy.hardening import full as hardening_full
from heapsmith.model.policy.release import budget as release_budget
from heapsmith.model.predict.ledgers import LedgerTable, with_ledgers
from heapsmith.model.predict.simulate import simulate
from heapsmith.model.trace.reader import TraceReader

SOON = of_each_row(4)
HARDENED = load("hardened")
"""A quarantine that 2,500 events fill; those of the covering designs hold a few blocks at times."""
EVENTS = 2500


def ledgers(design: Design, step: int = 125) -> list[Ledger]:
    """The ledgers of a design on a nasty trace, after each `step` events."""
    plan = make_plan(design)
    simulator, chunk = Simulator(plan), nasty_trace(plan, seed=12).part(0, EVENTS)
    found = []
    for first in range(0, EVENTS, step):
        simulator.feed(chunk.part(first, first + step))
        found.append(ledger(simulator))
        state = simulator.state
        held = found[-1]
        live = held.asked + held.rounding + held.header_and_canary + held.run_rounding + held.huge_rounding
        assert (held.asked, live, held.committed) == (state.live_bytes, state.live_block_bytes, state.committed)
    return found


@pytest.mark.parametrize("design", soon(covering_designs(), SOON), ids=lambda design: design.name)
def test_ledger_adds_up(design: Design) -> None:
    """`ledger` itself holds blocks and committed bytes against the machine's."""
    for held in ledgers(design):
        assert sum(getattr(held, name) for name in ITEMS) == held.committed
        assert min(getattr(held, name) for name in ITEMS) >= 0


def test_each_item_has_bytes() -> None:
    on_huge_pages = next(design for design in covering_designs() if design.thp == "always")
    every = [held for design in (*SOON, HARDENED, on_huge_pages) for held in ledgers(design)]
    assert [name for name in ITEMS if not any(getattr(held, name) for held in every)] == []


def crowded() -> Program:
    """Live blocks of each kind, blocks in a front and a quarantine, a cached and a free run, an empty slab."""
    program = Program(
        False,
        [32, 4080],
        front_array_stack.Params(capacity=4, refill=2, flush=2),
        hardening=hardening_full.Params(quarantine=3),
        release=release_budget.Params(slab_budget_bytes=16 * 4096, run_budget_bytes=64 * 4096),
        run_cache_bytes=2 * 4096,
    )
    program.malloc("a b c", 20)
    program.free("c")
    program.malloc("d e f g h i j", 4072)
    program.free("d e f g h i j")
    program.malloc("r s t u", 6000)
    program.malloc("v", 70_000)
    program.free("r t")
    return program


def test_ledger_by_hand() -> None:
    """Slabs are of a page: 128 blocks of 32 bytes, or one of 4,080; a canary has 8 bytes.

    Refills take two blocks: 4 and 8 leave their slabs. A flush gives two of the second size back, so 3 stay.
    """
    assert ledger(crowded().simulator) == Ledger(
        asked=2 * 20 + 2 * 6000 + 70_000,
        rounding=2 * (24 - 20),
        header_and_canary=2 * 8 + 2 * 8,
        run_rounding=2 * (8192 - 6000 - 8),
        huge_rounding=18 * 4096 - 70_000,
        fronts=2 * 32 + 3 * 4080,
        transfer_cache=0,
        remote_lists=0,
        quarantines=3 * 4080,
        freed_blocks=0,
        fresh_blocks=(128 - 4) * 32,
        slab_ends=6 * 16,
        empty_slabs=2 * 4096,
        slabs_ahead=0,
        run_caches=8192,
        free_runs=8192,
        pages_ahead=0,
        huge_cache=0,
        committed=(1 + 8 + 4 * 2 + 18) * 4096,
    )


WRONG = [
    ("fronts", "held", "live and parked"),
    ("heaps", "quarantined", "live and parked"),
    ("slabs", "out", "live and parked"),
    ("slabs", "freed", "in the ledger"),
    ("heaps", "cached_bytes", "in the ledger"),
    ("scalars", "aged_run_bytes", "in the ledger"),
    ("scalars", "committed", "in the ledger"),
]


@pytest.mark.parametrize(("array", "field", "reason"), WRONG, ids=[f"{array}-{field}" for array, field, _ in WRONG])
def test_ledger_finds_a_wrong_state(array: str, field: str, reason: str) -> None:
    simulator = crowded().simulator
    ledger(simulator)
    getattr(simulator.state, array)[0][field] += 1 if field != "quarantined" else -1
    with pytest.raises(CheckFailed, match=reason):
        ledger(simulator)


@pytest.mark.parametrize("count", [1, 2, 7, 200])
def test_mean_adds_up(count: int) -> None:
    draw = np.random.default_rng(count)
    rows = (draw.integers(0, 1 << 40, (count, len(ITEMS))) >> draw.integers(0, 41, (count, len(ITEMS)))).tolist()
    every = [Ledger(*row, committed=sum(row), untouched=row[0], metadata=1, resident=sum(row[1:]) + 1) for row in rows]
    found = mean(every)
    assert sum(getattr(found, name) for name in ITEMS) == found.committed
    assert found.untouched is not None
    assert found.metadata is not None
    assert found.committed - found.untouched + found.metadata == found.resident
    for place, name in enumerate(ITEMS):
        assert abs(getattr(found, name) - sum(row[place] for row in rows) / count) <= 1 + 1e-3


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bytes") / "random.hst"
    return random_trace(path, 3000, seed=5, threads=3, chunk_events=1024, max_size=30_000, cross_thread=0.2)


def told(trace: Path, names: list[str], machine: str | None, at: list[int]) -> LedgerTable:
    designs, hardware = [load(name) for name in names], load_hardware(machine) if machine else None
    table = simulate(trace, designs, hardware=hardware)
    return with_ledgers(table, [make_plan(design) for design in designs], hardware, PROGRAM, at=at)


def after(trace: Path, name: str, events: Iterable[int], machine: str | None = None) -> dict[int, Ledger]:
    """The ledgers of a simulator that does the trace, after these events."""
    simulator = Simulator(make_plan(load(name)), listener=Listener(load_hardware(machine)) if machine else None)
    found, done = {}, 0
    with TraceReader(trace) as reader:
        for event in sorted(set(events)):
            for chunk in reader.part(done, event + 1):
                simulator.feed(chunk)
            found[event], done = ledger(simulator), event + 1
    return found


def test_ledgers_stop_where_they_say(trace: Path) -> None:
    table = told(trace, ["default", "owner"], None, [1023, 1024, 0])
    for row, found in zip(table.simulated.rows, table.ledgers, strict=True):
        peak = row.statistics.peak_committed
        assert (found.peak.event, found.peak.bytes.committed) == (peak.event, peak.committed)
        assert (found.end.event, [stop.event for stop in found.at]) == (2999, [1023, 1024, 0])
        stops, even = (found.peak, found.end, *found.at), range(14, 3000, 15)
        expected = after(trace, row.design, [*even, *(stop.event for stop in stops)])
        assert [stop.bytes for stop in stops] == [expected[stop.event] for stop in stops]
        assert (found.stops, found.average) == (200, mean([expected[event] for event in even]))


@pytest.mark.thorough
def test_resident_ledgers(trace: Path) -> None:
    """A sum of the pages of every region; the peak is that of the simulated page tables."""
    table = told(trace, ["default"], "default", [100])
    found, touches = table.ledgers[0], table.simulated.rows[0].touches
    assert touches is not None
    assert (found.end.bytes.resident, found.peak.bytes.resident) == (touches.resident_bytes, touches.resident_peak)
    for held in (found.peak.bytes, found.average, found.end.bytes):
        assert held.untouched is not None
        assert held.metadata is not None
        assert 0 <= held.untouched < held.committed
        assert held.metadata > 0
        assert held.committed - held.untouched + held.metadata == held.resident
    assert found.at[0].bytes == after(trace, "default", [100], "default")[100]


def test_event_beyond_the_trace(trace: Path) -> None:
    with pytest.raises(BadInput, match=r"\.hst: has no event 3000; expected an event of the trace, 0 to 2999"):
        told(trace, ["lean"], None, [3000])


def test_command(trace: Path, call: Callable[..., Answer]) -> None:
    found = told(trace, ["lean"], None, [7])
    command = ["simulate", trace, "--design", "lean", "--bytes", "--at", "7"]
    data = json.loads(call(*command, "--json").out)
    assert data["ledgers"] == msgspec.to_builtins(found.ledgers)
    shown = call(*command).out
    assert f"{found.ledgers[0].peak.bytes.committed:,}" in shown
    assert "slab ends" in shown
    assert call("simulate", trace, "--at", "7").status == 2
