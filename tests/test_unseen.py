"""What the search does not see binds its answer: traces held out, halves of the trace, and a tiny run."""

from pathlib import Path

import msgspec
import numpy as np
import pytest

from heapsmith.model.design.design import Design, changed, load
from heapsmith.model.errors import CheckFailed
from heapsmith.model.memory.hardware import load_hardware
from heapsmith.model.predict.times import priced
from heapsmith.model.search.asked import Asked
from heapsmith.model.search.choice import SLACK, Limits
from heapsmith.model.search.evaluate import Evaluator
from heapsmith.model.search.known import Known
from heapsmith.model.search.outcome import Outcome
from heapsmith.model.search.source import Source
from heapsmith.model.search.tune import Tuned, tune
from heapsmith.model.search.unseen import START_RATIO, Binding, Unseen, unseen
from heapsmith.model.search.workers import Bench, Task, measured
from heapsmith.model.trace.reader import Chunk, Op, TraceWriter
from heapsmith.tools.report.searched import on_traces

DEFAULT = load("default")
EVENT_NS = 400
ASKED = Asked(simulations=9, jobs=1)

pytestmark = pytest.mark.usefixtures("own_outcomes")


def rounds(path: Path, *parts: tuple[int, int, int]) -> Path:
    """Parts (depth, size, rounds): of 1,500 live blocks of a size, some are freed and asked for again and again."""
    events: list[tuple[int, int, int]] = []
    for number, (depth, size, count) in enumerate(parts):
        first = 1500 * number
        events += [(Op.MALLOC, first + block, size) for block in range(1500)]
        for _ in range(count):
            events += [(Op.FREE, first + block, 0) for block in range(depth)]
            events += [(Op.MALLOC, first + block, size) for block in range(depth)]
    ops, blocks, sizes = zip(*events, strict=True)
    zeros = [0] * len(events)
    with TraceWriter(path, command=["test"], source="test") as writer:
        writer.append(Chunk.of(ops, zeros, blocks, sizes, zeros, [number * EVENT_NS for number in range(len(events))]))
    return path


def tuned(path: Path, *held: Path, limits: Limits | None = None, base: Design = DEFAULT) -> Tuned:
    asked = ASKED._replace(limits=limits or Limits())
    return tune(path, base=base, name="made", asked=asked, hold_out=held)


@pytest.mark.thorough
def test_the_second_half_of_a_run_is_served_as_the_first(tmp_path: Path) -> None:
    """The first half needs six blocks in a front, the second fifty: a design for the first keeps room for more."""
    first = rounds(tmp_path / "first.hst", (6, 200, 900))
    second = rounds(tmp_path / "second.hst", (50, 200, 110))
    apart = changed(DEFAULT, "apart", {"opening": {**msgspec.to_builtins(DEFAULT)["opening"], "compact_blocks": 0}})
    found = tuned(first, base=apart)
    assert not found.kept_base
    bench = Bench([Source(second)], priced(load_hardware()))
    before, after = (measured(bench, Task(one, 0, "outcome")) for one in (DEFAULT, found.design))
    assert isinstance(before, Outcome)
    assert isinstance(after, Outcome)
    assert after.allocator_ns_per_op <= SLACK * before.allocator_ns_per_op


def test_halves_bind_where_they_differ(tmp_path: Path) -> None:
    """A design is refused that gains on the one half what it loses on the other."""
    path = rounds(tmp_path / "t.hst", (6, 200, 500), (40, 3000, 60))
    source = Source(path)
    bound = [*unseen([source], [], tmp_path, DEFAULT)]
    assert [one.name for one in bound] == ["the first half of t.hst", "the second half of t.hst", "a tiny run"]
    assert bound[0].source.operations + bound[1].source.operations >= source.operations
    binding = binding_of(bound)
    no_front = changed(DEFAULT, "x", {"class_front": [{"sizes": sizes_for(3000), "front": "none"}]})
    assert binding(known(DEFAULT))
    assert not binding(known(no_front))
    assert [*binding.refused] == ["the second half of t.hst"]
    assert [(one.trace, one.designs) for one in binding.said()] == [("the second half of t.hst", 1)]


def sizes_for(size: int) -> list[int]:
    return [next(one for one in DEFAULT.sizes if one >= size)]


def known(design: Design) -> Known:
    return Known(design, [], np.ones(4))


def binding_of(bound: list[Unseen], limits: Limits | None = None) -> Binding:
    bench = Bench([one.source for one in bound], priced(load_hardware()))
    evaluator = Evaluator(bench, DEFAULT, resume=False)
    return Binding(evaluator, bound, limits or Limits(), "balanced")


def test_a_tiny_run_refuses_a_huge_page_for_each_class(tmp_path: Path) -> None:
    """Each class in a region of its own, on huge pages from the first byte: a few blocks take 40 MB."""
    (tiny,) = unseen([], [], tmp_path, DEFAULT)
    binding = binding_of([tiny])
    regions = {"classifier": "class_region", "empties": "dedicated", "slab_choice": "address_ordered"}
    huge = changed(DEFAULT, "x", regions | {"thp": "always", "unmapping": "off"})
    assert not binding(known(huge))
    assert binding(known(changed(DEFAULT, "x", regions | {"thp": "never", "unmapping": "off"})))
    bench = Bench([tiny.source], priced(load_hardware()))
    base, found = (measured(bench, Task(one, 0, "outcome")) for one in (DEFAULT, huge))
    assert isinstance(base, Outcome)
    assert isinstance(found, Outcome)
    assert found.resident_peak > 10 * START_RATIO * base.resident_peak


@pytest.mark.thorough
def test_a_limit_that_a_held_out_trace_breaks_is_refused(tmp_path: Path) -> None:
    """On what is held out no design has so much less than the base's peak: the search ends with the reason."""
    seen = rounds(tmp_path / "seen.hst", (6, 520, 300))
    held = rounds(tmp_path / "held.hst", (6, 512, 300))
    limits = Limits(rss=0.95)
    alone = tuned(seen, limits=limits)
    assert alone.traces[0].ratios["peak"] <= 0.95
    with pytest.raises(CheckFailed, match=r"no design within the limits on traces .*: refused \d+ on held\.hst"):
        tuned(seen, held, limits=limits)


@pytest.mark.thorough
def test_another_design_keeps_the_limits_of_what_is_held_out(tmp_path: Path) -> None:
    """The best of the first trace alone takes more time on the second; with that held out the answer does not."""
    seen, held = rounds(tmp_path / "seen.hst", (6, 520, 600)), rounds(tmp_path / "held.hst", (40, 700, 80))
    found = tuned(seen, held)
    assert "held.hst" in found.unseen
    out = next(one for one in found.traces if one.held_out)
    most = Limits().ratios([out.before], [1.0])
    assert all(out.ratios[name] <= limit for name, limit in zip(("time", "peak", "average"), most, strict=False))
    assert "held.hst" in on_traces(found).title
    assert msgspec.json.decode(msgspec.json.encode(found), type=Tuned) == found
