"""Simulate: its table holds what the simulators count, whatever the chunks, and its ratios are those of their names."""

import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest
from conftest import Answer
from covering import soon
from traces import random_trace

from heapsmith.api.designs import for_any_trace
from heapsmith.model.design.design import Design, builtin_names, load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.errors import BadInput
from heapsmith.model.heap import simulator as simulators
from heapsmith.model.heap.simulator import Simulator
from heapsmith.model.memory.hardware import BUILTIN, load_hardware
from heapsmith.model.policy.front import array_stack as front_array_stack
from heapsmith.model.policy.front import none as front_none
from heapsmith.model.predict.simulate import simulate
from heapsmith.model.trace.reader import Chunk, Op, TraceReader, TraceWriter


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("simulate") / "random.hst"
    return random_trace(path, 30_000, seed=5, threads=3, chunk_events=4096, max_size=30_000, cross_thread=0.2)


def test_designs_that_end_large_programs_are_simulated_where_they_are_named() -> None:
    assert sorted({*builtin_names()} - {*for_any_trace()}) == ["benchfast-whole"]


@pytest.mark.thorough
def test_a_front_whose_blocks_are_used_up_says_so(tmp_path: Path) -> None:
    blocks = load("benchfast-whole").front.blocks + 1  # type: ignore[attr-defined]
    path = tmp_path / "many.hst"
    every = np.arange(blocks)
    with TraceWriter(path, command=["by", "hand"], source="test") as writer:
        writer.append(Chunk.of(0 * every + Op.MALLOC, 0 * every, every, 0 * every + 26, 0 * every, every))
    with pytest.raises(BadInput, match="no block is left for 26 bytes"):
        simulate(path, [load("benchfast-whole")])


@pytest.mark.thorough
@pytest.mark.parametrize("part", soon(range(4), [0], range(4)))
def test_rows_are_the_machines_own(part: int, tmp_path: Path) -> None:
    """Of every fourth built-in design, in four parts."""
    trace = random_trace(tmp_path / "random.hst", 6000, seed=5, threads=3, chunk_events=4096, max_size=30_000)
    names = builtin_names()[part::4]
    designs = [load(name) for name in names]
    table = simulate(trace, designs)
    assert [row.design for row in table.rows] == names
    for design, row in zip(designs, table.rows, strict=True):
        simulator = Simulator(make_plan(design))
        with TraceReader(trace) as reader:
            for chunk in reader:
                simulator.feed(chunk)
        simulator.check()
        assert row.counters == simulator.counters()
        assert row.statistics == simulator.statistics()
        assert row.hash == design.hash()
        assert row.block_sizes == design.sizes
        assert row.events_per_second > 0


