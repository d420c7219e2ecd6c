"""Frees by other threads, by hand: docs/machine-rooms.md, 'remote': local cache, drain order and interval."""

from types import ModuleType

import pytest
from program import Program, plain_and_compiled

from heapsmith.model.design.design import Design
from heapsmith.model.policy.front import array_stack as front_array_stack
from heapsmith.model.policy.front import owned_slab as front_owned_slab
from heapsmith.model.policy.front import two_level as front_two_level
from heapsmith.model.policy.prewarm import resident_slabs as prewarm_resident_slabs
from heapsmith.model.policy.release import keep as release_keep
from heapsmith.model.policy.remote import owner_batch, owner_list, owner_mutex, owner_queue

pytestmark = [plain_and_compiled, pytest.mark.quick]


def test_local_cache(compiled: bool) -> None:
    program = Program(compiled, [16], front_array_stack.Params(capacity=4, refill=2))
    assert program.malloc("a b", 16, thread=0) == [0, 16]
    assert program.malloc("c", 16, thread=1) == 32
    program.free("a", thread=1)
    assert program.malloc("d", 16, thread=1) == 0
    assert program.malloc("e", 16, thread=1) == 48
    assert program.counts(0, "push", "remote", "drained", "direct") == (1, 0, 0, 0)


def test_abandoned_heaps_are_adopted_last_first(compiled: bool) -> None:
    program = Program(compiled, [16], remote="owner_list")
    for thread in range(3):
        assert program.malloc(f"a{thread}", 16, thread=thread) == 4096 * thread
    program.exit(0)
    program.exit(2)
    assert program.malloc("b", 16, thread=5) == 2 * 4096 + 16
    assert program.malloc("c", 16, thread=6) == 16
    assert program.malloc("d", 16, thread=7) == 3 * 4096
    assert program.totals("heaps", "adoptions") == (4, 2)


@pytest.mark.parametrize("pool", [None, "lock_free_lists", "lock_free_claims"])
def test_a_pool_without_a_lock_hands_out_the_same_slabs(compiled: bool, pool: str | None) -> None:
    """Slabs of one block: threads retire and acquire them; a superslab has four."""
    program = Program(compiled, [4096], remote="owner_list", pool=pool, release=release_keep.Params())
    assert program.malloc("a b", 4096, thread=0) == [0, 4096]
    assert program.malloc("c", 4096, thread=1) == 8192
    program.free("b a", thread=0)
    program.free("c", thread=1)
    assert program.malloc("d e", 4096, thread=1) == [8192, 0]
    assert program.malloc("f g h", 4096, thread=0) == [4096, 12288, 16384]
    assert program.totals("superslabs", "slabs") == (2, 5)
    assert program.counts(0, "acquire", "retire") == (8, 3)


def test_a_drain_of_a_part_keeps_the_rest(compiled: bool) -> None:
    """Each drain frees two of what it took; what came later waits until nothing is kept."""
    remote = owner_queue.Params(drain_most=2)
    program = Program(compiled, [16], front_array_stack.Params(capacity=8, refill=1), remote=remote)
    assert program.malloc("a b c d", 16, thread=0) == [0, 16, 32, 48]
    program.free("a b c", thread=1)
    assert program.malloc("e f", 16, thread=0) == [16, 0]
    program.free("d", thread=1)
    assert program.counts(0, "remote", "drained", "refill") == (4, 2, 4)
    assert program.malloc("g", 16, thread=0) == 32
    assert program.counts(0, "remote", "drained", "refill") == (4, 3, 4)
    assert program.malloc("h i", 16, thread=0) == [48, 64]
    assert program.counts(0, "remote", "drained", "refill") == (4, 4, 5)


def test_a_heap_prepares_superslabs_of_its_own(compiled: bool) -> None:
    """Superslabs of four slabs; the second thread has its own, and the fifth slab of the first comes late."""
    program = Program(
        compiled,
        [4096],
        front_array_stack.Params(capacity=1, refill=1),
        remote="owner_list",
        ownership="superslab",
        pool="one_thread",
        release=release_keep.Params(),
        prewarm=prewarm_resident_slabs.Params(bytes=1),
    )
    assert program.malloc("a", 4096, thread=0) == 0
    assert program.totals("superslabs", "slabs", "committed", "superslabs_late") == (1, 4, 4 * 4096, 0)
    assert program.malloc("b", 4096, thread=1) == 4 * 4096
    assert program.malloc("c d e", 4096, thread=0) == [4096, 2 * 4096, 3 * 4096]
    assert program.totals("superslabs", "slabs", "committed", "superslabs_late") == (2, 8, 8 * 4096, 0)
    assert program.malloc("f", 4096, thread=0) == 8 * 4096
    assert program.totals("superslabs", "slabs", "committed", "superslabs_late") == (3, 9, 9 * 4096, 1)
    assert program.counts(0, "acquire") == (6,)


