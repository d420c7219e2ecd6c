"""Cost: every policy option has kinds of its own, counts are the trace's, and a price is the sum of its shares."""

import re
import types
from pathlib import Path

import msgspec
import numpy as np
import pytest
from traces import random_trace

from heapsmith.model import policy
from heapsmith.model.compile.dispatch import bind
from heapsmith.model.design.design import ClassFront, Design, builtin_names, load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.errors import BadInput
from heapsmith.model.memory.application import Application
from heapsmith.model.memory.hardware import Hardware, load_hardware
from heapsmith.model.policy.front import array_stack as front_array_stack
from heapsmith.model.policy.front import fifo_ring
from heapsmith.model.policy.front import linked_list as front_linked_list
from heapsmith.model.policy.hardening import full
from heapsmith.model.predict.cost import instructions_of, instructions_spent, kinds, price, price_of, time_kinds
from heapsmith.model.predict.simulate import Simulation, simulate
from heapsmith.tools.calibrate.micro_traces import Script

EVENTS = 500


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Design, Simulation]]:
    trace = random_trace(tmp_path_factory.mktemp("cost") / "t.hst", EVENTS, 3, max_size=100_000)
    designs = [load(name) for name in builtin_names()]
    program = Application(births="none", deaths="none")
    hardware = msgspec.structs.replace(load_hardware(), zeroing_caches=False)  # plain Python would zero huge pages
    table = simulate(trace, designs, hardware=hardware, application=program)
    return list(zip(designs, table.rows, strict=True))


@pytest.mark.thorough
def test_calls_are_counted_once(simulated: list[tuple[Design, Simulation]]) -> None:
    for design, row in simulated:
        plan, work = make_plan(design), row.statistics.work
        found = kinds(plan, row)
        of = row.counters.classes
        small = sum(of["hit0"]) + sum(of["hit1"]) + sum(of["refill"])
        assert found[f"alloc.{plan.dispatch}"] == small
        assert found["call.realloc"] == work["reallocs"]
        reused = sum(count for name, count in found.items() if name.startswith("take.reuse"))
        assert reused + found["take.carve"] == sum(of["reuse"]) + sum(of["carve"])
        assert found.get("give.block", 0) >= found.get("give.slab", 0)
        assert min(found.values()) > 0


def test_every_option_has_its_kinds(simulated: list[tuple[Design, Simulation]]) -> None:
    """There are shipped constants for all kinds that the built-in designs have."""
    together = {name for design, row in simulated for name in kinds(make_plan(design), row)}
    missing = {name for name in together if name not in instructions_of(load_hardware())}
    assert not missing


def test_what_nobody_counted_is_refused(simulated: list[tuple[Design, Simulation]], tmp_path: Path) -> None:
    """A row under a new name has kinds of its own, which would cost nothing."""
    _, row = simulated[0]
    machine, plan = load_hardware("epyc"), make_plan(simulated[0][0])
    known = instructions_of(machine)
    assert instructions_spent({"start": 2}, known) == 2 * known["start"]
    spent = kinds(plan, row)
    for kind in spent:
        lacking = {name: cost for name, cost in known.items() if name != kind}
        with pytest.raises(BadInput, match=f"^{re.escape(kind)}: its instructions are unknown"):
            time_kinds(plan, row, lacking, EVENTS)


def test_each_row_ships_the_costs_of_its_kinds() -> None:
    """By its name, so that a copy under another name has no cost of the row that it was copied from."""
    shipped = [kind for rows in policy.TABLES.values() for row in rows for kind in getattr(row, "COSTS", {})]
    assert len(shipped) == len({*shipped} - {*load_hardware().instructions})
    assert policy.COSTS.keys() == {*shipped}
    copy = types.ModuleType("heapsmith.model.policy.front.copy")
    copy.__dict__.update({name: value for name, value in vars(fifo_ring).items() if name != "COSTS"}, NAME="copy")
    with pytest.raises(TypeError, match="copy: pop: expected COSTS"):
        bind({**policy.TABLES, "front": (fifo_ring, copy)})