def test_header_of_the_table_and_progress(trace: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    table = simulate(trace, [load("default")], progress=lambda *report: seen.append(report))
    assert (table.events, table.operations, table.threads) == (30_000, 30_000 - 4, 3)
    assert seen == [("simulating", min(30_000, 4096 * number), 30_000) for number in range(1, 9)]


def test_figures_by_hand(tmp_path: Path) -> None:
    """Ten times: three blocks of 24 bytes come and two go; at the end one run comes and goes."""
    path = tmp_path / "small.hst"
    events = []
    for number in range(10):
        events += [(Op.MALLOC, 0, block, 24) for block in (number, number + 1, number + 2)]
        events += [(Op.FREE, 0, block, 0) for block in (number + 2, number + 1)]
    events += [(Op.MALLOC, 0, 10, 8000), (Op.FREE, 0, 10, 0)]
    op, thread, block, size = zip(*events, strict=True)
    with TraceWriter(path, command=["by", "hand"], source="test") as writer:
        writer.append(Chunk.of(op, thread, block, size, [0] * len(op), range(len(op))))
    front = front_array_stack.Params(capacity=8, refill=4, flush=4)
    row, bare = simulate(path, [Design("d", [32], front=front), Design("n", [32], front=front_none.Params())]).rows
    # 30 allocations take 12 different blocks: 3 refills of 4; 20 frees never overflow.
    assert (row.rates.hit0, row.rates.hit1, row.rates.refill) == (27 / 30, 0.0, 3 / 30)
    assert (row.rates.refills_per_million, row.rates.carves_per_million) == (3e6 / 52, 12e6 / 52)
    assert (row.rates.flushes_per_million, row.rates.releases_per_million) == (0.0, 0.0)
    assert (bare.rates.hit0, bare.rates.refill) == (0.0, 1.0)
    peak = row.statistics.peak_live
    assert (peak.event, peak.live_bytes, peak.block_bytes, peak.committed) == (50, 8240, 10 * 32 + 8192, 3 * 4096)
    assert row.committed_peak == 3 * 4096
    assert row.peak_ratio == 3 * 4096 / 8240


def test_json(trace: Path) -> None:
    table = simulate(trace, [load("lean")])
    data = msgspec.json.decode(msgspec.json.encode(table))
    assert data["rows"][0]["counters"]["totals"]["committed_peak"] == table.rows[0].committed_peak
    assert len(data["rows"][0]["statistics"]["timeline"]) == len(table.rows[0].statistics.timeline) > 500
    assert "compilation" in data["measured_as"]


def test_damaged_trace(trace: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.hst"
    cut.write_bytes(trace.read_bytes()[:-20])
    with pytest.raises(BadInput, match=r"cut\.hst"):
        simulate(cut, [load("default")])


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return random_trace(tmp_path_factory.mktemp("short") / "short.hst", 120, seed=6, threads=2, max_size=20_000)


def test_hardware_and_price(short: Path) -> None:
    without = simulate(short, [load("default")])
    hardware = msgspec.structs.replace(load_hardware(), costs={"instructions": 0.25, "fault.4k": 500.0})
    table = simulate(short, [load("default")], hardware=hardware)
    row, plain = table.rows[0], without.rows[0]
    assert (table.machine, without.machine, plain.touches, plain.touch_rates, plain.price) == ("default", *[None] * 4)
    assert row.counters == plain.counters
    touches, rates, price = row.touches, row.touch_rates, row.price
    assert touches is not None
    assert rates is not None
    assert price is not None
    assert rates.l1_misses == touches.l1_misses / table.operations
    assert rates.tlb_misses == touches.tlb2_misses / table.operations
    assert list(price.shares) == ["fault.4k", "instructions"]
    spent = price.instructions_per_op * table.operations * 0.25 + touches.faults_4k * 500
    assert price.ns_per_op == pytest.approx(spent / table.operations)
    uncalibrated = msgspec.structs.replace(hardware, costs={})
    assert simulate(short, [load("default")], hardware=uncalibrated).rows[0].price is None


def test_a_price_says_which_flags_it_does_not_know(short: Path) -> None:
    designs = [load("default"), load("flags")]
    assert simulate(short, designs).notes == []
    priced = msgspec.structs.replace(load_hardware(), costs={"instructions": 0.25})
    (note,) = simulate(short, designs, hardware=priced).notes
    flags = " ".join(designs[1].compile_flags or ())
    assert note == f"flags: priced without {flags}: what flags change must be measured"


def test_the_time_line_tells_resident_bytes(short: Path) -> None:
    row = simulate(short, [load("default")], hardware=load_hardware()).rows[0]
    assert row.touches is not None
    resident = [point[3] for point in row.statistics.timeline]
    assert len(resident) == 120  # a point per event
    assert resident[-1] == row.touches.resident_bytes
    assert max(resident) == row.touches.resident_peak
    times = [int(time) for chunk in TraceReader(short) for time in chunk.time_ns]
    assert len(times) == 120
    spans = np.diff(times)
    assert row.touches.resident_average == spans @ resident[:-1] / spans.sum()
    assert (
        row.statistics.committed_average == spans @ [point[2] for point in row.statistics.timeline][:-1] / spans.sum()
    )


def test_the_command_tells_what_the_machine_counts(call: Callable[..., Answer], short: Path, tmp_path: Path) -> None:
    machine = tmp_path / "m.toml"
    machine.write_text((BUILTIN / "default.toml").read_text())
    command = ("simulate", short, "--design", "default", "--machine", machine)
    found, idle = (json.loads(call(*command, *more, "--json").out) for more in ((), ("--births", "none")))
    assert found["application"] == {
        "births": "all",
        "deaths": "ends",
        "touched": [1.0] * 4,
        "replays": False,
        "table": False,
    }
    assert idle["application"]["births"] == "none"
    assert idle["rows"][0]["touches"]["accesses"] < found["rows"][0]["touches"]["accesses"]
    shown = call(*command).out
    assert f"{found['rows'][0]['touches']['faults_4k']:,}" in shown
    assert f"{found['rows'][0]['price']['instructions_per_op']:.1f}" in shown
    timed = json.loads(call(*command, "--latency", "--cores", "1,2", "--json").out)["rows"][0]
    assert [timing["cores"] for timing in timed["timings"]] == [1, 2]
    alone, both = timed["timings"]
    creation = load_hardware(str(machine)).costs["replay.thread"] / 2  # of the second thread, in the first
    assert alone["wall_ns"] == pytest.approx(timed["price"]["ns_per_op"] * found["operations"] + creation, rel=1e-6)
    assert both["wall_ns"] < alone["wall_ns"]
    assert alone["latency"]["p50"] <= alone["latency"]["p99"] <= alone["latency"]["p999"] <= alone["latency"]["worst"]
    told = call(*command, "--latency", "--cores", "1,2").out
    assert f"{alone['wall_ns'] / both['wall_ns']:.2f}x" in told
    assert alone["latency"]["worst_path"] in told
    assert "--cores 2,x: expected numbers of cores from 1 on" in call(*command, "--cores", "2,x").err
    assert "expected --machine too, whose costs they use" in call(*command[:-2], "--latency").err
    uncalibrated = tmp_path / "u.toml"
    uncalibrated.write_text(machine.read_text().partition("[costs]")[0])
    assert "of the allocator" not in call(*command[:-1], uncalibrated).out
    assert "this machine has no costs" in call(*command[:-1], uncalibrated, "--cores", "2").err


def test_one_rare_choice_takes_the_loop_with_all_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And a process that has this loop uses it for all designs."""
    monkeypatch.setattr(simulators, "_WHOLE", set())
    trace = random_trace(tmp_path / "t.hst", 3000, 5)
    default = load("default")
    prewarmed = msgspec.structs.replace(default, prewarm=load("prewarm").prewarm)
    loops = {design.name: Simulator(make_plan(design))._run for design in map(load, ("default", "lean", "owner"))}
    assert loops["default"] is loops["lean"]
    assert loops["default"] is not loops["owner"]
    assert Simulator(make_plan(default))._run is loops["owner"]
    assert Simulator(make_plan(prewarmed))._run is loops["owner"]
    assert Simulator(make_plan(default), rare=True)._run is loops["owner"]
    for design in (default, prewarmed):
        plain, compiled = (Simulator(make_plan(design), compiled=compiled) for compiled in (False, True))
        with TraceReader(trace) as reader:
            for chunk in reader:
                plain.feed(chunk)
                compiled.feed(chunk)
        assert plain.counters() == compiled.counters()
        assert plain.statistics() == compiled.statistics()
