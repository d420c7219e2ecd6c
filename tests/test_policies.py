"""The bandit over policies for large blocks: its slices, its draws, its log, and what a pull's figures are."""

from pathlib import Path

import msgspec
import pytest

from heapsmith.model.design.design import load
from heapsmith.model.errors import BadInput
from heapsmith.model.memory.hardware import load_hardware
from heapsmith.model.predict.simulate import simulate
from heapsmith.model.search.policies import choose_policies, draw, slices
from heapsmith.model.trace.events import Chunk, Op
from heapsmith.model.trace.writer import TraceWriter


@pytest.fixture(scope="module")
def huge_blocks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace in which a block of 3 MB comes and goes, beside a few that stay."""
    path = tmp_path_factory.mktemp("policies") / "huge.hst"
    events = [(Op.MALLOC, block, 100_000) for block in range(4)]
    events += [(Op.MALLOC, 4, 3_000_000), (Op.FREE, 4, 0)] * 48
    op, block, size = zip(*events, strict=True)
    none = [0] * len(events)
    with TraceWriter(path, command=["huge"], source="test") as writer:
        writer.append(Chunk.of(op, none, block, size, none, none))
        writer.close()
    return path


def test_slices_double_and_cover_the_trace() -> None:
    assert list(slices(70, 8)) == [(0, 10), (10, 30), (30, 70)]
    assert list(slices(100, 5)) == [(0, 14), (14, 42), (42, 100)]
    assert list(slices(9, 2)) == [(0, 9)]
    with pytest.raises(BadInput, match="has 6 events; expected 7 or more for 8 designs"):
        list(slices(6, 8))


def test_draws_follow_the_seed() -> None:
    base = load("default")
    first, again, other = (draw(base, 12, seed, "x") for seed in (1, 1, 2))
    assert first == again != other
    hashes = {design.hash() for design, _ in first}
    assert len(hashes) == 12
    assert base.hash() not in hashes
    assert all(design.why_not_valid() is None for design, _ in first)


def test_the_better_half_goes_on(huge_blocks: Path) -> None:
    base, hardware = load("default"), load_hardware("default")
    found = choose_policies(huge_blocks, base=base, hardware=hardware, name="chosen", arms=4, seed=3)
    others = [pull for pull in found.pulls if pull.design != "default"]
    assert [len([pull for pull in others if pull.round == number]) for number in (1, 2)] == [4, 2]
    assert [(pull.first_event, pull.end_event) for pull in found.pulls if pull.design == "default"] == [
        (0, 33),
        (33, 100),
    ]
    for number in (1, 2):
        costs = [pull.cost for pull in others if pull.round == number]
        assert costs == sorted(costs)
    assert [pull.stays for pull in others] == [True, True, False, False, True, False]
    assert {pull.cost for pull in found.pulls if pull.design == "default"} == {1.0}
    again = choose_policies(huge_blocks, base=base, hardware=hardware, name="chosen", arms=4, seed=3)
    assert again == found


def test_slices_of_a_design_add_up_to_its_trace(huge_blocks: Path) -> None:
    """A pull goes on with the heap that the design has there."""
    base, hardware = load("default"), load_hardware("default")
    found = choose_policies(huge_blocks, base=base, hardware=hardware, name="chosen", arms=4, seed=3)
    table = simulate(huge_blocks, [base], hardware=hardware)
    price = table.rows[0].price
    assert price is not None
    mine = [pull for pull in found.pulls if pull.design == "default"]
    assert sum(pull.allocator_ns for pull in mine) == pytest.approx(price.allocator_ns_per_op * table.operations)
    assert mine[-1].committed_peak == table.rows[0].committed_peak


def test_hardware_without_costs_is_refused(huge_blocks: Path) -> None:
    bare = msgspec.structs.replace(load_hardware("default"), costs={})
    with pytest.raises(BadInput, match="this machine has no costs"):
        choose_policies(huge_blocks, base=load("default"), hardware=bare, name="x")