@pytest.mark.parametrize("pool", ["lock_free_lists", "lock_free_claims"])
def test_designs_that_need_the_lock(compiled: bool, pool: str) -> None:
    shared = Design("x", [16], pool=pool, release=release_keep.Params())
    assert str(shared.why_not_valid()).startswith(f"pool: '{pool}' cannot go with remote 'local_cache'")
    budgeted = Design("x", [16], pool=pool, remote="owner_list")
    assert str(budgeted.why_not_valid()).startswith(f"pool: '{pool}' cannot go with release 'budget'")


def test_superslabs_of_a_heap(compiled: bool) -> None:
    """Slabs of one block, four in a superslab: an empty slab serves its heap alone."""
    program = Program(compiled, [4096], remote="owner_list", ownership="superslab")
    assert program.malloc("a b", 4096, thread=0) == [0, 4096]
    assert program.malloc("c", 4096, thread=1) == 16384
    program.free("b a", thread=0)
    program.free("c", thread=0)
    assert program.counts(0, "remote", "direct", "retire") == (1, 2, 2)
    assert program.malloc("d e f g h", 4096, thread=1) == [16384, 20480, 24576, 28672, 32768]
    assert program.malloc("i j k l m", 4096, thread=0) == [0, 4096, 8192, 12288, 49152]
    assert program.totals("superslabs", "slabs") == (4, 10)
    program.exit(0)
    assert program.malloc("n", 4096, thread=2) == 53248  # thread 2 has the superslabs of the heap that it adopted
    program.free("i", thread=2)
    program.free("j", thread=1)
    assert program.counts(0, "remote", "direct", "retire") == (2, 4, 4)
    assert program.malloc("o", 4096, thread=1) == 36864
    assert program.malloc("p q r", 4096, thread=2) == [4096, 0, 57344]


def test_superslabs_of_a_heap_and_a_class(compiled: bool) -> None:
    program = Program(compiled, [2048, 4096], remote="owner_list", ownership="superslab", empties="dedicated")
    assert program.malloc("a", 4096, thread=0) == 0
    assert program.malloc("b", 2048, thread=0) == 16384
    assert program.malloc("c", 2048, thread=1) == 32768
    assert program.malloc("d", 4096, thread=1) == 49152
    assert program.malloc("e", 4096, thread=0) == 4096


def test_designs_whose_superslabs_belong_to_no_heap(compiled: bool) -> None:
    shared = Design("x", [16], ownership="superslab")
    assert str(shared.why_not_valid()).startswith("ownership: 'superslab' cannot go with remote 'local_cache'")
    owned = {"ownership": "superslab", "remote": "owner_list", "classifier": "class_region", "empties": "dedicated"}
    narrow = Design("x", [16, 32], slab_span_bytes=1 << 31, **owned)
    assert narrow.why_not_valid() is None
    narrower = Design("x", [16, 32], slab_span_bytes=1 << 30, **owned)
    assert str(narrower.why_not_valid()).endswith("expected 1073741824 bytes or more for each class")


def test_owner_list(compiled: bool) -> None:
    program = Program(compiled, [16, 32], front_array_stack.Params(capacity=4, refill=1), remote="owner_list")
    assert program.malloc("a b", 16, thread=0) == [0, 16]
    assert program.malloc("c", 32, thread=0) == 4096
    assert program.malloc("d", 16, thread=1) == 8192
    program.free("a", thread=1)
    program.free("c", thread=1)
    program.free("b", thread=9)  # without a heap
    program.free("d", thread=1)
    assert program.counts(0, "remote", "drained", "push") == (2, 0, 1)
    # Level 0 is empty: b, c, a are freed in this order, and the allocation hits a.
    assert program.malloc("e", 16, thread=0) == 0
    assert program.malloc("f", 32, thread=0) == 4096
    assert program.counts(0, "remote", "drained", "push", "hit0", "refill") == (2, 2, 3, 1, 3)
    assert program.counts(1, "remote", "drained", "push", "hit0", "refill") == (1, 1, 1, 1, 1)


