"""Library and model perform the same operations, one by one: every address and every counter agrees after each."""

import ctypes
import os
from typing import cast

import pytest
from blocks import Blocks
from covering import all_designs, covering_designs, of_each_row, rounding_that_skips, soon
from lives import Conformance, run, unused
from loaded import Loaded

from heapsmith.model.design.design import Design, changed, load

SOON = [*of_each_row(3), rounding_that_skips()]
"""The covering designs whose lives are many: the last in the default suite, all in `make thorough`."""
SEED = int(os.environ.get("HEAPSMITH_SEED", "0"))
"""What the lives of every pair of policies are drawn from: .ci/run draws a new number each time, and prints it."""
LIVES = 3 if SEED else 2
"""Lives of each of these designs; the first is the simplest that there is, whatever the number."""
KEPT: dict[str, tuple[int, ...]] = {"covering-54": (424242,), "covering-66": (424242,)}
"""By design, the numbers of lives that found a fault once."""
SELDOM = {
    *("flush", "flushed", "learned_up", "released_bytes", "releases", "retire", "run_hit"),
    *("superslabs_late", "superslabs_reused", "superslabs_unmapped", "transfer_in", "transfer_out"),
}
"""Counters that the first life of some design leaves at 0."""
SELDOM_BY_SHARDS = {"transfer_in", "transfer_out"}
"""A batch in the transfer cache of a shard waits for the threads of this shard: few short lives see one."""


@pytest.mark.parametrize("design", soon(covering_designs(), SOON[-1:], SOON), ids=lambda design: design.name)
def test_step_by_step(design: Design) -> None:
    """The rare rows of the long form's designs take more lives until each counter has moved."""
    total = run(design, examples=6 if design in SOON else 24)
    assert not unused(design, total) - (SELDOM_BY_SHARDS if design.shards else set())


@pytest.mark.parametrize("design", covering_designs(), ids=lambda design: design.name)
def test_a_few_lives_of_every_pair_of_policies(design: Design) -> None:
    """Each legal pair of rows of two fields is in one of these designs. CI draws other lives each time.

    Whatever it draws, the first life comes to each counter but those that are SELDOM met.
    """
    for number in (SEED, *KEPT.get(design.name, ())):
        try:
            assert not unused(design, run(design, LIVES, number)) - SELDOM
        except Exception as error:
            error.add_note(f"HEAPSMITH_SEED={number} repeats this; keep it: KEPT of tests/test_conformance.py")
            raise


def test_other_numbers_draw_other_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[list[int]] = []
    monkeypatch.setattr(
        Conformance, "step", lambda self, op, thread, block, *rest: drawn[-1].extend((op, thread, *rest))
    )
    for name in ("compare_bytes", "compare_counters"):
        monkeypatch.setattr(Conformance, name, lambda self: None)
    monkeypatch.setattr(Conformance, "perform", lambda self, *given: 0)
    monkeypatch.setattr(Conformance, "teardown", lambda self: None)
    for number in (1, 1, 2):
        drawn.append([])
        run(SOON[0], 2, number)
    assert drawn[0] == drawn[1] != drawn[2]


@pytest.mark.parametrize("dispatch", [pytest.param("row", marks=pytest.mark.thorough), "class"])
def test_step_by_step_by_row_and_by_class(dispatch: str) -> None:
    """Array stacks of one level and of two, and classes without any."""
    two_levels = {"kind": "two_level", "capacity": 2, "list_capacity": 4}
    fronts = [{"sizes": [32], "front": two_levels}, {"sizes": [128], "front": {"kind": "none"}}]
    small = {"sizes": [32, 64, 128], "front": {"kind": "array_stack", "capacity": 2}, "class_front": fronts}
    total = run(changed(load("two-level"), f"by-{dispatch}", {"dispatch": dispatch, **small}), examples=4)
    assert min(total[name] for name in ("hit0", "refill", "push", "flush", "direct")) > 0


class _Fake:
    """A library all of whose blocks have 32 bytes."""

    def usable_size(self, start: int) -> int:
        return 32 if start else 0


def test_blocks_that_overlap_change_or_lie_askew_are_seen() -> None:
    memory = (ctypes.c_char * 256)()
    start = -(-ctypes.addressof(memory) // 64) * 64
    blocks = Blocks(cast(Loaded, _Fake()), 16)
    blocks.born(start, 20, 32)
    for wrong, asked, alignment, words in (
        (start + 48, 32, 32, "not aligned to 32"),
        (start + 8, 16, 1, "not aligned to 16"),
        (start + 64, 33, 1, "malloc_usable_size is 32"),
        (start + 16, 32, 1, "lies in the block"),
        (start - 16, 32, 1, "reaches into"),
    ):
        with pytest.raises(AssertionError, match=words):
            blocks.born(wrong, asked, alignment)
    blocks.watch(start)
    ctypes.memset(start + 31, 0, 1)
    with pytest.raises(AssertionError, match="changed"):
        blocks.died(start)


@pytest.mark.big
@pytest.mark.parametrize("design", all_designs(), ids=lambda design: design.name)
def test_step_by_step_at_length(design: Design) -> None:
    total = run(design, examples=150)
    assert not unused(design, total)
