"""The application: what it touches of its blocks becomes resident and goes again; what is too large is refused."""

from pathlib import Path

import msgspec
import pytest

from heapsmith.model.design.design import load
from heapsmith.model.design.plan import Plan, make_plan
from heapsmith.model.errors import BadInput
from heapsmith.model.heap.simulator import Simulator
from heapsmith.model.memory.application import Application, program_of
from heapsmith.model.memory.hardware import load_hardware
from heapsmith.model.memory.listener import Listener, Touches
from heapsmith.model.trace.frames import Samples, Touched
from heapsmith.model.trace.reader import Chunk, Op, TraceWriter

pytestmark = pytest.mark.quick

LINE = 64


@pytest.fixture
def plan() -> Plan:
    return make_plan(msgspec.structs.replace(load("default"), huge_bytes=65_536))


def simulator_of(plan: Plan, application: Application) -> tuple[Simulator, Listener]:
    listener = Listener(load_hardware("default"))
    return Simulator(plan, compiled=False, listener=listener, application=application), listener


def counted(plan: Plan, application: Application) -> Touches:
    """The birth of a block of ten lines and its death."""
    simulator, listener = simulator_of(plan, application)
    simulator.step(Op.MALLOC, 0, 0, 10 * LINE)
    simulator.step(Op.FREE, 0, 0)
    return listener.counts()


def accesses(plan: Plan, application: Application) -> int:
    """Of a block's life, less what the heap itself touches."""
    return counted(plan, application).accesses - counted(plan, Application("none", "none")).accesses


@pytest.mark.parametrize(
    ("births", "deaths", "expected"),
    [("all", "none", 10), ("ends", "none", 2), ("pages", "none", 2), ("none", "ends", 2), ("all", "all", 20)],
)
def test_what_is_touched_of_a_block(plan: Plan, births: str, deaths: str, expected: int) -> None:
    assert accesses(plan, msgspec.convert({"births": births, "deaths": deaths}, Application)) == expected


def test_the_table_of_a_replay_was_resident_before(plan: Plan) -> None:
    without, touched = (counted(plan, Application("none", "none", table=table)) for table in (False, True))
    assert touched.accesses == without.accesses + 4
    assert touched.llc_misses == without.llc_misses + 1
    assert (touched.resident_bytes, touched.faults_4k) == (without.resident_bytes, without.faults_4k)


@pytest.mark.slow
def test_pages_of_a_mapping_go_when_it_shrinks_and_when_it_ends(plan: Plan) -> None:
    simulator, listener = simulator_of(plan, Application("all", "none"))
    simulator.step(Op.MALLOC, 0, 1, 1)
    before = listener.counts().resident_bytes
    for size in (400_000, 800_000, 200_000):
        simulator.step(Op.REALLOC, 0, 1, size)
        mapped = -(-size // 4096) * 4096
        assert mapped <= listener.counts().resident_bytes - before <= mapped + 8192
    simulator.step(Op.FREE, 0, 1)
    assert listener.counts().resident_bytes - before <= 8192
    assert simulator.counters().totals["huge_remap"] == 2


def test_a_block_that_no_place_is_for_is_refused(plan: Plan) -> None:
    simulator, _ = simulator_of(plan, Application())
    with pytest.raises(BadInput, match="event 0: size 8589934593 is too large"):
        simulator.step(Op.MALLOC, 0, 0, (1 << 33) + 1)


@pytest.mark.slow
def test_a_part_of_a_large_block_is_touched(plan: Plan, tmp_path: Path) -> None:
    """The recorder saw a quarter of the pages of blocks from 512 KiB on; smaller blocks are touched whole."""
    trace = tmp_path / "t.hst"
    rows = [Touched(64 << 10, 5, 100, 100), Touched(1 << 20, 1, 300, 100), Touched(2 << 20, 1, 500, 100)]
    with TraceWriter(trace, command=[], source="test") as writer:
        writer.append(Chunk.of([Op.MALLOC], [0], [0], [8], [0], [0]))
        writer.close({"samples": Samples(rows, [], 0, [])})
    program = program_of(trace, "all", "none")
    assert program == Application("all", "none", (1.0, 0.25, 1.0, 1.0))
    simulator, listener = simulator_of(plan, program)
    for block, (size, touched) in enumerate(((100_000, 100_000), (800_000, 200_000))):
        before = listener.counts().resident_bytes
        simulator.step(Op.MALLOC, 0, block, size)
        assert touched <= listener.counts().resident_bytes - before <= touched + 16_384