def test_owners_queue_drains_in_order(compiled: bool) -> None:
    program = Program(compiled, [16, 32], front_array_stack.Params(capacity=4, refill=1), remote="owner_queue")
    assert program.malloc("a b c", 16, thread=0) == [0, 16, 32]
    program.malloc("d", 16, thread=1)
    program.free("a", thread=1)
    program.free("c", thread=9)  # without a heap
    program.free("b", thread=1)
    assert program.counts(0, "remote", "drained", "push") == (3, 0, 0)
    assert program.malloc("e f g", 16, thread=0) == [16, 32, 0]  # b was freed last, and is the newest of the front
    assert program.counts(0, "remote", "drained", "push", "hit0", "refill") == (3, 3, 3, 3, 4)
    program.free("e", thread=1)
    program.exit(0)  # drains e
    assert program.counts(0, "drained", "push") == (4, 4)


def test_owners_mutex_drains_as_the_list(compiled: bool) -> None:
    program = Program(compiled, [16, 32], front_array_stack.Params(capacity=4, refill=1), remote="owner_mutex")
    program.malloc("a b c", 16, thread=0)
    program.free("a c b", thread=1)
    assert program.malloc("e f g", 16, thread=0) == [0, 32, 16]
    assert program.counts(0, "remote", "drained", "push", "hit0", "refill") == (3, 3, 3, 3, 3)


def batches(compiled: bool, sizes: list[int], *, refill: int = 2, batch_bytes: int = 64) -> Program:
    """With strides of 16 bytes a batch is 4 blocks and a parcel 2; with 32 bytes both are 2."""
    front = front_array_stack.Params(capacity=4, refill=refill)
    return Program(compiled, sizes, front, remote=owner_batch.Params(batch_bytes=batch_bytes))


def test_owners_batches_go_when_they_are_full(compiled: bool) -> None:
    program = batches(compiled, [16])
    program.malloc("a b c d e", 16, thread=0)
    program.malloc("x", 16, thread=1)
    program.free("a b c", thread=1)
    assert program.malloc("f g", 16, thread=0) == [80, 96]  # the refills of 2 before left one; no batch came
    program.free("d e", thread=1)  # d makes the batch full, e waits
    assert program.counts(0, "remote", "drained", "push", "refill") == (5, 0, 0, 5)
    assert program.malloc("h", 16, thread=0) == 112
    # Level 0 is empty. The newest parcel, c and d, is opened: d is freed first, c is the newest.
    assert program.malloc("i j", 16, thread=0) == [32, 48]
    assert program.counts(0, "drained", "push", "hit0") == (2, 2, 6)
    assert program.malloc("k l", 16, thread=0) == [0, 16]  # the other parcel waited
    assert program.malloc("m", 16, thread=0) == 128
    program.exit(1)  # hands e over
    program.malloc("n", 16, thread=0)
    assert program.malloc("o", 16, thread=0) == 64
    assert program.counts(0, "remote", "drained") == (5, 5)


def test_owners_batches_of_five_owners_share_four_places(compiled: bool) -> None:
    program = batches(compiled, [16])
    for owner in range(5):
        program.malloc(f"a{owner} b{owner}", 16, thread=owner)
    program.malloc("x", 16, thread=9)
    for owner in range(5):
        program.free(f"a{owner}", thread=9)
    assert program.malloc("c", 16, thread=0) == 0  # the fifth took the place of the first
    program.malloc("d", 16, thread=1)
    assert program.counts(0, "remote", "drained") == (5, 1)
    program.free("b0", thread=9)  # the next in turn is the place of thread 1
    assert program.malloc("e", 16, thread=1) == 4096 + 32 + 16  # d's refill left one
    assert program.malloc("f", 16, thread=1) == 4096
    assert program.counts(0, "remote", "drained") == (6, 2)


