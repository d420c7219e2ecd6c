"""What parts ask the rooms about slabs, superslabs, pools and pages (model/compile/dispatch.py).

As in model/parts/front_questions.py, the body is the answer of a row without that function.
"""

from heapsmith.model.compile.dispatch import question
from heapsmith.model.constants import NEVER
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import SLAB_NEXT, SLAB_OWNER, slab_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.parts.committed import commit_calls
from heapsmith.model.parts.locks import lock_pool, uncounted

# Release: when pages go back to the OS.


@question("release", "goes")
def release_goes(state: State, aged_bytes: int, budget_bytes: int, least_bytes: int, stamp: int, gone: int) -> bool:
    """Return whether an age queue gives the pages of its oldest entry to the OS.

    aged_bytes: committed bytes of the queue; least_bytes: those that no share bounds; stamp: the clock
    when its oldest entry joined; gone: entries that this event has released.
    """
    raise NotImplementedError


@question("release", "grown")
def release_grown(state: State, budget_bytes: int, needed_again_bytes: int) -> int:
    """Return the budget after the program needed pages again that had gone back to the OS."""
    raise NotImplementedError


@question("release", "slab_stamp")
def slab_stamp(state: State, gone: int) -> int:
    """Return the clock when the oldest slab joined the age queue; `gone` left it in this event."""
    return 0


@question("release", "run_stamp")
def run_stamp(state: State, gone: int) -> int:
    """Return the clock when the oldest run joined the age queue; `gone` left it in this event."""
    return 0


@question("release", "stamp_slab")
def stamp_slab(state: State, slab: int) -> None:
    """Note when a slab joins the age queue."""


@question("release", "stamp_run")
def stamp_run(state: State, first: int) -> None:
    """Note when a run joins the age queue."""


@question("release", "commit_stamps")
def commit_stamps(state: State, first: int, pages: int) -> None:
    """Make the stamps of new pages of the run span usable."""


@question("release", "is_short", hit=True)
def is_short(state: State) -> bool:
    """Return whether the heap is near its limit on memory, so that what waits goes at once."""
    return False


# Run cache: freed runs that a heap keeps.


@question("run_cache_bytes", "cached_run")
def cached_run(state: State, heap: int, pages: int) -> int:
    """Take a run of `pages` pages, or a few more, out of the heap's cache; -1: none, and it has its share."""
    return -1


@question("run_cache_bytes", "keeps_run")
def keeps_run(state: State, heap: int, first: int) -> bool:
    """Return whether a freed run goes to the heap's cache; the caller frees it otherwise."""
    return False


@question("run_cache_bytes", "spills_run")
def spills_run(state: State, heap: int) -> bool:
    """Free a run of the heap's cache; return whether there was one."""
    return False


@question("run_cache_bytes", "spill_locks")
def spill_locks(state: State) -> int:
    """Return how many locks a look takes for the runs of a heap's cache."""
    return 0


@question("run_cache_bytes", "cache_lines")
def cache_lines(state: State, heap: int) -> None:
    """Touch how many runs the heap's cache has."""


# Transfer cache: flushed batches that wait for a refill.


@question("transfer_bytes", "keep_batch")
def keep_batch(state: State, heap: int, cls: int, count: int) -> bool:
    """Return whether the flush in `moved` waits as a batch; the caller gives it to the store otherwise."""
    return False


@question("transfer_bytes", "take_batch")
def take_batch(state: State, heap: int, cls: int) -> int:
    """Take the newest batch into `moved`, the block flushed last first; return its length or 0."""
    return 0


@question("transfer_bytes", "transfer_lines")
def transfer_lines(state: State, cls: int) -> None:
    """Touch where a miss or a flush finds whether its class may have batches."""


@question("transfer_bytes", "has_batches")
def has_batches(state: State, cls: int) -> bool:
    """Return whether the class may have batches."""
    return False


@question("transfer_bytes", "kept_batches")
def kept_batches(state: State, cls: int) -> int:
    """Return how many batches a class has."""
    return 0


@question("transfer_bytes", "is_idle")
def is_idle(state: State, cls: int) -> bool:
    """Return whether batches of the class would wait for nobody."""
    return True


