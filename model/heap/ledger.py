"""The ledger of bytes: what a simulated heap's committed and resident bytes are for; docs/report.md."""

from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise

import msgspec
import numpy as np

from heapsmith.model.compile.kernel import Ints, Records
from heapsmith.model.design.plan import Plan
from heapsmith.model.heap.check import committed_pages, slabs_ahead
from heapsmith.model.heap.simulator import Simulator
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import HUGE_CODE, RUN_CODE
from heapsmith.model.memory.listener import Listener
from heapsmith.model.memory.state import State
from heapsmith.model.parts.equations import equal
from heapsmith.model.parts.fronts import quarantine_base
from heapsmith.model.parts.large import HUGE_SLOT_BYTES, HUGE_SLOTS

_HUGE_END = layout.HUGE + HUGE_SLOTS * HUGE_SLOT_BYTES


class Ledger(msgspec.Struct, frozen=True):
    """Bytes of a heap between two events. The items up to `huge_cache` add up to `committed`.

    `resident` is `committed` less `untouched` and with `metadata`; the three are None without
    simulated page tables.
    """

    asked: int  # what the program asked for
    rounding: int  # small blocks: usable bytes beyond the request
    header_and_canary: int  # of all live blocks
    run_rounding: int  # live runs: bytes beyond the request and its canary
    huge_rounding: int  # the same of huge blocks
    fronts: int  # whole blocks, as in the next three
    transfer_cache: int
    remote_lists: int
    quarantines: int
    freed_blocks: int  # in slabs that a class has
    fresh_blocks: int  # in such slabs, committed bytes of blocks that were never handed out
    slab_ends: int  # committed bytes before the first block of such slabs and behind the last
    empty_slabs: int  # in pools
    slabs_ahead: int  # on huge pages: slabs of a superslab that were not handed out yet
    run_caches: int
    free_runs: int
    pages_ahead: int  # behind the last run, up to the end of a batch or of a huge page
    huge_cache: int
    committed: int
    untouched: int | None = None  # committed and not resident
    metadata: int | None = None  # resident and no part of `committed`
    resident: int | None = None


COMMITTED = Ledger.__struct_fields__.index("committed")
ITEMS = Ledger.__struct_fields__[:COMMITTED]
"""The items that add up to `committed`, in their order."""


def ledger(simulator: Simulator) -> Ledger:
    """Return the ledger of a simulator as it stands between two events; CheckFailed if it does not add up."""
    state, plan = simulator.state, simulator.plan
    live, parked, slabs, large = _live(state), _parked(state, plan), _slabs(state, plan), _large(state, plan)
    blocks = live.pop("small_blocks") + sum(parked.values())
    equal("bytes of live and parked blocks", blocks, slabs.pop("out"))
    items = live | parked | slabs | large
    committed = sum(items.values())
    equal("bytes in the ledger", committed, state.committed)
    found = Ledger(**items, committed=committed)
    return _with_resident(found, state, plan, simulator.listener) if simulator.listener else found


def mean(ledgers: Sequence[Ledger]) -> Ledger:
    """Return the mean of ledgers, each item within a byte of its own, so that the items add up to the sums."""
    sums = [sum(getattr(one, name) for one in ledgers) for name in ITEMS]
    until = [round(total / len(ledgers)) for total in accumulate(sums, initial=0)]
    items = {name: after - before for name, (before, after) in zip(ITEMS, pairwise(until), strict=True)}
    found = Ledger(**items, committed=until[-1])
    if ledgers[0].resident is None:
        return found
    untouched, resident = (_mean(getattr(one, name) or 0 for one in ledgers) for name in ("untouched", "resident"))
    metadata = resident - found.committed + untouched
    return msgspec.structs.replace(found, untouched=untouched, metadata=metadata, resident=resident)


def _mean(numbers: Iterable[int]) -> int:
    every = list(numbers)
    return round(sum(every) / len(every))


