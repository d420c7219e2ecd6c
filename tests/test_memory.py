"""Memory from the system by hand, blocks and pages: docs/machine-rooms.md, 'prewarm', 'populate'."""

from typing import Any

import pytest
from program import RUN, Program, plain_and_compiled

from heapsmith.model.policy.front import array_stack as front_array_stack
from heapsmith.model.policy.front import none as front_none
from heapsmith.model.policy.growth import doubling as growth_doubling
from heapsmith.model.policy.populate import batches as populate_batches
from heapsmith.model.policy.populate import growing as populate_growing
from heapsmith.model.policy.prewarm import fronts as prewarm_fronts
from heapsmith.model.policy.release import budget as release_budget
from heapsmith.model.policy.slab_record import apart as slab_record_apart
from heapsmith.model.policy.slab_record import head as slab_record_head

pytestmark = [plain_and_compiled, pytest.mark.quick]


def test_a_new_heap_prepares_blocks(compiled: bool) -> None:
    prepared = [prewarm_fronts.Prepared([64], blocks=3, slabs=2), prewarm_fronts.Prepared([256], blocks=1)]
    front = front_array_stack.Params(capacity=2, refill=2, flush=1)
    program = Program(compiled, [64, 128, 256], front, prewarm=prewarm_fronts.Params(prepared))
    # Of slab 1, which was added last, come blocks 0 and 1, then 2 and 3. Blocks 2, 1 and 0 go: 3 and 2 are flushed.
    assert program.malloc("a b c", 64) == [4096, 4096 + 64, 4096 + 128]
    assert program.counts(0, "acquire", "carve", "reuse", "push", "flush", "flushed") == (2, 4, 2, 3, 2, 2)
    assert program.counts(0, "hit0", "refill", "refilled") == (1 + 2, 3, 6)
    assert program.counts(2, "acquire", "refill", "refilled", "push", "hit0") == (1, 1, 2, 1, 0)
    assert program.malloc("d", 128, thread=1) == 12288  # the second heap prepares no slab
    assert program.counts(0, "acquire", "push", "refill") == (2, 6, 5)
    program.exit(1)
    program.malloc("e", 128, thread=2)  # adopted: nothing is prepared
    assert program.counts(0, "push") == (6,)


def test_a_free_that_makes_a_heap_prepares_it(compiled: bool) -> None:
    prepared = [prewarm_fronts.Prepared([64], blocks=4)]
    front = front_array_stack.Params(capacity=4, refill=4, flush=4)
    program = Program(compiled, [64], front, prewarm=prewarm_fronts.Params(prepared))
    assert program.malloc("a b", 64) == [0, 64]
    program.free("a", thread=1)  # four blocks fill its front before; they are flushed
    assert program.totals("heaps") == (2,)
    assert program.counts(0, "push", "flush", "flushed", "hit0") == (4 + 4 + 1, 1, 4, 3 + 2 + 3)
    assert program.malloc("c", 64, thread=1) == 0


def test_prepared_blocks_where_no_slab_is_to_be_had(compiled: bool) -> None:
    slab = 1 << 21
    spans: dict[str, Any] = {"slab_span_bytes": 1 << 28, "superslab_bytes": 1 << 26, "slab_bytes": slab}
    prepared = prewarm_fronts.Params([prewarm_fronts.Prepared([slab], blocks=130)])
    program = Program(compiled, [slab], huge_bytes=slab, run_cache_bytes=0, prewarm=prepared, **spans)
    assert program.malloc("a", 5) == 0  # all 128 slabs and two runs came, and went; slab 0 last
    assert program.counts(0, "refill", "direct", "acquire", "retire") == (131, 128, 129, 128)
    assert program.totals("run_grow", "run_free", "heaps") == (2, 2, 1)


def test_committed_bytes_rise_by_batches(compiled: bool) -> None:
    fields: dict[str, Any] = {"populate": populate_batches.Params(2), "release": release_budget.Params(0, 0, 0)}
    program = Program(compiled, [1536], slab_bytes=16384, run_cache_bytes=0, **fields)
    sizes: list[int] = []
    for name in ("a", "b", "c", "d", "e", "f"):
        program.malloc(name, 1536)
        sizes += program.totals("committed")
    assert sizes == [8192] * 5 + [16384]
    assert program.malloc("g", 4096 * 3) == RUN  # top rises to 3, and 4 pages are committed
    assert program.totals("committed") == (16384 + 4 * 4096,)
    assert program.malloc("h", 4096) == RUN + 3
    assert program.totals("committed") == (16384 + 4 * 4096,)
    program.free("g")
    assert program.totals("committed", "released_bytes") == (16384 + 4096, 3 * 4096)
    assert program.malloc("i", 8192) == RUN  # two of three pages come back, no more
    assert program.totals("committed") == (16384 + 3 * 4096,)


