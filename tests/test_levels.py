"""Fronts of several levels against docs/machine-rooms.md, 'levels', by hand; their short names, refusals and texts."""

from pathlib import Path
from typing import Any

import pytest
from covering import soon
from lives import run
from program import Program, plain_and_compiled

from heapsmith.model.design.choices import Front, derive_front
from heapsmith.model.design.design import Design, changed, load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.design.toml import design_text
from heapsmith.model.errors import BadInput
from heapsmith.model.policy.front import hot_over_list, levels, ring_over_list, two_level
from heapsmith.model.policy.front.levels import Level
from heapsmith.model.search.front_budget import resized
from heapsmith.model.search.space import numbers_of

COUNTS = ("hit0", "hit1", "refill", "refilled", "push", "spill", "flush", "flushed")
STACK, RING, LIST = "array_stack", "fifo_ring", "linked_list"
THREE = (Level(STACK, 1), Level(STACK, 2, spill=1), Level(LIST, 3))


def nine_freed(compiled: bool, front: levels.Params) -> Program:
    """A program whose nine blocks of 16 bytes, from address 0 on, are freed in their order."""
    program = Program(compiled, [16], front)
    assert program.malloc("a b c d e f g h i", 16) == [16 * place for place in range(9)]
    program.free("a b c d e f g h i")
    return program


@plain_and_compiled
class TestMoves:
    def test_a_hot_stack_over_a_magazine_over_a_list(self, compiled: bool) -> None:
        """a is hot. b, c fill the magazine; d lets b leave for the list, e c, f d. The list holds 3: g flushes the
        newest, 48, before e leaves for it, and h 64, before f does. i flushes 80, then g leaves.
        """
        program = nine_freed(compiled, levels.Params(THREE, hot=True, refill=1, flush=1))
        assert program.counts(0, *COUNTS) == (0, 0, 9, 9, 9, 14, 3, 3)
        # Hot: 0. The magazine: 128, 112. Its level below: 96, which moves up, then 32 and 16. Then the store's.
        assert program.malloc("j k l m n o p", 16) == [0, 128, 112, 96, 32, 16, 48]
        assert program.counts(0, "hit0", "hit1", "refill") == (1, 5, 10)
        assert program.totals("hit2", "hit3") == (3, 0)

    def test_a_ring_over_a_stack(self, compiled: bool) -> None:
        """The ring is 0 16; c lets 0 leave, d 16, e 32. The stack holds 3: f flushes 0, the oldest."""
        front = levels.Params((Level(RING, 2, spill=1), Level(STACK, 3, promote=2)), refill=1, flush=1)
        program = nine_freed(compiled, front)
        assert program.counts(0, *COUNTS) == (0, 0, 9, 9, 9, 7, 4, 4)
        # The ring: 112, 128. The stack is 64 80 96: 96 and 80 move up, then 64. Then what was flushed.
        assert program.malloc("j k l m n o", 16) == [112, 128, 96, 80, 64, 0]
        assert program.counts(0, "hit0", "hit1", "refill") == (3, 2, 10)

    def test_four_levels(self, compiled: bool) -> None:
        """Each level holds one block, and the last takes what is left: the oldest lie deepest."""
        below = (Level(LIST, 1), Level(RING, 1), Level(STACK, 9))
        program = nine_freed(compiled, levels.Params((Level(LIST, 1), *below), refill=1))
        assert program.counts(0, "spill", "flush") == (8 + 7 + 6, 0)
        assert program.malloc("j k l m", 16) == [128, 112, 96, 80]
        assert program.counts(0, "hit0", "hit1", "refill") == (1, 3, 9)
        assert program.totals("hit2", "hit3") == (1, 1)

    def test_drain_order_at_thread_exit(self, compiled: bool) -> None:
        """One block per slab, so that the last given comes first from the pool: level 2, a list, gives it last."""
        front = levels.Params((Level(STACK, 1), Level(RING, 1), Level(LIST, 4)), refill=1)
        program = Program(compiled, [4096], front)
        assert program.malloc("a b c d", 4096) == [0, 4096, 8192, 12288]
        program.free("a b c d")  # level 0: d; level 1: c; level 2: b over a
        program.exit(0)
        assert program.counts(0, "push", "flush", "direct", "retire") == (4, 0, 0, 4)
        assert program.malloc("e f g h", 4096) == [0, 4096, 8192, 12288]

    def test_frees_alone_fill_it(self, compiled: bool) -> None:
        program = nine_freed(compiled, levels.Params((Level(STACK, 4), Level(STACK, 8)), refill="never"))
        assert program.counts(0, "refill", "refilled", "flush") == (9, 9, 0)
        assert program.malloc("j k l", 16) == [128, 112, 96]


SHORT: list[tuple[Front, levels.Params]] = [
    (two_level.Params(8, 20, spill=3), levels.Params((Level(STACK, 8, spill=3), Level(LIST, 20)))),
    (
        ring_over_list.Params(8, 20, promote=2, flush=9),
        levels.Params((Level(RING, 8), Level(LIST, 20, promote=2)), flush=9),
    ),
    (hot_over_list.Params(4, 20, refill=5), levels.Params((Level(STACK, 4), Level(LIST, 20)), hot=True, refill=5)),
]