def _live(state: State) -> dict[str, int]:
    """Return what live blocks take; `small_blocks` are the strides of the small ones."""
    blocks = state.blocks[state.blocks["handle"] >= 0]
    small = blocks[blocks["handle"] < RUN_CODE]
    blocks = blocks[blocks["handle"] >= RUN_CODE]
    count = np.bincount(small["handle"] & layout.CLASS_MASK, minlength=len(state.classes))
    runs = blocks[blocks["handle"] < HUGE_CODE]
    page = int(state.page_bytes)
    run_bytes = state.pages["run"][runs["handle"] - RUN_CODE] * page
    huge = blocks[blocks["handle"] >= HUGE_CODE]
    least = np.where((huge["asked"] == 0) & (state.live_map == 1), 0, 1)
    huge_bytes = np.maximum(least, -(-huge["asked"] // page)) * page
    asked = [int(part["asked"].sum()) for part in (small, runs, huge)]
    usable, strides = int(count @ state.classes["usable"]), int(count @ state.classes["stride"])
    run_tails = len(runs) * state.tail_bytes
    return {
        "asked": sum(asked),
        "rounding": usable - asked[0],
        "header_and_canary": strides - usable + run_tails,
        "run_rounding": int(run_bytes.sum()) - asked[1] - run_tails,
        "huge_rounding": int(huge_bytes.sum()) - asked[2],
        "small_blocks": strides,
    }


def _parked(state: State, plan: Plan) -> dict[str, int]:
    """Return the bytes of small blocks that neither the program nor a slab has, by where they are."""
    classes = state.classes
    stride = classes["stride"]
    fronts = state.fronts[: state.heaps_made * plan.class_count]
    idle = (fronts["held"] + fronts["listed"]).reshape(-1, plan.class_count).sum(axis=0)
    return {
        "fronts": int(idle @ stride),
        "transfer_cache": int(plan.design.row("transfer_bytes").waiting(state) @ stride),
        "remote_lists": int((classes["remote"] - classes["drained"]) @ stride),
        "quarantines": sum(int(stride[_quarantined(state, plan, heap)].sum()) for heap in range(state.heaps_made)),
    }


def _quarantined(state: State, plan: Plan, heap: int) -> Ints:
    """Return the classes of the blocks in a heap's quarantine."""
    held = int(state.heaps[heap]["quarantined"])
    if held == 0:
        return np.empty(0, np.int64)
    places = (int(state.heaps[heap]["quarantine_head"]) + np.arange(held)) % plan.quarantine
    classes: Ints = state.slots[quarantine_base(state, heap) + places] & layout.CLASS_MASK
    return classes


def _slabs(state: State, plan: Plan) -> dict[str, int]:
    """Return what the committed bytes of slabs are for; `out` are those of blocks that left their slab."""
    slabs = state.slabs[: state.slabs_made]
    is_pooled = np.zeros(len(slabs), np.bool_)
    is_pooled[_pooled(state.stores, slabs)] = True
    used = slabs[~is_pooled & (slabs["committed"] > 0)]
    committed = used["committed"]
    stride, first, blocks = (state.classes[name][used["class"]] for name in ("stride", "first", "blocks"))
    end = first + blocks * stride
    fresh = np.minimum(committed, end) - first - used["carved"] * stride
    return {
        "freed_blocks": int(used["freed"] @ stride),
        "fresh_blocks": int(fresh.sum()),
        "slab_ends": int((first + np.maximum(0, committed - end)).sum()),
        "empty_slabs": int(slabs["committed"][is_pooled].sum()),
        "slabs_ahead": slabs_ahead(state, plan),
        "out": int(used["out"] @ stride),
    }


def _pooled(stores: Records, slabs: Records) -> list[int]:
    """Return the slabs in pools."""
    found, below = [], slabs["next"].tolist()
    for top in stores["retired"].tolist():
        slab = top
        while slab >= 0:
            found.append(slab)
            slab = below[slab]
    return found


def _large(state: State, plan: Plan) -> dict[str, int]:
    """Return the committed bytes of runs and mappings that are no live block's."""
    return {
        "run_caches": plan.design.row("run_cache_bytes").held_bytes(state),
        "free_runs": int(state.aged_run_bytes),
        "pages_ahead": (committed_pages(state, plan) - int(state.top)) * plan.page_bytes,
        "huge_cache": int(state.kept_pages) * plan.page_bytes,
    }


def _with_resident(found: Ledger, state: State, plan: Plan, listener: Listener) -> Ledger:
    """Add what the page tables say: the pages of slabs, runs and mappings, and all other pages of the library."""
    blocks = pages_for_blocks(state, plan, listener)
    resident = listener.counts().resident_bytes
    metadata = listener.resident_between(_HUGE_END, layout.END) + _heads(state, plan, listener)
    equal("resident bytes in the ledger", blocks + metadata, resident)
    return msgspec.structs.replace(found, untouched=found.committed - blocks, metadata=metadata, resident=resident)


def pages_for_blocks(state: State, plan: Plan, listener: Listener) -> int:
    """Return the resident bytes of slabs, runs and mappings."""
    return listener.resident_between(layout.SPAN, _HUGE_END) - _heads(state, plan, listener)


def _heads(state: State, plan: Plan, listener: Listener) -> int:
    """Return the resident bytes of the records at the heads of superslabs."""
    return sum(
        listener.resident_between(start, start + plan.head_slabs * plan.slab_bytes)
        for start in (_superslabs(state, plan) if plan.head_slabs else ())
    )


def _superslabs(state: State, plan: Plan) -> list[int]:
    """Return the model addresses of the superslabs of which a slab was handed out."""
    numbers = np.unique(state.slabs["place"][: state.slabs_made] // plan.slabs_per_superslab)
    return [layout.SPAN + number * plan.superslab_bytes for number in numbers.tolist()]
