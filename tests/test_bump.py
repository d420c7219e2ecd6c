"""Fronts that bump a pointer through a slab against docs/machine-rooms.md, 'bump', by hand; what is refused."""

from pathlib import Path

import pytest
from covering import soon
from lives import run
from program import Program, plain_and_compiled

from heapsmith.model.design.choices import Front, derive_front
from heapsmith.model.design.design import Design, changed, load
from heapsmith.model.errors import BadInput
from heapsmith.model.policy.front import bump, levels
from heapsmith.model.policy.front.levels import Level

COUNTS = ("hit0", "hit1", "refill", "refilled", "push", "spill", "flush", "flushed", "direct", "carve", "reuse")
STACK, RING, LIST, BUMP = "array_stack", "fifo_ring", "linked_list", "bump"


@plain_and_compiled
class TestMoves:
    def test_alone_it_takes_fresh_blocks_and_gives_freed_ones_to_the_store(self, compiled: bool) -> None:
        """The second stretch is 64 to 112. Only behind it the slab's freed block serves, alone."""
        program = Program(compiled, [16], bump.Params(4))
        assert program.malloc("a b c d e f", 16) == [0, 16, 32, 48, 64, 80]
        program.free("a")
        assert program.malloc("g h i j", 16) == [96, 112, 0, 128]
        assert program.counts(0, *COUNTS) == (3 + 3, 0, 4, 4 + 4 + 1 + 4, 0, 0, 0, 0, 1, 12, 1)

    def test_a_stretch_ends_with_its_slab(self, compiled: bool) -> None:
        """Four blocks of 1,024 bytes in a slab: three are a stretch, then one, then three of the next."""
        program = Program(compiled, [1024], bump.Params(3))
        assert program.malloc("a b c d e", 1024) == [0, 1024, 2048, 3072, 4096]
        assert program.counts(0, "refill", "refilled", "acquire", "hit0") == (3, 7, 2, 2)

    def test_a_stretch_goes_to_the_store_at_thread_exit(self, compiled: bool) -> None:
        """48 is given last, so that a list has it first."""
        program = Program(compiled, [16], bump.Params(4), freed_blocks="list")
        program.malloc("a", 16)
        program.exit(0)
        assert program.malloc("b c", 16, thread=1) == [48, 32]
        assert program.counts(0, "carve", "reuse", "flush", "direct") == (4, 2, 0, 0)

    def test_two_threads_share_a_slab_stretch_by_stretch(self, compiled: bool) -> None:
        program = Program(compiled, [16], bump.Params(2))
        assert program.malloc("a b c", 16) == [0, 16, 32]
        assert program.malloc("d e f", 16, thread=1) == [64, 80, 96]
        assert program.malloc("g h", 16) == [48, 128]

    def test_below_a_stack_it_promotes_and_the_stack_flushes(self, compiled: bool) -> None:
        """Two of eight come up at a time. The stack holds four: the fifth free flushes 0 and 16, the seventh 32, 48."""
        program = Program(compiled, [16], levels.Params((Level(STACK, 4), Level(BUMP, 8)), refill=3, flush=2))
        assert program.malloc("a b c d e f g h", 16) == [16 * place for place in range(8)]
        assert program.counts(0, *COUNTS) == (4, 3, 1, 8, 0, 0, 0, 0, 0, 8, 0)
        program.free("a b c d e f g h")
        assert program.counts(0, *COUNTS) == (4, 3, 1, 8, 8, 0, 2, 4, 0, 8, 0)
        # The stack, then three freed blocks of the slab by one refill, then the last of them and two fresh ones.
        assert program.malloc("i j k l m n o p q", 16) == [112, 96, 80, 64, 0, 16, 32, 48, 128]
        assert program.counts(0, "hit0", "hit1", "refill", "refilled", "reuse") == (11, 3, 3, 8 + 3 + 3, 4)

    def test_below_a_ring_over_a_list(self, compiled: bool) -> None:
        """A promotion brings two to the list and one to the ring; frees spill to the list, which flushes."""
        front = levels.Params((Level(RING, 2), Level(LIST, 2), Level(BUMP, 6, promote=2)), flush=2)
        program = Program(compiled, [16], front)
        assert program.malloc("a b c", 16) == [0, 16, 32]
        assert program.counts(0, *COUNTS) == (0, 2, 1, 6, 0, 0, 0, 0, 0, 6, 0)
        assert program.totals("hit2", "hit3") == (1, 0)
        assert program.malloc("d e f", 16) == [48, 64, 80]
        program.free("a b c d e")  # 0 leaves for the list, 16, then both, the newest first
        assert program.counts(0, "spill", "flush", "flushed") == (3, 1, 2)
        assert program.malloc("g h i", 16) == [48, 64, 32]

    def test_below_a_list(self, compiled: bool) -> None:
        program = Program(compiled, [16], levels.Params((Level(LIST, 2), Level(BUMP, 3, promote=2)), flush=1))
        assert program.malloc("a b c d", 16) == [0, 16, 32, 48]
        program.free("a b c")  # the list is 64, 0; 0 leaves, then 16
        assert program.counts(0, *COUNTS) == (1, 1, 2, 6, 3, 0, 2, 2, 0, 6, 0)
        assert program.malloc("e f g h i", 16) == [32, 64, 80, 0, 16]

    def test_below_a_hot_stack_over_a_list(self, compiled: bool) -> None:
        """Refills go to level 1, and so do promotions."""
        front = levels.Params((Level(STACK, 1), Level(LIST, 4), Level(BUMP, 4, promote=1)), hot=True, flush=2)
        program = Program(compiled, [16], front)
        assert program.malloc("a b c", 16) == [0, 16, 32]
        program.free("a b")
        assert program.malloc("d e f", 16) == [0, 16, 48]
        assert program.counts(0, "hit0", "hit1", "refill", "spill") == (1, 4, 1, 1)
        assert program.totals("hit2", "hit3") == (3, 0)

    def test_above_a_list_fresh_blocks_come_first(self, compiled: bool) -> None:
        """The list takes freed blocks at once, the newest leave it; a miss takes one of it."""
        program = Program(compiled, [16], levels.Params((Level(BUMP, 4), Level(LIST, 2)), flush=1))
        assert program.malloc("a b", 16) == [0, 16]
        program.free("a b")
        assert program.malloc("c d e f g", 16) == [32, 48, 16, 0, 64]
        assert program.counts(0, *COUNTS) == (3, 2, 2, 8, 2, 0, 0, 0, 0, 8, 0)
        program.free("c d e")  # 48 leaves
        assert program.counts(0, "push", "spill", "flush", "flushed") == (5, 0, 1, 1)

    def test_what_was_freed_of_the_slab_serves_before_a_stretch(self, compiled: bool) -> None:
        program = Program(compiled, [16], levels.Params((Level(BUMP, 2), Level(STACK, 1)), flush=1))
        program.malloc("a b c d", 16)
        program.free("a b")
        assert program.malloc("e f g", 16) == [16, 0, 64]
        assert program.counts(0, "reuse", "carve", "flush") == (1, 6, 1)