@question("transfer_bytes", "keeps_taken")
def keeps_taken(state: State, heap: int, cls: int, taken: int) -> bool:
    """Return whether the blocks in `moved`, which a take brought, are a batch now; they go back otherwise."""
    return False


# Huge cache: freed mappings that wait.


@question("huge_cache", "reuse_huge")
def reuse_huge(state: State, pages: int) -> int:
    """Return a huge block whose mapping waited, cut to `pages`; -1 if none fits."""
    return -1


@question("huge_cache", "keeps_huge")
def keeps_huge(state: State, block: int, pages: int) -> bool:
    """Return whether the mapping of a freed huge block waits; the caller unmaps it otherwise."""
    return False


@question("huge_cache", "release_kept")
def release_kept(state: State) -> None:
    """Unmap the oldest mappings that have waited long enough."""


# Shards: which part of the store serves whom.


@question("shards", "store_of", hit=True)
def store_of(state: State, heap: int, cls: int) -> int:
    """Return the place in `stores` of what serves a heap's takes of a class."""
    return int(heap * state.store_step + cls)


@question("shards", "store_to", hit=True)
def store_to(state: State, slab: int, cls: int) -> int:
    """Return the place in `stores` of what a block of the slab returns to."""
    return int(state.slabs[slab]["owner"] * state.store_step + cls)


@question("shards", "heaps_shard_lines", hit=True)
def heaps_shard_lines(state: State, heap: int, write: int) -> None:
    """Touch the number of the heap's shard, if it has one."""


@question("shards", "lock_store")
def lock_store(state: State, store: int) -> None:
    """Take the lock of a store that all heaps share, for a take."""
    if state.owned == 0:
        lock_pool(state)


@question("shards", "lock_to", hit=True)
def lock_to(state: State, store: int, slab: int) -> None:
    """Take the lock of the store that a block of the slab returns to, where that may be another than the one before."""


@question("shards", "lock_batch")
def lock_batch(state: State, cls: int) -> None:
    """Take the lock of the store that a batch of a class returns to, where no other lock holds it."""


@question("shards", "lock_whole")
def lock_whole(state: State) -> None:
    """Take the lock of the only store of all heaps, if there is one, to give blocks."""
    if state.owned == 0:
        lock_pool(state)
        state.locks_give += uncounted(state)


@question("shards", "lock_transfer")
def lock_transfer(state: State, store: int) -> None:
    """Take the lock of the transfer cache."""
    lock_pool(state)


@question("shards", "batch_store")
def batch_store(state: State, heap: int, cls: int, count: int) -> int:
    """Return the place in `stores` whose transfer cache takes the flush in `moved`; -1: none may."""
    return int(heap * state.store_step + cls)


@question("shards", "number_at")
def number_at(state: State, store: int) -> int:
    """Return where the number of a store's class lies in a table of the transfer cache."""
    return store * layout.NUMBER_BYTES


@question("shards", "copy_of")
def copy_of(state: State, store: int) -> int:
    """Return which of the transfer caches, one behind the other, that of a store is."""
    return 0


@question("shards", "pools_for", hit=True)
def pools_for(state: State, heap: int) -> int:
    """Return how far behind the first pools in `stores` those are that serve a heap."""
    return 0


@question("shards", "pools_to", hit=True)
def pools_to(state: State, slab: int) -> int:
    """Return how far behind the first pools in `stores` those are to which a slab returns."""
    return 0


@question("shards", "locks_slab")
def locks_slab(state: State) -> None:
    """Take the lock under which a slab changes its class, where the store's is another."""


# Ownership: what belongs to a heap.


@question("ownership", "owner_lines", hit=True)
def owner_lines(state: State, slab: int, write: int) -> None:
    """Touch what names the owner of a slab in use."""
    touch(state.listener, slab_at(state, slab) + SLAB_OWNER, write)


@question("ownership", "disowned")
def disowned(state: State, slab: int) -> None:
    """Let an empty slab belong to no heap."""
    state.slabs[slab]["owner"] = -1