def test_owners_batches_come_before_a_new_slab(compiled: bool) -> None:
    program = batches(compiled, [32, 2048], batch_bytes=64)
    program.malloc("a b", 32, thread=0)
    program.malloc("c", 2048, thread=0)
    program.malloc("x", 32, thread=1)
    program.free("a b", thread=1)  # a batch; nobody asks for 32 bytes any more
    assert program.counts(0, "remote", "drained") == (2, 0)
    program.malloc("d", 2048, thread=0)
    assert program.counts(0, "drained") == (0,)
    program.malloc("e", 2048, thread=0)  # the first slab of 2,048 bytes is used up
    assert program.counts(0, "drained", "push") == (2, 2)


def test_a_thread_without_a_heap_gets_the_owners(compiled: bool) -> None:
    program = batches(compiled, [16])
    program.malloc("a b", 16, thread=0)
    program.exit(0)
    program.free("a", thread=1)  # adopts the heap: the block is its own
    assert program.counts(0, "remote", "push") == (0, 1)


@pytest.mark.parametrize("kind", [owner_list, owner_mutex, owner_queue], ids=lambda kind: kind.NAME)
def test_a_thread_that_only_frees_drains_too(compiled: bool, kind: ModuleType) -> None:
    front = front_array_stack.Params(capacity=2, refill=1, flush=1)
    program = Program(compiled, [16, 32], front, remote=kind.Params(drain_interval=2))
    program.malloc("a b c d e f g h", 16, thread=0)
    program.free("e f g", thread=1)
    program.free("a b", thread=0)
    program.free("c", thread=0)  # the first flush: a
    assert program.counts(0, "remote", "drained", "flush", "flushed", "push") == (3, 0, 1, 1, 3)
    program.free("d", thread=0)  # the second: b, then the drain, of which each block is a flush
    assert program.counts(0, "remote", "drained", "flush", "flushed", "push") == (3, 3, 5, 5, 7)
    program.malloc("i j", 16, thread=0)  # two hits
    program.free("i j", thread=0)
    program.free("h", thread=1)
    program.malloc("k l", 16, thread=0)
    program.free("k l", thread=0)
    assert program.counts(0, "drained", "flush") == (3, 5)
    program.malloc("m n o", 16, thread=0)  # two hits, and a miss that drains
    assert program.counts(0, "drained", "flush", "hit0") == (4, 5, 7)


@pytest.mark.parametrize("kind", [owner_list, owner_mutex, owner_queue], ids=lambda kind: kind.NAME)
def test_a_drain_after_every_third_free(compiled: bool, kind: ModuleType) -> None:
    front = front_array_stack.Params(capacity=8, refill=1)
    remote = kind.Params(drain_interval=3, drain_counts="frees")
    program = Program(compiled, [16], front, remote=remote)
    program.malloc("a b c d e f g h", 16, thread=0)
    program.free("a b", thread=1)  # without a heap
    program.free("c d", thread=0)
    assert program.counts(0, "remote", "drained", "push") == (2, 0, 2)
    program.free("e", thread=0)  # the third, then the drain; no front is full
    assert program.counts(0, "remote", "drained", "push", "flush") == (2, 2, 5, 0)
    last = {"owner_queue": [16, 0]}.get(kind.NAME, [0, 16])
    assert program.malloc("i j k", 16, thread=0) == [*last, 64]
    program.malloc("x y", 16, thread=1)
    program.free("x y", thread=0)  # two frees of another heap's blocks count
    program.free("f g", thread=1)  # and two of thread 1
    assert program.counts(0, "remote", "drained") == (6, 2)
    program.free("h", thread=0)  # drains f and g
    assert program.counts(0, "remote", "drained") == (6, 4)
    program.free("i", thread=1)  # its third, of another heap's block: drains x and y
    assert program.counts(0, "remote", "drained") == (7, 6)


def test_a_drain_by_a_miss_begins_the_count_of_frees_anew(compiled: bool) -> None:
    front = front_array_stack.Params(capacity=8, refill=1)
    remote = owner_list.Params(drain_interval=3, drain_counts="frees")
    program = Program(compiled, [16], front, remote=remote)
    program.malloc("a b c d e", 16, thread=0)
    program.free("a", thread=0)
    program.free("b", thread=1)
    assert program.malloc("f g", 16, thread=0) == [0, 16]  # the second misses and drains
    program.free("c", thread=1)
    program.free("f g", thread=0)  # were the first free still counted, g's would drain
    assert program.counts(0, "drained") == (1,)
    program.free("d", thread=0)
    assert program.counts(0, "drained") == (2,)