def _levels(*found: Level, **fields: object) -> Front:
    return levels.Params(found, **fields)  # type: ignore[arg-type]


@pytest.mark.quick
def test_a_bump_needs_no_slots_and_is_bounded_by_bytes() -> None:
    for front in (bump.Params(64, max_bytes=1000), _levels(Level(BUMP, 64), Level(RING, 4), max_bytes=1000)):
        plan = derive_front(front, 48)
        assert (plan.capacity, plan.refill, plan.has_slots) == (20, 1, False)
    plan = derive_front(_levels(Level(STACK, 4), Level(BUMP, 64), max_bytes=1000), 48)
    assert (plan.stretch, plan.stretch_depth, plan.slots_below) == (20, 1, 2)
    assert (plan.spill, plan.flush, plan.levels[0].out) == (2, 2, 0)


REFUSED = [
    (
        "levels = [{kind = 'fifo_ring'}, {kind = 'bump'}, {kind = 'linked_list'}]",
        "front.levels[1].kind: 'bump' between",
    ),
    ("levels = [{kind = 'bump'}, {kind = 'bump'}]", "front.levels[1].kind: 'bump' between"),
    ("levels = [{kind = 'bump'}, {kind = 'fifo_ring'}, {kind = 'bump'}]", "levels[2].kind: 'bump' between"),
    ("hot = true\nlevels = [{kind = 'array_stack'}, {kind = 'bump'}]", "front.hot: level 0 right above 'bump'"),
    ("hot = true\nlevels = [{kind = 'bump'}, {kind = 'fifo_ring'}]", "levels[0].kind: 'bump' cannot be hot"),
    ("refill = 'never'\nlevels = [{kind = 'fifo_ring'}, {kind = 'bump'}]", "front.refill: 'never' cannot go with"),
    (
        "refill = 2\nlevels = [{kind = 'bump'}, {kind = 'fifo_ring'}]",
        "front.refill: single freed blocks go past 'bump'",
    ),
    ("levels = [{kind = 'bump', spill = 2}, {kind = 'fifo_ring'}]", "front.levels[0].spill: single freed"),
    ("levels = [{kind = 'bump'}, {kind = 'fifo_ring', promote = 2}]", "front.levels[1].promote: single freed"),
    ("levels = [{kind = 'fifo_ring', spill = 2}, {kind = 'bump'}]", "front.levels[0].spill: 'bump' below takes no"),
    ("levels = [{kind = 'bump', promote = 2}, {kind = 'fifo_ring'}]", "front.levels[0].promote: no level lies above"),
    ("levels = [{kind = 'bump'}]", "front.levels: 1; expected 2 to 4 (a front of one level is that level)"),
    ("levels = [{kind = 'fifo_ring', capacity = 4}, {kind = 'bump'}]\nflush = 5", "front.flush: 5 is not a batch"),
]


