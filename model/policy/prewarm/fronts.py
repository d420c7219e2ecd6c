"""Prewarmed fronts: a new heap's fronts hold blocks of the stated classes from the start."""

from collections import Counter
from typing import Any

import msgspec

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.constants import PAGE
from heapsmith.model.errors import Refusal
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import RUN_CODE, block_at, class_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import NONE, SINK, touch
from heapsmith.model.parts.block_questions import born_lines, dies_lines
from heapsmith.model.parts.front_questions import choice_add
from heapsmith.model.parts.fronts import allocate_small, free_small, quarantine_base
from heapsmith.model.parts.large import free_large, large_block, pages_for
from heapsmith.model.parts.locks import uncounted
from heapsmith.model.parts.needs import Needs
from heapsmith.model.parts.slab_questions import heaps_shard_lines, lock_store, store_of
from heapsmith.model.parts.slabs import acquire

NAME = "fronts"
CALLS_MALLOC = True
"""A new heap allocates its blocks as the program does."""
MOMENTS = ("heap_started",)
RARE = True
COSTS: dict[str, float] = {}  # of kinds that other rows have too
NUMBERS = ("prewarm_end",)
"""1 + the last class that is prepared."""
CLASS_NUMBERS = ("prewarm_blocks", "prewarm_slabs")
"""Blocks that each new heap prepares, and slabs that the first heap prepares."""
SIZES_ALONE = True
MOST_BLOCKS, MOST_SLABS = 65_536, 4_096


class Prepared(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is prepared of some classes.

    sizes: their block sizes; blocks: blocks of each that every new heap allocates and frees; slabs:
    slabs of each that the first heap acquires.
    """

    sizes: list[int]
    blocks: int = 0
    slabs: int = 0


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """A new heap allocates blocks of some classes and frees them.

    classes: how many of which. The first requests of a thread hit, but each thread pays for all
    these blocks when it starts, in time and in memory, whether it uses them or not.
    """

    classes: list[Prepared]


def why_not_valid(params: Params) -> str | None:
    """Return why nothing like this can be prepared, or None."""
    sizes = Counter(size for one in params.classes for size in one.sizes)
    if not sizes:
        return "classes: no class is named; expected block sizes"
    for size, count in sizes.items():
        if count > 1:
            return f"classes: {size} is named twice"
    for index, one in enumerate(params.classes):
        for field, most in (("blocks", MOST_BLOCKS), ("slabs", MOST_SLABS)):
            value = getattr(one, field)
            if not 0 <= value <= most:
                return f"classes[{index}].{field}: {value}; expected 0 to {most}"
    return None


def why_not_with(design: Any) -> Refusal | None:
    """Return why the prepared classes do not fit the design's sizes, or None."""
    sizes = (size for one in design.prewarm.classes for size in one.sizes)
    strange = next((size for size in sizes if size not in design.sizes), None)
    if strange is None:
        return None
    return Refusal(f"prewarm.classes: {strange} is none of the design's sizes", ("prewarm", "sizes"))


def numbers(design: Any) -> dict[str, int]:
    """Return where the prepared classes end."""
    last = max(size for one in design.prewarm.classes for size in one.sizes)
    return {"prewarm_end": 1 + design.sizes.index(last)}


def class_numbers(design: Any) -> list[dict[str, int]]:
    """Return what is prepared of each class."""
    of = {size: one for one in design.prewarm.classes for size in one.sizes}
    none = Prepared([])
    return [
        {"prewarm_blocks": of.get(size, none).blocks, "prewarm_slabs": of.get(size, none).slabs}
        for size in design.sizes
    ]


def files(design: Any) -> dict[str, str]:
    """Return the headers of the row by what they are for."""
    return {"sparing": "sparing"}


def needs(plan: Any) -> Needs:
    """Return what the blocks and slabs take that a new heap prepares; its blocks may be runs."""
    refill = max(-(-row.front.refill // row.blocks) for row in plan.classes) + 1
    blocks = [row.numbers["prewarm_blocks"] for row in plan.classes]
    slabs = sum(-(-count // row.blocks) + refill for count, row in zip(blocks, plan.classes, strict=True))
    slabs += sum(row.numbers["prewarm_slabs"] for row in plan.classes)
    pages = sum(n * pages_for(row.usable, plan.tail_bytes) for n, row in zip(blocks, plan.classes, strict=True))
    return Needs(max(blocks), slabs, pages, pages * plan.page_bytes)


@kernel
def heap_started(state: State, heap: int) -> None:
    """Prepare slabs and blocks of the stated classes for a new heap."""
    for cls in range(state.prewarm_end):
        if heap == 0:
            prepare_slabs(state, heap, cls)
        prepare_blocks(state, heap, cls)


@kernel
def prepare_slabs(state: State, heap: int, cls: int) -> None:
    """Acquire slabs of a class for the first heap's store."""
    heaps_shard_lines(state, heap, 0)
    lock_store(state, store_of(state, heap, cls))
    state.locks_prewarm += uncounted(state)
    for _ in range(int(state.classes[cls]["prewarm_slabs"])):
        slab = acquire(state, heap, cls)
        if slab < 0:
            break
        choice_add(state, store_of(state, heap, cls), slab)


@kernel
def prepare_blocks(state: State, heap: int, cls: int) -> None:
    """Allocate blocks of a class, linked through their first words, and free them, last first."""
    limit = int(state.classes[cls]["prewarm_blocks"])
    made = 0
    base = quarantine_base(state, heap) + state.quarantine
    while made < limit:
        block = prepared_block(state, heap, cls)
        if block < 0:
            break
        touch(state.listener, start_of(state, block), 1)
        state.slots[base + made] = block
        made += 1
    while made > 0:
        made -= 1
        block = int(state.slots[base + made])
        touch(state.listener, start_of(state, block), 0)
        if block >= RUN_CODE:
            free_large(state, heap, block, int(state.classes[cls]["usable"]))
        else:
            dies_lines(state, block)
            free_small(state, heap, block)


@kernel
def prepared_block(state: State, heap: int, cls: int) -> int:
    """Do what malloc does for a request of the class's usable bytes; return the handle."""
    size = int(state.classes[cls]["usable"])
    touch(state.listener, class_at(cls), 0)
    if SINK != NONE:
        state.above += size > state.direct_limit
    block = allocate_small(state, heap, cls, size)
    if block < 0:
        return large_block(state, heap, size, 1)
    born_lines(state, block, size)
    return block


@kernel
def start_of(state: State, block: int) -> int:
    """Return the model address of a block's first word."""
    return layout.RUNS + (block - RUN_CODE) * PAGE if block >= RUN_CODE else block_at(state, block)


def looks_again(design: Any) -> bool:
    """Return True: a miss looks into its front again, for the heap may have started since."""
    return True
