"""The search's part of segregation: what call sites pin, and that only traces held out can confirm a group."""

from pathlib import Path

import numpy as np
import pytest
from test_segregation import TREE

from heapsmith.model.design.design import Design, load
from heapsmith.model.policy.front import none as front_none
from heapsmith.model.policy.segregation.sites import Group, Params, Site
from heapsmith.model.search.asked import Asked
from heapsmith.model.search.choice import Limits
from heapsmith.model.search.pinning_sites import groups_to_try, pins_of
from heapsmith.model.search.source import Source
from heapsmith.model.search.tune import Tuned, tune
from heapsmith.model.trace.reader import Chunk, Op, TraceWriter

ONE, TWO = Site("one", "01", 5), Site("two", "02", 5)
"""Sites 1 and 2 of the tree; site 3 is two+7, site 5 is of a module that no design can name."""


def written(path: Path, events: list[tuple[Op, int, int, int]], *, stacks: bool = True) -> Path:
    """A trace of (operation, block, size, site), with an event each microsecond."""
    op, block, size, site = zip(*events, strict=True)
    zeros = np.zeros(len(events), np.int64)
    with TraceWriter(path, command=[], source="test", sites=stacks) as writer:
        chunk = Chunk.of(op, zeros, block, size, zeros, 1000 * np.arange(len(events)))
        writer.append(chunk, np.array(site, np.uint32) if stacks else None)
        writer.close({"stacks": TREE.packed()} if stacks else None)
    return path


def test_what_sites_pin(tmp_path: Path) -> None:
    """A slab of 64 blocks whose last but site 1's dies: it pins 4,096 bytes but for its block, at half of the stops."""
    born = [(Op.MALLOC, block, 64, 1 if block == 5 else 2) for block in range(64)]
    died = [(Op.FREE, block, 0, 0) for block in range(64) if block != 5]
    idle = [(Op.MALLOC, 63, 64, 5), (Op.FREE, 63, 0, 0)] * 32
    source = Source(written(tmp_path / "t.hst", [*born, *died, *idle]), sited=True)
    design = Design("d", [64], front=front_none.Params(), slab_bytes=4096, superslab_bytes=16384, run_cache_bytes=0)
    pins = pins_of(design, [source])
    assert set(pins) == {(ONE, 64), (TWO, 64)}
    assert 0.3 * 4032 < pins[ONE, 64] < 0.4 * 4032
    [half, most] = [one for one in groups_to_try(pins) if one.groups[0].sites[0] == ONE][:2]
    assert half == Params([Group([64], [ONE])])
    assert {site.module for site in most.groups[0].sites} == {"one", "two"}


def pinning(path: Path, kept: int, *, stacks: bool = True) -> Path:
    """Blocks of 1,000 bytes, one in 16 from the site `kept`, which keeps them; the others die. Then little happens."""
    keeps = range(0, 9_000, 16)
    others = [block for block in range(9_000) if block % 16]
    born = [(Op.MALLOC, block, 1000, kept if block % 16 == 0 else 3 - kept) for block in range(9_000)]
    died = [(Op.FREE, block, 0, 0) for block in others]
    idle = [(Op.MALLOC, others[-1], 32, 4), (Op.FREE, others[-1], 0, 0)] * 6_000
    assert len(keeps) + len(others) == 9_000
    return written(path, [*born, *died, *idle], stacks=stacks)


def searched(trace: Path, hold_out: list[Path], most_time: float = 2.0) -> Tuned:
    asked = Asked(simulations=2, limits=Limits(time=most_time))
    return tune(trace, base=load("default"), name="made", asked=asked, hold_out=hold_out)


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pinning(tmp_path_factory.mktemp("segregate") / "t.hst", 1)


@pytest.mark.thorough
def test_a_gain_that_is_confirmed_is_kept(trace: Path) -> None:
    found = searched(trace, [trace])
    said = found.segregated
    assert said is not None
    assert said.why_not is None
    assert said.held_out == pytest.approx(said.ratios)  # the same trace
    assert said.ratios["average"] < 0.8
    assert found.design.segregation == Params([Group(said.sizes, [ONE])])
    [worth] = [one for one in found.worth if one.fields == ["segregation"]]
    assert worth.without["average"] == pytest.approx(1 / said.ratios["average"])
    [reason] = [one for one in found.reasons if one.field == "segregation"]
    assert reason.why.startswith("1 call sites apart for blocks of ")
    assert "on what was held out time" in reason.why
    assert found.design.hash() in {one.hash for one in found.front}


@pytest.mark.thorough
def test_what_another_trace_does_not_confirm_is_not_kept(trace: Path, tmp_path: Path) -> None:
    mixed = [(Op.MALLOC, block, 1000, 1) for block in range(4000)]
    found = searched(trace, [written(tmp_path / "held.hst", mixed)])
    assert found.segregated is not None
    assert found.segregated.why_not == "the traces held out do not confirm it"
    assert found.segregated.held_out
    assert found.design.segregation is None
    assert all(one.design.segregation is None for one in found.front)


@pytest.mark.thorough
def test_time_beyond_the_limits_is_not_spent(trace: Path) -> None:
    found = searched(trace, [trace], most_time=1.0)
    assert found.segregated is not None
    assert found.segregated.why_not == "beyond the limits of time or memory, which --max-time and --max-rss widen"
    assert found.design.segregation is None


@pytest.mark.big
def test_nothing_is_tried_without_stacks(tmp_path: Path, trace: Path) -> None:
    assert searched(trace, [pinning(tmp_path / "t.hst", 1, stacks=False)]).segregated is None


@pytest.mark.big
def test_nothing_is_tried_without_a_trace_held_out(trace: Path) -> None:
    assert searched(trace, []).segregated is None