@pytest.mark.quick
@pytest.mark.parametrize(("text", "words"), REFUSED)
def test_where_a_bump_cannot_be(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text(f"name = 'x'\nsizes = [16]\n[front]\nkind = 'levels'\n{text}\n")
    with pytest.raises(BadInput) as refusal:
        load(str(path))
    assert words in str(refusal.value)


@pytest.mark.quick
def test_a_bump_is_of_threads() -> None:
    assert "front" in str(Design("x", [16], front=bump.Params(), heaps="processor", run_cache_bytes=0).why_not_valid())


def _front(*kinds: str, **fields: object) -> dict[str, object]:
    """A front of levels of four blocks as a design file has it."""
    return {"kind": "levels", "levels": [{"kind": kind, "capacity": 4} for kind in kinds], **fields}


OF_EACH_KIND = [
    {"sizes": [16], "front": {"kind": "bump", "capacity": 5}},
    {"sizes": [32], "front": _front(STACK, BUMP, refill=2)},
    {"sizes": [48], "front": _front(RING, BUMP, flush=3)},
    {"sizes": [64], "front": _front(LIST, BUMP)},
    {"sizes": [128], "front": _front(BUMP, LIST, RING)},
    {"sizes": [256], "front": _front(STACK, LIST, RING, BUMP, hot=True)},
    {"sizes": [512], "front": _front(RING, STACK, BUMP)},
    {"sizes": [1024], "front": _front(BUMP, STACK)},
]
DESIGNS: list[dict[str, object]] = [
    {"shards": "off"},
    {"remote": "owner_list", "shards": "off", "freed_blocks": "list", "classifier": "header"},
    {"remote": "owner_batch", "shards": "off", "hardening": {"kind": "full", "quarantine": 3}, "dispatch": "class"},
    {"slab_choice": "scan", "classifier": "byte_header", "rounding": {"kind": "larger", "factor": 2.0}},
    {"freed_blocks": "discarded", "slab_choice": "fullest_first"},
]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "fields", soon(DESIGNS, DESIGNS[3:4], DESIGNS), ids=["default", "owner", "hardened", "lent", "discarded"]
)
def test_library_and_model_agree_step_by_step(fields: dict[str, object]) -> None:
    sizes = [rule["sizes"][0] for rule in OF_EACH_KIND]  # type: ignore[index]
    base = load("default")
    design = changed(base, "bumps", {"sizes": sizes, "class_front": OF_EACH_KIND, "slab_bytes": 4096, **fields})
    total = run(design, examples=6)
    assert min(total[name] for name in ("hit0", "hit1", "hit2", "spill", "flush", "direct")) > 0
