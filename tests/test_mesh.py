"""Meshing: what could share pages, by hand and block by block; pairs and packings against brute force."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from conftest import Answer
from covering import covering_designs, of_each_row, soon
from hypothesis import given, settings
from hypothesis import strategies as st
from nasty import nasty_trace

from heapsmith.model.design.design import Design, changed, load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.design.toml import write_design
from heapsmith.model.errors import BadInput
from heapsmith.model.heap.simulator import Simulator
from heapsmith.model.predict import mesh
from heapsmith.model.trace.reader import Chunk, Op
from heapsmith.model.trace.writer import TraceWriter

Call = Callable[..., Answer]
PAGE, EVENTS = 4096, 2500


def written(path: Path, chunk: Chunk) -> Path:
    """A trace of these events."""
    with TraceWriter(path, command=["t"], source="test") as writer:
        writer.append(chunk)
    return path


def halves(path: Path, stride: int = 64) -> Path:
    """Two pages of blocks; then the even blocks of the first page go, and the odd blocks of the second."""
    each = PAGE // stride
    gone = [*range(0, each, 2), *range(each + 1, 2 * each, 2)]
    blocks = [*range(2 * each), *gone]
    op = [Op.MALLOC] * (2 * each) + [Op.FREE] * len(gone)
    size = [stride] * (2 * each) + [0] * len(gone)
    zeros = [0] * len(blocks)
    return written(path, Chunk.of(op, zeros, blocks, size, zeros, zeros))


def shares(found: mesh.MeshTable) -> dict[tuple[str, str, str], list[float]]:
    """What each way gives back at the end."""
    return {(one.way.unit, one.way.placement, one.way.fronts): one.end for one in found.rows[0].ways}


def test_halves_of_two_pages_mesh(tmp_path: Path) -> None:
    """By hand: both pages share one, once the fronts have given their blocks back; a slab has no partner."""
    design = changed(load("default"), "whole-refills", {"opening": "off"})
    found = mesh.mesh(halves(tmp_path / "t.hst"), [design])
    ends = shares(found)
    part = PAGE / found.rows[0].end
    assert ends["page", "own", "flushed"] == pytest.approx([part] * 3, abs=1e-6)
    assert ends["page", "own", "held"][:2] == [0, 0]
    assert ends["slab", "own", "flushed"] == pytest.approx([0, 0, part], abs=1e-6)


@pytest.mark.parametrize("design", soon(covering_designs(), of_each_row(2)), ids=lambda design: design.name)
def test_units_have_each_block_once(design: Design) -> None:
    plan = make_plan(design)
    simulator = Simulator(plan)
    simulator.feed(nasty_trace(plan, seed=5).part(0, EVENTS))
    state = simulator.state
    slab, index = mesh.blocks_of(simulator, "held")
    assert np.bincount(slab, minlength=state.slabs_made).tolist() == state.slabs["out"][: state.slabs_made].tolist()
    live = set(zip(*(part.tolist() for part in mesh.blocks_of(simulator, "flushed")), strict=True))
    assert live <= set(zip(slab.tolist(), index.tolist(), strict=True))
    moved = mesh.at_random(simulator, slab, index, 3)
    assert (moved < state.slabs["carved"][slab]).all()
    assert len({*zip(slab.tolist(), moved.tolist(), strict=True)}) == len(slab)
    strides = state.classes["stride"][state.slabs["class"][slab]]
    for places in (index, moved):
        pages = mesh.units(simulator, "page", slab, places)
        slabs = mesh.units(simulator, "slab", slab, places)
        assert 8 * int(np.bitwise_count(pages.bits).sum()) == pages.used == slabs.used == int(strides.sum())
        assert int(np.bitwise_count(slabs.bits).sum()) == len(slab)
        assert pages.bytes.sum() <= slabs.bytes.sum() <= state.committed


@cache
def most_pairs(maps: tuple[int, ...]) -> int:
    """The most pairs of maps without a common bit: every choice is tried."""
    if len(maps) < 2:
        return 0
    first, *rest = maps
    without = most_pairs(tuple(rest))
    pairs = [1 + most_pairs((*rest[:i], *rest[i + 1 :])) for i, other in enumerate(rest) if not first & other]
    return max([without, *pairs])


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(1, 255), min_size=1, max_size=8), st.integers(0, 9))
def test_pairs_and_packings_keep_their_bounds(maps: list[int], seed: int) -> None:
    rows = np.array(maps, np.uint64)[:, None]
    count = len(maps)
    used = sum(number.bit_count() for number in maps) * PAGE // 8
    found = mesh.Units(rows, np.zeros(count, np.int64), np.full(count, PAGE), used)
    saved = mesh.saved(found, 64, seed)
    assert saved.split <= most_pairs(tuple(maps)) * PAGE
    assert max(saved.split, saved.greedy) <= saved.bound
    alone = mesh.Units(rows, np.arange(count), np.full(count, PAGE), used)
    assert (mesh.saved(alone, 64, seed).split, mesh.saved(alone, 64, seed).greedy) == (0, 0)
    empty = mesh.Units(np.zeros_like(rows), np.zeros(count, np.int64), np.full(count, PAGE), 0)
    assert mesh.saved(empty, 64, seed).split == count // 2 * PAGE
    assert mesh.saved(empty, 64, seed).greedy == (count - 1) * PAGE


def moments(printed: str) -> list[str]:
    """The moments of the tables."""
    titles = [line.partition("given back of ")[2] for line in printed.splitlines() if "given back of" in line]
    return [title.split(" ", 2)[2] for title in titles]


def test_the_command(call: Call, tmp_path: Path) -> None:
    trace = halves(tmp_path / "t.hst")
    answer = call("mesh", trace, "--stops", 4)
    assert (answer.status, answer.err) == (0, "")
    assert "default: given back of" in answer.out
    assert moments(answer.out) == ["on average", "at the peak", "at the end"]
    found = json.loads(call("mesh", trace, "--design", "scan", "--json").out)
    assert [row["design"] for row in found["rows"]] == ["scan"]
    assert found["stops"][-1] == found["events"] - 1


def test_a_trace_without_events_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no events, so there is nothing to mesh"):
        mesh.mesh(written(tmp_path / "none.hst", Chunk.of(*[[]] * 6)), [load("default")])


def test_a_heap_is_looked_at_after_the_events_asked_for(call: Call, tmp_path: Path) -> None:
    """The last event is the end; the others leave average, peak and end as they are."""
    trace = halves(tmp_path / "t.hst")
    last = 4 * (PAGE // 64) - PAGE // 64 - 1
    design = changed(load("default"), "whole-refills", {"opening": "off"})
    plain, found = (mesh.mesh(trace, [design], stops=2, at=at) for at in ([], [0, last]))
    (row,), (other,) = found.rows, plain.rows
    assert (found.at, row.at[1], row.end) == ([0, last], row.end, other.end)
    assert [(one.average, one.peak, one.end) for one in row.ways] == [
        (one.average, one.peak, one.end) for one in other.ways
    ]
    for one in row.ways:
        assert one.at[1] == one.end
        assert one.at[0][:2] == [0, 0]
    answer = call("mesh", trace, "--at", 0, "--at", last)
    asked = ["after event 0", f"after event {last}"]
    assert moments(answer.out) == ["on average", "at the peak", *asked, "at the end"]
    wrong = call("mesh", trace, "--at", last + 1)
    assert (wrong.status, f"t.hst: has no event {last + 1}; expected an event of the trace" in wrong.err) == (2, True)


def test_bytes_stand_beside_the_shares(call: Call, tmp_path: Path) -> None:
    """By hand: one page of two is given back, 4 KiB."""
    design = tmp_path / "whole.toml"
    write_design(design, changed(load("default"), "whole-refills", {"opening": "off"}), [])
    answer = call("mesh", halves(tmp_path / "t.hst"), "--design", design)
    end = answer.out[answer.out.index("at the end") :].splitlines()
    (line,) = [line.split() for line in end if line.split()[:3] == ["page", "own", "flushed"]]
    assert line[3:5] == line[6:8] == line[9:11] == ["4.0", "KiB"]