def test_prices_add_up(simulated: list[tuple[Design, Simulation]], tmp_path: Path) -> None:
    costs = {"instructions": 0.25, "replay.operation": 7.0, "replay.line": 1.0, "fault.4k": 500.0}
    machine: Hardware = msgspec.structs.replace(load_hardware(), costs=costs)
    for design, row in simulated:
        plan = make_plan(design)
        found = price_of(plan, row, EVENTS, machine)
        instructions = price(kinds(plan, row), instructions_of(machine))
        spent = time_kinds(plan, row, instructions_of(machine), EVENTS)
        assert found.instructions_per_op == pytest.approx(instructions / EVENTS)
        assert found.ns_per_op == pytest.approx(price(spent, costs) / EVENTS)
        assert sum(found.shares.values()) == pytest.approx(1)
        assert 0 < found.allocator_ns_per_op < found.ns_per_op - 7
        assert set(found.shares) <= set(costs)


def test_jumps_to_the_class_of_a_drawn_size_are_mispredicted(tmp_path: Path) -> None:
    """`default` has a row per class and jumps at the first call of each class alone."""
    drawn = np.random.default_rng(3).integers(1, 1000, 2000).tolist()
    shares = []
    for name, sizes in (("same", [100] * 2000), ("drawn", drawn)):
        script = Script()
        script.churn(sizes, 20)
        script.write(tmp_path / f"{name}.hst")
        designs = [load("default"), load("ring")]
        table = simulate(tmp_path / f"{name}.hst", designs, hardware=load_hardware())
        for design, row in zip(designs, table.rows, strict=True):
            spent = time_kinds(make_plan(design), row, instructions_of(load_hardware()), table.operations)
            shares.append(spent["miss.branch"] / table.operations)
    assert max(shares[:3]) < 0.1 < 0.8 < shares[3]


def test_lists_among_stacks_jump_to_the_class(tmp_path: Path) -> None:
    """Rows of stacks serve the classes of stacks alone; other classes pay for the jump as without any stack."""
    drawn = np.random.default_rng(3).integers(1, 1000, 2000).tolist()
    script = Script()
    script.churn(drawn, 20)
    script.write(tmp_path / "t.hst")
    lists = front_linked_list.Params(capacity=64)
    stack = ClassFront([32768], front_array_stack.Params(capacity=1))
    designs = [
        msgspec.structs.replace(load("default"), transfer_bytes=0, front=lists),
        msgspec.structs.replace(load("default"), transfer_bytes=0, front=lists, class_front=[stack]),
        load("default"),
    ]
    table = simulate(tmp_path / "t.hst", designs, hardware=load_hardware())
    without, among, stacks = (row.touches.mispredicted for row in table.rows if row.touches is not None)
    assert stacks < without / 2
    assert among > 0.9 * without


def test_the_jump_to_the_class_tells_the_end_of_the_loop_over_lines(tmp_path: Path) -> None:
    """What a jump costs, a loop that follows saves, if the program writes all lines of the block."""
    script = Script()
    script.churn(np.random.default_rng(3).choice([60, 120, 250, 500], 2000).tolist(), 0)
    script.write(tmp_path / "t.hst")
    for births in ("all", "ends"):
        application = msgspec.convert({"births": births}, Application)
        table = simulate(
            tmp_path / "t.hst", [load("default"), load("sll")], hardware=load_hardware(), application=application
        )
        stack, jump = (row.touches.mispredicted_loops for row in table.rows if row.touches is not None)
        assert (stack > 1000 > 100 > jump) if births == "all" else stack == jump == 0


def test_whether_a_front_has_a_block_is_mispredicted(tmp_path: Path) -> None:
    """Of two blocks that a refill brings the second is there for the next call of its class, whenever that comes."""
    script = Script()
    for size in np.random.default_rng(3).choice([100, 200, 300, 400, 500, 600], 400).tolist():
        script.allocate(size)
    script.write(tmp_path / "t.hst")
    front = front_array_stack.Params(capacity=2, refill=2)
    alike = msgspec.structs.replace(load("default"), front=front, transfer_bytes=0)
    mixed = msgspec.structs.replace(alike, class_front=[ClassFront([32768], front_linked_list.Params())])
    table = simulate(tmp_path / "t.hst", [alike, mixed], hardware=load_hardware())
    found = [row.touches.mispredicted for row in table.rows if row.touches is not None]
    assert 150 < found[0] < 300
    assert 300 < found[1] < 500  # where fronts differ, of calls that miss the jump to the class too


