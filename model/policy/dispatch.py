"""Dispatch: for each policy family, the kernels that call the module that a policy code of the Plan stands for."""

from heapsmith.model import policy
from heapsmith.model.compile.kernel import hit_path, kernel
from heapsmith.model.memory.state import State
from heapsmith.model.policy.choice import address_ordered as choice_address_ordered
from heapsmith.model.policy.choice import hot_index as choice_hot_index
from heapsmith.model.policy.choice.address_ordered import add as address_ordered_add
from heapsmith.model.policy.choice.address_ordered import gives as address_ordered_gives
from heapsmith.model.policy.choice.address_ordered import lets_go as address_ordered_lets_go
from heapsmith.model.policy.choice.address_ordered import remove as address_ordered_remove
from heapsmith.model.policy.choice.hot_index import add as hot_index_add
from heapsmith.model.policy.choice.hot_index import attach as hot_index_attach
from heapsmith.model.policy.choice.hot_index import gives as hot_index_gives
from heapsmith.model.policy.choice.hot_index import lets_go as hot_index_lets_go
from heapsmith.model.policy.choice.hot_index import remove as hot_index_remove
from heapsmith.model.policy.classifier import class_region as classifier_class_region
from heapsmith.model.policy.classifier import header as classifier_header
from heapsmith.model.policy.classifier import slab_map as classifier_slab_map
from heapsmith.model.policy.classifier.class_region import superslab_place as class_region_place
from heapsmith.model.policy.classifier.slab_map import superslab_place as slab_map_place
from heapsmith.model.policy.empties import shared as empties_shared
from heapsmith.model.policy.empties.dedicated import pool as dedicated_pool
from heapsmith.model.policy.empties.shared import pool as shared_pool
from heapsmith.model.policy.front import array_stack as front_array_stack
from heapsmith.model.policy.front import fifo_ring as front_fifo_ring
from heapsmith.model.policy.front import linked_list as front_linked_list
from heapsmith.model.policy.front import none as front_none
from heapsmith.model.policy.front import two_level as front_two_level
from heapsmith.model.policy.front.array_stack import drain as array_stack_drain
from heapsmith.model.policy.front.array_stack import push as array_stack_push
from heapsmith.model.policy.front.common import NO_BLOCK, stack_fill, stack_pop
from heapsmith.model.policy.front.fifo_ring import drain as fifo_ring_drain
from heapsmith.model.policy.front.fifo_ring import fill as fifo_ring_fill
from heapsmith.model.policy.front.fifo_ring import pop as fifo_ring_pop
from heapsmith.model.policy.front.fifo_ring import push as fifo_ring_push
from heapsmith.model.policy.front.linked_list import drain as linked_list_drain
from heapsmith.model.policy.front.linked_list import push as linked_list_push
from heapsmith.model.policy.front.none import push as none_push
from heapsmith.model.policy.front.two_level import drain as two_level_drain
from heapsmith.model.policy.front.two_level import promote as two_level_promote
from heapsmith.model.policy.front.two_level import push as two_level_push
from heapsmith.model.policy.release import keep as release_keep
from heapsmith.model.policy.release.budget import goes as budget_goes
from heapsmith.model.policy.release.budget import grown as budget_grown
from heapsmith.model.policy.release.keep import goes as keep_goes
from heapsmith.model.policy.release.keep import grown as keep_grown
from heapsmith.model.policy.remote import local_cache as remote_local_cache
from heapsmith.model.policy.remote.local_cache import needs_heap as local_cache_needs_heap
from heapsmith.model.policy.remote.local_cache import where as local_cache_where
from heapsmith.model.policy.remote.owner_list import needs_heap as owner_list_needs_heap
from heapsmith.model.policy.remote.owner_list import where as owner_list_where

NONE = policy.code(policy.FRONTS, front_none.NAME)
ARRAY_STACK = policy.code(policy.FRONTS, front_array_stack.NAME)
FIFO_RING = policy.code(policy.FRONTS, front_fifo_ring.NAME)
LINKED_LIST = policy.code(policy.FRONTS, front_linked_list.NAME)
TWO_LEVEL = policy.code(policy.FRONTS, front_two_level.NAME)
HOT_INDEX = policy.code(policy.SLAB_CHOICES, choice_hot_index.NAME)
ADDRESS_ORDERED = policy.code(policy.SLAB_CHOICES, choice_address_ordered.NAME)
SHARED = policy.code(policy.EMPTIES, empties_shared.NAME)
SLAB_MAP = policy.code(policy.CLASSIFIERS, classifier_slab_map.NAME)
HEADER = policy.code(policy.CLASSIFIERS, classifier_header.NAME)
CLASS_REGION = policy.code(policy.CLASSIFIERS, classifier_class_region.NAME)
KEEP = policy.code(policy.RELEASES, release_keep.NAME)
LOCAL_CACHE = policy.code(policy.REMOTES, remote_local_cache.NAME)


# Fronts: `front` is the index of the heap's front of class `cls`; batches go through the scratch array `moved`.


@hit_path
def front_pop(state: State, front: int, cls: int) -> int:
    """Allocate from level 0: a block, or NO_BLOCK if it is empty."""
    kind = int(state.classes[cls]["front"])
    if kind == NONE:
        return NO_BLOCK
    if kind == FIFO_RING:
        return fifo_ring_pop(state, front, cls)
    return stack_pop(state, front)


