"""Histories of heaps: bands against each event, maps against each block, lives against a reader's own count."""

from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from covering import covering_designs, of_each_row, soon
from nasty import nasty_trace
from traces import random_chunk, random_trace, trace_of

from heapsmith.model.design.design import Design, load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.errors import BadInput
from heapsmith.model.heap.events import place_of
from heapsmith.model.heap.ledger import ledger
from heapsmith.model.heap.simulator import Simulator
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import HUGE_CODE, RUN_CODE
from heapsmith.model.predict import history
from heapsmith.model.predict.address_map import AddressMap, used_by
from heapsmith.model.predict.history import histories
from heapsmith.model.trace.lives import Lives
from heapsmith.model.trace.reader import Op

SOON = of_each_row(3)
EVENTS = 2500


def live_on_map(simulator: Simulator, drawn: AddressMap, places: list[int]) -> tuple[list[int], Counter[int]]:
    """The columns in which live blocks begin, and the bytes of live blocks by column, block by block."""
    state, slab_bytes = simulator.state, simulator.plan.slab_bytes
    columns, live = [], Counter[int]()
    for handle in (int(block) for block in state.blocks["handle"] if 0 <= block < HUGE_CODE):
        place = place_of(state, handle)
        if handle >= RUN_CODE:
            at = drawn.slab_bytes + place - layout.RUNS
            size = int(state.pages["run"][handle - RUN_CODE]) * 4096
        else:
            at = places.index(place // slab_bytes) * slab_bytes + place % slab_bytes
            size = int(state.classes["stride"][handle & layout.CLASS_MASK])
        columns.append(at // drawn.column_bytes)
        for column in range(at // drawn.column_bytes, (at + size - 1) // drawn.column_bytes + 1):
            begin, end = column * drawn.column_bytes, (column + 1) * drawn.column_bytes
            live[column] += min(at + size, end) - max(at, begin)
    return columns, live


@pytest.mark.parametrize("design", soon(covering_designs(), SOON), ids=lambda design: design.name)
def test_maps_show_each_block_and_add_up_to_the_ledger(design: Design) -> None:
    plan = make_plan(design)
    chunk = nasty_trace(plan, seed=5).part(0, EVENTS)
    whole = Simulator(plan)
    whole.feed(chunk)
    used = used_by(whole)
    drawn = AddressMap(plan, used, 64)
    simulator, lives = Simulator(plan), Lives(int(chunk.block.max()) + 1, 4)
    for first in range(0, EVENTS, 500):
        part = chunk.part(first, first + 500)
        simulator.feed(part)
        lives.feed(part)
        cell, held = drawn.of(simulator, lives.born), ledger(simulator)
        columns, live = live_on_map(simulator, drawn, used.places.tolist())
        assert cell.live.tolist() == [live[column] for column in range(drawn.columns)]
        assert cell.blocks.tolist() == [columns.count(column) for column in range(drawn.columns)]
        assert cell.idle.sum() == held.fronts + held.transfer_cache
        elsewhere = held.slabs_ahead + held.pages_ahead + held.huge_cache + huge_bytes(simulator)
        assert cell.committed.sum() == held.committed - elsewhere
        assert (cell.live + cell.idle <= cell.committed).all()
        assert (cell.committed <= drawn.column_bytes).all()


def huge_bytes(simulator: Simulator) -> int:
    """The bytes of live blocks with a mapping of their own."""
    state = simulator.state
    sizes = [int(asked) for handle, asked in state.blocks if handle >= HUGE_CODE]
    return sum(max(0 if state.live_map else 1, -(-size // 4096)) * 4096 for size in sizes)


def test_oldest_block_of_a_column_is_the_one_born_first() -> None:
    """Block by block, on columns of a page."""
    plan = make_plan(load("lean"))
    chunk = random_chunk(2000, 3, max_size=600)
    simulator, lives = Simulator(plan), Lives(int(chunk.block.max()) + 1, 1)
    for follower in (simulator, lives):
        follower.feed(chunk)
    drawn = AddressMap(plan, used_by(simulator), 1000)
    cell = drawn.of(simulator, lives.born)
    state = simulator.state
    first: dict[int, tuple[int, int]] = {}
    for block, handle in enumerate(state.blocks["handle"].tolist()):
        if 0 <= handle < RUN_CODE:
            slab = int(np.searchsorted(used_by(simulator).places, state.slabs["place"][handle >> layout.SLAB_SHIFT]))
            at = slab * plan.slab_bytes + place_of(state, handle) % plan.slab_bytes
            column = at // drawn.column_bytes
            first[column] = min(first.get(column, (1 << 60, -1)), (int(lives.born[block]), block))
    assert first
    assert {column: block for column, block in enumerate(cell.oldest.tolist()) if block >= 0} == {
        column: block for column, (_, block) in first.items()
    }


def test_bands_are_those_of_each_event(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Least, most and last of each pixel, event by event; ledgers and classes at the stops."""
    monkeypatch.setattr(history, "PIXELS", 37)
    monkeypatch.setattr(history, "STOPS", 5)
    path = random_trace(tmp_path / "t.hst", 1500, 8, 3, 400, cross_thread=0.2, max_size=60_000)
    chunk = random_chunk(1500, 8, 3, cross_thread=0.2, max_size=60_000)
    designs = [load("lean"), load("default")]
    found = histories(path, designs)
    assert found.events[-1] == 1499
    assert len(found.events) == 37
    assert found.time_ns == [int(chunk.time_ns[event]) for event in found.events]
    assert [found.events[pixel] for pixel in found.stops] == [
        found.events[number * 37 // 5 - 1] for number in range(1, 6)
    ]
    for design, row in zip(designs, found.rows, strict=True):
        simulator = Simulator(make_plan(design))
        asked, committed, ledgers = [0], [0], []
        for event in range(1500):
            simulator.feed(chunk.part(event, event + 1))
            asked.append(simulator.state.live_bytes)
            committed.append(simulator.state.committed)
            if event in {found.events[pixel] for pixel in found.stops}:
                ledgers.append(ledger(simulator))
        begun = [0, *(end + 1 for end in found.events)]
        for band, every in ((found.asked, asked), (row.committed, committed)):
            pixels = [every[first : last + 1] for first, last in pairwise(begun)]
            assert band.last == [pixel[-1] for pixel in pixels]
            least, within = ([best(pixel) for pixel in pixels] for best in (min, max))
            assert all(low <= at_ends for low, at_ends in zip(band.low, least, strict=True))
            assert all(high >= at_ends for high, at_ends in zip(band.high, within, strict=True))
            if band is found.asked:
                assert (band.low, band.high) == (least, within)
        assert row.ledgers == ledgers
        assert max(row.committed.high) == row.simulated.committed_peak
        asked_small = row.classes.asked.sum(axis=1).tolist()
        assert all(asked <= held.asked for asked, held in zip(asked_small, ledgers, strict=True))


def test_resident_bytes_need_hardware(tmp_path: Path) -> None:
    assert histories(trace_of(tmp_path / "t.hst", [64] * 9), [load("lean")]).rows[0].resident is None


def test_lives_count_each_death() -> None:
    chunk = random_chunk(4000, 21, 40, cross_thread=0.3)
    lives = Lives(int(chunk.block.max()) + 1, 40)
    for first in range(0, 4000, 333):
        lives.feed(chunk.part(first, first + 333))
    born: dict[int, tuple[int, int, int]] = {}
    lifetimes, passed = Counter[tuple[int, int]](), Counter[tuple[int, int]]()
    for event, (op, thread, block, size) in enumerate(zip(*chunk[:4], strict=True)):
        if op == Op.REALLOC:
            born[block] = (int(size), *born[block][1:])
        elif op < Op.FREE:
            born[block] = int(size), event, min(int(thread), 31)
        elif op <= Op.FREE_SIZED:
            last_size, first, by = born.pop(block)
            lifetimes[last_size.bit_length(), (event - first).bit_length()] += 1
            passed[by, min(int(thread), 31)] += 1
    assert {tuple(map(int, at)): int(lives.lifetimes[tuple(at)]) for at in np.argwhere(lives.lifetimes)} == lifetimes
    assert {tuple(map(int, at)): int(lives.passed[tuple(at)]) for at in np.argwhere(lives.passed)} == passed
    live = np.zeros(int(chunk.block.max()) + 1, np.bool_)
    live[list(born)] = True
    sizes = Counter(size.bit_length() for size, _, _ in born.values())
    assert {k: n for k, n in enumerate(lives.alive_by_size(live).tolist()) if n} == sizes


def test_empty_trace_is_refused(tmp_path: Path) -> None:
    from heapsmith.model.trace.reader import TraceWriter

    with TraceWriter(tmp_path / "t.hst", command=[], source="test") as writer:
        writer.close()
    with pytest.raises(BadInput, match=r"t\.hst: no allocation, so there is nothing to show"):
        histories(tmp_path / "t.hst", [load("lean")])