def test_whether_a_block_begins_a_page_is_mispredicted_where_free_trusts_it(tmp_path: Path) -> None:
    """A block of 1 KiB begins a page once in four times; freed in a drawn order, nothing tells when."""
    script, drawn = Script(), np.random.default_rng(3)
    for _ in range(400):
        script.allocate(1024)
    for live in range(400, 0, -1):
        script.free(int(drawn.integers(live)))
    script.write(tmp_path / "t.hst")
    base = msgspec.structs.replace(load("default"), sizes=sorted({*load("default").sizes, 1024}))
    designs = [msgspec.structs.replace(base, foreign=foreign) for foreign in ("leak", "trust")]
    table = simulate(tmp_path / "t.hst", designs, hardware=load_hardware())
    span, page = (row.touches.mispredicted for row in table.rows if row.touches is not None)
    assert 50 < page - span < 200


def test_a_process_pays_more_for_the_pages_that_it_grows_by(simulated: list[tuple[Design, Simulation]]) -> None:
    (design, row), known = simulated[0], instructions_of(load_hardware())

    def far(resident: int, faults: int) -> float:
        assert row.touches is not None
        touches = msgspec.structs.replace(row.touches, resident_peak=resident, faults_4k=faults)
        spent = time_kinds(make_plan(design), msgspec.structs.replace(row, touches=touches), known, EVENTS)
        return spent.get("fault.4k.far", 0)

    assert far(0, 0) == 0
    assert far(16 << 20, 9000) == 4096 / 2  # more than half of them came back
    assert far(16 << 20, 1000) == 1000 / 2
    assert far(100 << 20, 9000) == 9000


def test_time_has_a_kind_for_rows_and_one_for_releases(simulated: list[tuple[Design, Simulation]]) -> None:
    for design, row in simulated:
        plan, of = make_plan(design), row.counters.classes
        spent = time_kinds(plan, row, instructions_of(load_hardware()), EVENTS)
        stacks = [row.index for row in plan.classes if row.stack]
        calls = sum(of[name][i] for name in ("hit0", "hit1", "refill", "push", "direct", "remote") for i in stacks)
        calls -= sum(of["drained"][i] for i in stacks)  # freed by another thread, and counted as remote
        assert spent.get("dispatch.stack", 0) == (calls if plan.dispatch == "stack" else 0)
        totals = row.counters.totals
        assert spent.get("release", 0) == totals["releases"] + totals["huge_unmap"]
    assert {make_plan(design).dispatch for design, _ in simulated} == {"stack", "table", "restartable"}


def test_hardening_costs_instructions(simulated: list[tuple[Design, Simulation]]) -> None:
    by_name = {
        design.name: price(kinds(make_plan(design), row), instructions_of(load_hardware())) for design, row in simulated
    }
    assert by_name["keep"] < by_name["checks"] < by_name["hardened"]


def test_hardening_reads_and_clears_the_bytes_of_long_blocks(tmp_path: Path) -> None:
    """Blocks of 128 bytes at most are checked without a loop."""
    script = Script()
    script.churn([100] * 30 + [1000] * 20, 0)
    script.write(tmp_path / "t.hst")
    plan = make_plan(msgspec.structs.replace(load("hardened"), hardening=full.Params(quarantine=0)))
    (row,) = simulate(tmp_path / "t.hst", [plan.design]).rows
    found = kinds(plan, row)
    usable = next(one.usable for one in plan.classes if one.usable >= 1000)
    assert found["alloc.hardening.full"] == found["free.hardening.full"] == 50
    for call in ("alloc", "free"):
        assert found[f"{call}.hardening.long"] == 20
        assert found[f"{call}.hardening.long.byte"] == 20 * usable


def test_hits_of_heaps_of_processors_are_counted_in_the_disassembly() -> None:
    """Valgrind runs no restartable sequences; the constants of stacks, beside which these stand, are counted anew."""
    costs = instructions_of(load_hardware())
    assert costs["alloc.array_stack"] + costs["alloc.restartable"] == pytest.approx(24)
    freed = ("free.array_stack", "free.restartable", "free.class.restartable.page_map")
    assert sum(costs[name] for name in freed) == pytest.approx(24)


def test_price_ignores_what_has_no_cost() -> None:
    assert price({"a": 3, "b": 4}, {"a": 2.0}) == 6
