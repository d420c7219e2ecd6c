"""What each choice is worth: choices of no clear worth go back to the base's, with those that need them."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest

from heapsmith.model.design.design import Design, load
from heapsmith.model.memory.hardware import load_hardware
from heapsmith.model.policy.front import owned_slab as front_owned_slab
from heapsmith.model.policy.release import keep as release_keep
from heapsmith.model.search.choice import SLACK, WEIGHTS, Limits, chosen, scores
from heapsmith.model.search.choice_worth import put_back, simplest
from heapsmith.model.search.explore import Known
from heapsmith.model.search.outcome import Outcome, ratios
from heapsmith.model.search.reasons import why_choices
from heapsmith.model.search.source import Source
from heapsmith.model.search.workers import Bench, Task, measured
from heapsmith.model.trace.reader import Chunk, Op, TraceWriter

pytestmark = pytest.mark.quick

DEFAULT = msgspec.structs.replace(load("default"), run_cache_bytes=1 << 18)


def base_with(**fields: object) -> Design:
    """The default design with these fields."""
    return msgspec.structs.replace(DEFAULT, **fields)


class Gains:
    """A judge: the ratios of a design that has the base's value of a field are worse by the field's factor."""

    batch, operations = 8, 1_000_000
    room: int | None = None
    of, weights = np.ones(4), WEIGHTS["balanced"]

    def __init__(self, most: float = np.inf, **gains: float) -> None:
        self._most, self._gains = most, gains

    def price(self, designs: Sequence[Design], stage: str) -> list[Known]:
        gone = [[name for name in self._gains if getattr(one, name) == getattr(DEFAULT, name)] for one in designs]
        worse = [np.prod([self._gains[name] for name in names]) for names in gone]
        return [Known(one, [], factor**self.of) for one, factor in zip(designs, worse, strict=True)]

    def affordable(self, designs: Sequence[Design]) -> list[Design]:
        return list(designs[: self.room])

    def allowed(self, one: Known) -> bool:
        return bool(one.ratios[0] <= self._most)

    def score(self, one: Known) -> float:
        return float(scores(one.ratios[None], self.weights)[0])


def test_what_no_time_is_left_for_has_no_worth_and_stays() -> None:
    judge, design = Gains(huge_bytes=1.0), base_with(huge_bytes=1 << 20, thp="system")
    judge.room = 0
    kept, worth = list(simplest(Known(design, [], np.ones(4)), DEFAULT, judge, until=0.0))[-1]
    assert kept.design == design
    assert [one.without for one in worth] == [{}] * len(worth) != []
    assert all("the time was up" in reason.why for reason in why_choices(worth))


def test_choices_of_no_clear_worth_go_back_together_and_at_once() -> None:
    """Of five choices one gains 2 %; of the others only two can go within the margin. The time is up."""
    fields = {"run_cache_bytes": 0, "huge_bytes": 1 << 20, "transfer_bytes": 0, "slab_choice": "fullest_first"}
    found = Known(base_with(**fields, thp="system"), [], np.ones(4))
    assert found.design.why_not_valid() is None
    judge = Gains(run_cache_bytes=1.02, huge_bytes=1.002, transfer_bytes=1.002, slab_choice=1.004, thp=1)
    kept, worth = list(simplest(found, DEFAULT, judge, until=0.0))[-1]
    assert [one.fields for one in worth] == [["slab_choice"], ["run_cache_bytes"]]
    assert judge.score(kept) == pytest.approx(1.002**2)
    assert [one.without["time"] for one in worth] == [pytest.approx(1.004), pytest.approx(1.02)]


@pytest.mark.parametrize(("gain", "goes"), [(1.009, True), (1.02, False)])
def test_time_is_kept_where_it_hardly_counts(gain: float, goes: bool) -> None:
    """A choice saves malloc's time alone, which is a hundredth of the run."""
    judge = Gains(run_cache_bytes=gain)
    judge.of, judge.weights = np.array([1.0, 0.0, 0.0, 0.0]), np.array([0.01, 0.5, 0.48, 0.01])
    found = Known(base_with(run_cache_bytes=0), [], np.ones(4))
    kept, _ = list(simplest(found, DEFAULT, judge, until=None))[-1]
    assert (kept.design.run_cache_bytes == DEFAULT.run_cache_bytes) == goes