def test_a_thread_allocates_from_its_own_current_slab(compiled: bool) -> None:
    owned = front_owned_slab.Params()
    program = Program(compiled, [1024], front=owned, remote="owner_list", freed_blocks="list")
    assert program.malloc("a b c", 1024, thread=0) == [0, 1024, 2048]
    assert program.malloc("d", 1024, thread=1) == 4096  # a slab of its own
    program.free("b", thread=0)  # at once on the slab's list
    program.free("a", thread=1)  # to the owner of its slab
    assert program.malloc("e", 1024, thread=1) == 5120
    assert program.malloc("f", 1024, thread=0) == 1024  # a hit
    assert program.malloc("g", 1024, thread=0) == 0  # a miss, which drains; then a hit
    assert program.counts(0, "hit0", "push", "direct", "refill", "remote", "drained") == (2, 2, 0, 5, 1, 1)
    assert program.malloc("h i", 1024, thread=0) == [3072, 8192]  # slab 0 is full, slab 2 hot
    program.free("c", thread=0)  # slab 0 had no free block: the store takes it
    program.free("h", thread=0)
    program.free("i", thread=0)  # the hot slab may be empty
    assert program.counts(0, "push", "direct", "retire") == (4, 1, 0)
    program.free("f", thread=0)
    program.free("g", thread=0)  # the last block of slab 0, which goes
    assert program.counts(0, "push", "direct", "retire") == (5, 2, 1)
    assert program.malloc("j k l", 1024, thread=0) == [8192, 9216, 10240]
    assert program.counts(0, "hit0", "reuse", "carve") == (3, 0, 9)


def test_the_last_freed_block_of_a_full_slab_comes_from_the_store(compiled: bool) -> None:
    owned = front_owned_slab.Params()
    program = Program(compiled, [1024], front=owned, remote="owner_list", freed_blocks="list")
    assert program.malloc("a b c d e f g h", 1024)[-1] == 7168  # two full slabs
    program.free("b c", thread=0)  # slab 0 is available, and hot at the next take
    assert program.counts(0, "push", "direct") == (1, 1)
    assert program.malloc("i j", 1024) == [2048, 1024]  # no hot slab; then its last block
    assert program.counts(0, "hit0", "reuse") == (0, 2)


def test_owner_list_without_front(compiled: bool) -> None:
    program = Program(compiled, [16], remote="owner_list")
    assert program.malloc("a b c", 16, thread=0) == [0, 16, 32]
    program.free("c b", thread=1)
    program.free("a", thread=0)
    assert program.counts(0, "direct", "drained") == (1, 0)
    assert program.malloc("d", 16, thread=0) == 0
    assert program.counts(0, "direct", "drained", "refill") == (3, 2, 4)


def test_owner_list_drains_before_promotion(compiled: bool) -> None:
    front = front_two_level.Params(capacity=2, list_capacity=4, refill=1, spill=2, promote=2)
    program = Program(compiled, [16], front, remote="owner_list")
    program.malloc("a b c d", 16, thread=0)
    program.free("a b c", thread=0)  # a and b spill
    program.free("d", thread=1)
    assert program.malloc("e", 16, thread=0) == 32
    assert program.malloc("f g h", 16, thread=0) == [48, 16, 0]
    assert program.counts(0, "hit0", "hit1", "drained", "refill") == (3, 1, 1, 4)


def test_abandoned_heap_keeps_its_remote_list(compiled: bool) -> None:
    program = Program(compiled, [16], front_array_stack.Params(capacity=4, refill=1), remote="owner_list")
    assert program.malloc("a b c", 16, thread=0) == [0, 16, 32]
    program.free("c", thread=1)
    program.exit(0)  # drains c and gives it to the store
    assert program.counts(0, "drained", "push", "flushed") == (1, 1, 0)
    program.free("a", thread=1)
    program.free("b", thread=1)
    assert program.malloc("d", 16, thread=2) == 0  # drained b, then a
    assert program.malloc("e f", 16, thread=2) == [16, 32]
    assert program.counts(0, "remote", "drained", "hit0", "refill", "reuse") == (3, 3, 2, 4, 1)