@kernel
def front_promote(state: State, front: int, cls: int) -> int:
    """Allocate from level 1, level 0 being empty: a block, or NO_BLOCK if it is empty too or there is none."""
    if state.classes[cls]["front"] != TWO_LEVEL:
        return NO_BLOCK
    return two_level_promote(state, front, cls)


@kernel
def front_fill(state: State, front: int, cls: int, count: int) -> None:
    """What a refill brought after its first block, moved[1] to moved[count - 1], goes into level 0."""
    kind = int(state.classes[cls]["front"])
    if kind == FIFO_RING:
        fifo_ring_fill(state, front, cls, 1, count)
    elif kind != NONE:
        stack_fill(state, front, 1, count)


@hit_path
def front_push(state: State, front: int, cls: int, block: int) -> int:
    """Free into the front; the number of blocks in `moved` that the store must take, in this order."""
    kind = int(state.classes[cls]["front"])
    if kind == ARRAY_STACK:
        return array_stack_push(state, front, cls, block)
    if kind == TWO_LEVEL:
        return two_level_push(state, front, cls, block)
    if kind == FIFO_RING:
        return fifo_ring_push(state, front, cls, block)
    if kind == LINKED_LIST:
        return linked_list_push(state, front, cls, block)
    return none_push(state, cls, block)


@kernel
def front_drain(state: State, front: int, cls: int) -> int:
    """Empty the front; the number of blocks in `moved`, in drain order."""
    kind = int(state.classes[cls]["front"])
    if kind == ARRAY_STACK:
        return array_stack_drain(state, front)
    if kind == TWO_LEVEL:
        return two_level_drain(state, front, cls)
    if kind == FIFO_RING:
        return fifo_ring_drain(state, front, cls)
    if kind == LINKED_LIST:
        return linked_list_drain(state, front)
    return 0


# Slab choice: `store` is the index of a store's class.


@kernel
def choice_gives(state: State, choice: int, store: int) -> int:
    """The slab that serves a take, -1 if none is available."""
    if choice == HOT_INDEX:
        return hot_index_gives(state, store)
    return address_ordered_gives(state, store)


@kernel
def choice_attach(state: State, choice: int, store: int, slab: int) -> None:
    """A slab just acquired is available."""
    if choice == HOT_INDEX:
        hot_index_attach(state, store, slab)
    else:
        address_ordered_add(state, store, slab)


@kernel
def choice_add(state: State, choice: int, store: int, slab: int) -> None:
    """A slab without a free block has one again."""
    if choice == HOT_INDEX:
        hot_index_add(state, store, slab)
    else:
        address_ordered_add(state, store, slab)


@kernel
def choice_remove(state: State, choice: int, store: int, slab: int) -> None:
    """A slab is exhausted or retired."""
    if choice == HOT_INDEX:
        hot_index_remove(state, store, slab)
    else:
        address_ordered_remove(state, store, slab)


@kernel
def choice_lets_go(state: State, choice: int, store: int, slab: int) -> bool:
    """Whether an available slab of which no block is out may be retired."""
    if choice == HOT_INDEX:
        return hot_index_lets_go(state, store, slab)
    return address_ordered_lets_go(state, store, slab)


# Empties, classifier, release, remote.


@kernel
def pool_of(empties: int, cls: int) -> int:
    """The pool of empty slabs that serves a class."""
    if empties == SHARED:
        return shared_pool(cls)
    return dedicated_pool(cls)


@kernel
def superslab_place(state: State, cls: int, mapped: int, mapped_by_pool: int) -> int:
    """The first slab, in slabs from the span's start, of the next superslab; -1 if there is no room for it."""
    if state.classifier_code == CLASS_REGION:
        return class_region_place(state, cls, mapped_by_pool)
    return slab_map_place(state, mapped)


@kernel
def release_goes(release: int, aged_bytes: int, budget_bytes: int) -> bool:
    """Whether the oldest of an age queue with so many committed bytes gives its pages back to the OS."""
    if release == KEEP:
        return keep_goes(aged_bytes, budget_bytes)
    return budget_goes(aged_bytes, budget_bytes)


@kernel
def release_grown(release: int, budget_bytes: int, needed_again_bytes: int, most_bytes: int) -> int:
    """The budget of empty slabs or free runs after pages that had gone back to the OS were needed again."""
    if release == KEEP:
        return keep_grown(budget_bytes, needed_again_bytes, most_bytes)
    return budget_grown(budget_bytes, needed_again_bytes, most_bytes)


@hit_path
def where(state: State, remote: int, heap: int, slab: int) -> int:
    """Where a block of `slab` freed by a thread of this heap (-1: none) goes (model/policy/remote/common.py)."""
    if remote == LOCAL_CACHE:
        return local_cache_where()
    return owner_list_where(state, heap, slab)


@hit_path
def needs_heap(remote: int) -> bool:
    """Whether a thread without a heap gets one when it frees a small block."""
    if remote == LOCAL_CACHE:
        return local_cache_needs_heap()
    return owner_list_needs_heap()