@question("ownership", "owner_changes_lines")
def owner_changes_lines(state: State, slab: int) -> None:
    """Touch what names the owner as a slab changes hands."""
    touch(state.listener, slab_at(state, slab) + SLAB_OWNER, 1)


@question("ownership", "heaps_pools", hit=True)
def heaps_pools(state: State, heap: int) -> int:
    """Return how far behind the first pools in `stores` those of a heap are."""
    return 0


@question("ownership", "vacancy_lines")
def vacancy_lines(state: State, heap: int, pool: int, at: int, write: int) -> None:
    """Touch the pool or the superslab of a heap that has its own; those of all heaps are variables."""


@question("ownership", "commit_owners")
def commit_owners(state: State, place: int, slabs: int) -> None:
    """Make the table of owners usable for new superslabs."""


# The pool: what heaps lock to take slabs from pools that they share.


@question("pool", "link", hit=True)
def pool_link(state: State) -> int:
    """Return where a record has the link that holds a slab in its pool."""
    return SLAB_NEXT


@question("pool", "lock_new_slab")
def lock_new_slab(state: State) -> None:
    """Take the lock under which a new slab leaves its superslab, where that of the pools is another."""


@question("pool", "end_is_read")
def end_is_read(state: State) -> bool:
    """Return whether a new slab's taker reads where the superslab ends although slabs are left."""
    return True


@question("pool", "lock_mapping")
def lock_mapping(state: State) -> None:
    """Take the lock under which a superslab is mapped, where that of the pools is another."""


@question("pool", "lock_pools")
def lock_pools(state: State) -> None:
    """Take the lock of the pools that heaps with a store each share."""
    lock_pool(state)


# Huge pages: where memory lies on them.


@question("thp", "huge_superslab")
def huge_superslab(state: State, cls: int) -> bool:
    """Return whether a new superslab for a class lies on huge pages."""
    return False


@question("thp", "huge_runs_from")
def huge_runs_from(state: State) -> int:
    """Return the page of the run span from which on pages may lie on huge pages."""
    return NEVER


@question("thp", "keeps_small")
def keeps_small(state: State) -> bool:
    """Return whether the system is told that memory keeps small pages."""
    return False


# Growth and populate: how memory becomes usable and resident.


@question("growth", "superslabs_at_once")
def superslabs_at_once(state: State, region: int, number: int) -> int:
    """Return how many superslabs of a region become usable with that of this number."""
    return 1


@question("populate", "populate", hit=True)
def populate(state: State, address: int, size: int) -> None:
    """Make memory resident that is being committed, with one call, if the design does so."""


@question("populate", "step")
def populate_step(state: State, cls: int) -> int:
    """Return the bytes by which the committed bytes of a slab of the class rise now."""
    return int(state.commit_step)


@question("populate", "carved")
def populate_carved(state: State, slab: int, size: int, step: int) -> None:
    """Make the next `size` bytes of a slab resident, committed by this step, if the design does so."""


# Slab records, the map of classes, and unmapping.


@question("classifier", "commit_map")
def commit_map(state: State, place: int, slabs: int) -> None:
    """Make the map of the classes of new slabs usable: a byte per slab."""
    if state.slab_classes_bytes > 0:
        state.memory_calls += commit_calls(place, slabs, 1)


@question("slab_record", "stride_lines")
def stride_lines(state: State, cls: int) -> None:
    """Touch where a take finds the stride of a class before it has a slab."""
    raise NotImplementedError


@question("slab_record", "visit_lines")
def visit_lines(state: State, slab: int) -> None:
    """Touch where a take finds the numbers of a class in the record of its slab."""
    raise NotImplementedError


@question("slab_record", "commit_records")
def commit_records(state: State, place: int, slabs: int) -> None:
    """Make the records of new slabs usable."""


@question("unmapping", "mapped_again")
def mapped_again(state: State, pool: int, region: int) -> int:
    """Map the superslab of a region that was unmapped last; return its place in slabs, or -1: there is none."""
    return -1


@question("unmapping", "known_slab")
def known_slab(state: State, pool: int) -> int:
    """Return the next slab of a superslab that was mapped again, which has a record; -1: the next is new."""
    return -1