@pytest.mark.parametrize(("operations", "goes"), [(135, True), (10_000, False)])
def test_few_operations_are_evidence_of_large_gains_only(operations: int, goes: bool) -> None:
    """To keep its pages gains a design 7 %: the trace of 135 operations keeps the base's release policy."""
    judge = Gains(release=1.07)
    judge.operations = operations
    found = Known(base_with(release=release_keep.Params()), [], np.ones(4))
    last = list(simplest(found, DEFAULT, judge, until=None))[-1]
    assert (last[0].design.release == DEFAULT.release) == goes
    assert (last[1] == []) == goes


def test_a_choice_goes_back_with_those_that_cannot_stay_without_it() -> None:
    """The front of slabs with owners needs the owners' list; no legal design has it with the base's remote frees."""
    fields = {"remote": "owner_list", "freed_blocks": "list", "transfer_bytes": 0, "shards": None, "opening": None}
    design = base_with(front=front_owned_slab.Params(), **fields)
    assert design.why_not_valid() is None
    refusal = msgspec.structs.replace(design, remote=DEFAULT.remote).why_not_valid()
    assert refusal is not None
    assert refusal.fields == ("remote", "front")
    backs = list(put_back(design, DEFAULT))
    assert all(one.why_not_valid() is None for _, one in backs)
    assert any({"remote", "front"} <= {*fields} for fields, _ in backs)
    assert len({one.hash() for _, one in backs}) == len(backs)
    last = list(simplest(Known(design, [], np.ones(4)), DEFAULT, Gains(), until=None))[-1]
    assert last[0].design == DEFAULT
    assert last[1] == []


@pytest.mark.slow
def test_a_short_trace_does_not_buy_time_with_pages_that_it_keeps(tmp_path: Path) -> None:
    """In 134 calls runs come and go: to keep their pages takes less time, and more bytes on average than allowed."""
    events = [(Op.MALLOC, block, 900_000) for block in range(6)]
    for number in range(16):
        events += [(Op.FREE, block, 0) for block in range(4)]
        events += [(Op.MALLOC, block, 900_000 - number) for block in range(4)]
    ops, blocks, sizes = zip(*events, strict=True)
    zeros = [0] * len(events)
    with TraceWriter(tmp_path / "t.hst", command=["test"], source="test") as writer:
        writer.append(Chunk.of(ops, zeros, blocks, sizes, zeros, range(len(events))))
    bench = Bench([Source(tmp_path / "t.hst")], load_hardware())
    keep = base_with(release=release_keep.Params())
    base, kept = (measured(bench, Task(design, 0, "outcome")) for design in (DEFAULT, keep))
    assert isinstance(base, Outcome)
    assert isinstance(kept, Outcome)
    points = np.array([ratios(one.figures(), base.figures()) for one in (base, kept)])
    assert scores(points, WEIGHTS["balanced"])[1] < 0.95
    assert points[1][2] > SLACK
    assert chosen(points, Limits().ratios([base], [1.0]), WEIGHTS["balanced"]) == 0
    assert chosen(points, Limits(rss=1.2).ratios([base], [1.0]), WEIGHTS["balanced"]) == 1


def test_a_choice_that_goes_back_stays_within_the_limits() -> None:
    """Without the cache of runs the score is as good, but the limit forbids its time."""
    found = Known(base_with(run_cache_bytes=0), [], np.ones(4))
    for limit, kept in ((1.0, 0), (1.001, DEFAULT.run_cache_bytes)):
        last = list(simplest(found, DEFAULT, Gains(limit, run_cache_bytes=1.0004), until=None))[-1]
        assert last[0].design.run_cache_bytes == kept