@pytest.mark.quick
@pytest.mark.parametrize(("short", "whole"), SHORT, ids=["two_level", "ring_over_list", "hot_over_list"])
def test_a_short_name_is_a_list_of_levels(short: Front, whole: levels.Params) -> None:
    for stride in (16, 256, 8192):
        assert derive_front(short, stride) == derive_front(whole, stride)
    assert not make_plan(Design("x", [16], front=whole)).has_levels_table


REFUSED = [
    ("levels = [{kind = 'array_stack'}]", "front.levels: 1; expected 2 to 4"),
    ("levels = [" + "{kind = 'fifo_ring'}, " * 5 + "]", "front.levels: 5; expected 2 to 4"),
    (
        "hot = true\nlevels = [{kind = 'fifo_ring'}, {kind = 'array_stack'}]",
        "levels[0].kind: 'fifo_ring' cannot be hot",
    ),
    ("levels = [{kind = 'array_stack', promote = 2}, {kind = 'fifo_ring'}]", "front.levels[0].promote: no level lies"),
    ("levels = [{kind = 'array_stack'}, {kind = 'fifo_ring', spill = 2}]", "front.levels[1].spill: no level lies"),
    (
        "levels = [{kind = 'array_stack'}, {kind = 'fifo_ring', capacity = 0}]",
        "levels[1].capacity: 0 is not a capacity",
    ),
    (
        "levels = [{kind = 'array_stack', spill = 9}, {kind = 'fifo_ring', capacity = 8}]",
        "front.levels[0].spill: 9 is not a batch; expected 1 to the capacity, 8",
    ),
    ("levels = [{kind = 'array_stack'}, {kind = 'bag'}]", "front.levels[1].kind"),
    ("hot = true\nlevels = [{kind = 'array_stack'}, {kind = 'linked_list', promote = 3}]", "levels[1].promote: single"),
]


@pytest.mark.quick
@pytest.mark.parametrize(("text", "words"), REFUSED)
def test_what_a_list_of_levels_cannot_be(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text(f"name = 'x'\nsizes = [16]\n[front]\nkind = 'levels'\n{text}\n")
    with pytest.raises(BadInput) as refusal:
        load(str(path))
    assert words in str(refusal.value)


@pytest.mark.quick
def test_a_design_file_keeps_levels(tmp_path: Path) -> None:
    design = load("levels")
    path = tmp_path / "again.toml"
    path.write_text(design_text(design))
    assert load(str(path)) == design


@pytest.mark.quick
def test_what_comes_from_above_always_fits() -> None:
    """Batches rise from level to level, and no batch is more than a level below holds."""
    for capacities in ((64, 64, 8), (1, 200, 3, 100), (9, 4), (2, 2, 2, 2)):
        front = levels.Params(tuple(Level(STACK, capacity) for capacity in capacities))
        plan = derive_front(front, 16)
        outs = [plan.spill, *(level.out for level in plan.levels)]
        assert outs == sorted(outs)
        assert all(out <= min(capacities[place:]) for place, out in enumerate(outs))


@pytest.mark.quick
def test_the_search_steps_through_levels_and_gives_them_less_room() -> None:
    front = levels.Params()
    assert any(other.levels[1].capacity != front.levels[1].capacity for other in numbers_of(front))
    assert any(len(other.levels) < len(front.levels) for other in numbers_of(front))
    for blocks in (3, 10, 300):
        plan = derive_front(resized(front, blocks, 16), 16)
        assert plan.capacity + plan.list_capacity == blocks


def listed(*kinds: str) -> dict[str, Any]:
    """A front of levels of four blocks as a design file has it."""
    return {"kind": "levels", "levels": [{"kind": kind, "capacity": 4} for kind in kinds]}


HOT = {**listed(STACK, STACK, LIST), "hot": True, "refill": 2}
OF_EACH_KIND = [
    {"sizes": [16], "front": HOT},
    {"sizes": [32], "front": listed(RING, STACK, LIST)},
    {"sizes": [64], "front": listed(LIST, LIST, RING, STACK)},
    {"sizes": [128], "front": {"kind": "two_level", "capacity": 2, "list_capacity": 4}},
]


REMOTES = ("local_cache", "owner_list", "owner_batch")


@pytest.mark.thorough
@pytest.mark.parametrize("remote", soon(REMOTES, REMOTES[1:2], REMOTES))
def test_library_and_model_agree_step_by_step(remote: str) -> None:
    fields = {"sizes": [16, 32, 64, 128], "class_front": OF_EACH_KIND, "remote": remote, "shards": "off"}
    total = run(changed(load("default"), f"levels-{remote}", fields), examples=6)
    assert min(total[name] for name in ("hit0", "hit1", "hit2", "spill", "flush")) > 0


@pytest.mark.thorough
def test_a_refill_past_a_hot_level_leaves_the_counts_of_a_list_below() -> None:
    """The list's counts lie behind the two slots of level 0, and a refill brings more than two blocks."""
    front = {"kind": "levels", "hot": True, "refill": 8}
    front |= {"levels": [{"kind": kind, "capacity": room} for kind, room in ((STACK, 2), (LIST, 16), (RING, 4))]}
    design = changed(load("default"), "hot-over-a-long-list", {"sizes": [16, 64], "front": front, "class_front": []})
    total = run(design, examples=6)
    assert min(total[name] for name in ("hit0", "hit1", "refilled", "spill")) > 0