def test_committed_bytes_rise_by_larger_batches_as_the_class_grows(compiled: bool) -> None:
    populate = populate_growing.Params(pages=4, share=4)
    program = Program(compiled, [4096], front_none.Params(), slab_bytes=16384, populate=populate)
    sizes: list[int] = []
    for name in range(4 * 9):
        program.malloc(f"n{name}", 4096)
        sizes += program.totals("committed")
    rises = [after - before for before, after in zip([0, *sizes], sizes, strict=False) if after > before]
    # Slabs of 4 pages: with one slab, with two or three, with four and more.
    assert rises == [4096] * 4 + [8192] * 4 + [16384] * 6
    assert program.malloc("large", 20_000) == RUN
    assert program.totals("committed") == (9 * 16384 + 5 * 4096,)  # runs rise by pages


def test_superslabs_become_usable_in_doubling_steps(compiled: bool) -> None:
    fields: dict[str, Any] = {"slab_bytes": 1 << 20, "superslab_bytes": 1 << 20, "slab_span_bytes": 1 << 28}
    growth = growth_doubling.Params(2 << 20, 64 << 20)
    program = Program(compiled, [1 << 20], huge_bytes=1 << 20, growth=growth, **fields)
    calls: list[int] = []
    for place in range(256):
        program.malloc(f"n{place}", 1 << 20)
        calls.append(program.simulator.statistics().work["memory_calls"])
    rises = [place for place in range(256) if place == 0 or calls[place] > calls[place - 1]]
    # Steps of 2, 4, 8, 16, 32, 64, 64 and 64 superslabs; the span has no room for another 64, so the rest come singly.
    assert rises == [0, 2, 6, 14, 30, 62, 126, 190, 254, 255]


RECORDS = [
    slab_record_apart.Params(),
    slab_record_apart.Params("line"),
    slab_record_apart.Params("packed", "record"),
    slab_record_head.Params("line", "record"),
]


@pytest.mark.parametrize("records", RECORDS, ids=repr)
def test_slab_records_change_no_decision(compiled: bool, records: Any) -> None:
    """With superslabs of 4 slabs of a page, the records take one slab."""
    program = Program(compiled, [64, 2048], slab_record=records)
    head = 4096 if isinstance(records, slab_record_head.Params) else 0
    program.malloc(" ".join(f"n{i}" for i in range(64)), 64)
    program.free("n63 n1 n40")
    assert program.malloc("a b c d", 64) == [head + place for place in (64, 40 * 64, 63 * 64, 4096)]
    assert program.malloc("e f", 2048) == [head + 8192, head + 8192 + 2048]
    program.free("e f")  # the slab was exhausted: it hangs on the list when it empties
    assert program.counts(1, "acquire", "carve", "reuse", "retire") == (1, 2, 0, 1)


def test_a_superslab_begins_with_its_records(compiled: bool) -> None:
    program = Program(compiled, [4096], superslab_bytes=1 << 18, slab_record=slab_record_head.Params())
    # 64 records of 80 bytes take two slabs of a page. Of the first superslab 62 slabs are handed out.
    found = program.malloc(" ".join(f"n{place}" for place in range(63)), 4096)
    assert found == [*range(8192, 1 << 18, 4096), (1 << 18) + 8192]
    assert program.totals("superslabs", "slabs", "committed") == (2, 63, 63 * 4096)


def test_a_superslab_on_huge_pages_commits_no_records(compiled: bool) -> None:
    fields: dict[str, Any] = {"slab_bytes": 1 << 19, "superslab_bytes": 1 << 21, "thp": "always"}
    program = Program(compiled, [64], slab_record=slab_record_head.Params(), **fields)
    assert program.malloc("a", 64) == 1 << 19
    assert program.totals("committed") == (3 << 19,)


@pytest.mark.parametrize("block_index", [None, "division", "shift"])
def test_the_way_to_a_block_index_changes_nothing(compiled: bool, block_index: str | None) -> None:
    program = Program(compiled, [64, 2048], block_index=block_index)
    program.malloc(" ".join(f"n{i}" for i in range(64)), 64)
    program.free("n63 n1 n40")
    assert program.malloc("a b c d", 64) == [64, 40 * 64, 63 * 64, 4096]
    assert program.malloc("e f g", 2048) == [8192, 8192 + 2048, 12288]
