"""The equations of docs/machine.md, checked on the whole state of a simulator; slow, for tests."""

from collections import Counter
from collections.abc import Iterator

import numpy as np

from heapsmith.model.compile.kernel import Records
from heapsmith.model.design.plan import Plan
from heapsmith.model.heap.idle import in_slots, levels_below, stretch_blocks, stretches
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import GUARDED_CODE, HUGE_CODE, RUN_CODE
from heapsmith.model.memory.page_size import plain
from heapsmith.model.memory.state import State
from heapsmith.model.parts.age import AGES
from heapsmith.model.parts.equations import equal, fifo
from heapsmith.model.parts.front_questions import capacity_of, pool_of
from heapsmith.model.parts.fronts import quarantine_base
from heapsmith.model.parts.large import large_bytes
from heapsmith.model.parts.runs import bin_of, committed_end
from heapsmith.model.parts.slab_questions import store_to
from heapsmith.model.parts.store import is_available
from heapsmith.model.policy.choice.common import chain


def check(state: State, plan: Plan) -> None:
    """Raise CheckFailed with the first equation that does not hold."""
    pooled = _check_pools(state, plan)
    unmapping = plan.design.row("unmapping")
    unused = pooled | (unmapping.unused_slabs(state, plan, pooled) if hasattr(unmapping, "unused_slabs") else set())
    _check_slabs(state, plan, unused)
    _check_available(state, plan, unused)
    _check_blocks(state, plan)
    cached = _cached_runs(state, plan)
    given_back = _check_runs(state, plan, cached)
    _check_committed(state, plan, given_back)
    _check_counters(state, plan, unused, len(cached))


def _check_pools(state: State, plan: Plan) -> set[int]:
    """Check that each empty slab is in exactly one pool; return these slabs."""
    pooled: list[int] = []
    own, has_shards = not plan.design.row("ownership").IN_RECORD, hasattr(plan.design.row("shards"), "HAS_POOLS")
    for place, record in enumerate(state.stores):
        heap, first = divmod(place, plan.class_count)
        pool = chain(state, int(record["retired"]))
        for slab in pool:
            found = int(state.slabs[slab]["owner"]), int(state.slabs[slab]["out"])
            equal(f"slab {slab} in a pool: owner, out", found, (heap if own else -1, 0))
            shard = int(state.slabs[slab]["shard"]) if has_shards else 0
            found = heap if own else shard, pool_of(state, int(state.slabs[slab]["class"]))
            equal(f"pool of slab {slab}", found, (heap, first))
        pooled += pool
    equal("slabs in two pools", len(pooled) - len(set(pooled)), 0)
    dirty = {slab: int(state.slabs[slab]["committed"]) for slab in pooled if state.slabs[slab]["committed"] > 0}
    _check_age_queue(state, plan, "slab", state.slabs, dirty)
    return set(pooled)


def _check_age_queue(state: State, plan: Plan, kind: str, records: Records, dirty: dict[int, int]) -> None:
    """Check that the age queue holds exactly the items with committed bytes, within any budget."""
    members = fifo(f"age queue of {kind}s", records, state.scalars[AGES[kind]])
    equal(f"age queue of {kind}s", sorted(members), sorted(dirty))
    aged = getattr(state, f"aged_{kind}_bytes")
    equal(f"aged_{kind}_bytes", aged, sum(dirty.values()))
    if plan.design.row("release").BUDGETED:
        equal(f"aged_{kind}_bytes within the budget", aged <= getattr(state, f"{kind}_budget_bytes"), True)


def _freed(state: State, plan: Plan, slab: int) -> list[int]:
    """Return the indices of the freed blocks of a slab."""
    found: list[int] = plan.design.row("freed_blocks").members(state, slab)
    return found


def _check_slabs(state: State, plan: Plan, unused: set[int]) -> None:
    """Check out + freed == carved <= blocks, the freed blocks, and distinct places."""
    slabs = state.slabs[: state.slabs_made]
    inside = slabs["place"] % plan.slabs_per_superslab - (
        plan.slabs_per_superslab - plan.guard_slabs - plan.block_slabs
    )
    equal("slabs in use that are not for blocks", int(((inside < 0) | (inside >= plan.block_slabs)).sum()), 0)
    equal("slabs in one place", len(set(slabs["place"].tolist())), len(slabs))
    if not plan.design.row("ownership").IN_RECORD:
        used = np.delete(slabs, sorted(unused))
        owners = {(int(slab["place"]) // plan.slabs_per_superslab, int(slab["owner"])) for slab in used}
        equal("heaps of each superslab", len(owners), len({superslab for superslab, _ in owners}))
    for slab in set(range(len(slabs))) - unused:
        record, row = slabs[slab], state.classes[slabs[slab]["class"]]
        freed = _freed(state, plan, slab)
        equal(f"slab {slab}: out + freed", int(record["out"] + record["freed"]), int(record["carved"]))
        equal(f"slab {slab}: carved <= blocks", bool(record["carved"] <= row["blocks"]), True)
        equal(f"slab {slab}: freed blocks", len(set(freed)), int(record["freed"]))
        equal(f"slab {slab}: freed blocks never out", [index for index in freed if index >= record["carved"]], [])


def _check_available(state: State, plan: Plan, unused: set[int]) -> None:
    """Check that slab choice knows exactly the available slabs."""
    members = plan.design.row("slab_choice").members
    listed = [(store, slab) for store in range(len(state.stores)) for slab in members(state, store)]
    expected: list[tuple[int, int]] = []
    for slab in set(range(state.slabs_made)) - unused:
        cls = int(state.slabs[slab]["class"])
        if is_available(state, slab, cls):
            expected.append((store_to(state, slab, cls), slab))
    equal("(store, slab) available", sorted(listed), sorted(expected))


def _handles(state: State, plan: Plan) -> Iterator[int]:
    """Yield the handles of all blocks outside slabs: live, in fronts, on lists, in quarantines."""
    yield from (int(block) for block in state.blocks["handle"] if block >= 0)
    yield from map(int, plan.design.row("transfer_bytes").waiting_blocks(state))
    slotted = in_slots(state, len(state.fronts)).tolist()
    for front, record in enumerate(state.fronts):
        most = capacity_of(state, front, front % len(state.classes))
        equal(f"front {front}: held <= capacity", bool(record["held"] <= most), True)
        base = int(record["base"])
        for index in range(slotted[front]):
            yield int(state.slots[base + (int(record["head"]) + index) % most])
    listed = np.zeros(len(state.fronts), np.int64)
    for depth, level in enumerate(levels_below(state, len(state.fronts)), 1):
        for front, base, head, held, room in zip(*(column.tolist() for column in level), strict=True):
            equal(f"front {front}: level {depth} holds its capacity at most", held <= room, True)
            listed[front] += held
            yield from (int(state.slots[base + (head + index) % room]) for index in range(held))
    for front, first, length in stretches(state, len(state.fronts)):
        room = int(state.classes[front % len(state.classes)]["stretch"])
        equal(f"front {front}: a stretch within its capacity", length <= room, True)
        listed[front] += length * int(state.classes[front % len(state.classes)]["stretch_depth"] > 0)
        yield from stretch_blocks(first, length)
    equal("blocks below level 0, by front", state.fronts["listed"].tolist(), listed.tolist())
    for heap in range(state.heaps_made):
        yield from _quarantined(state, plan, heap)
        for owner, first in plan.design.row("remote").chains(state, heap):
            node = first
            while node >= 0:
                block = int(state.nodes[node]["block"])
                equal("owner of a remote block", int(state.slabs[block >> layout.SLAB_SHIFT]["owner"]), owner)
                yield block
                node = int(state.nodes[node]["next"])


def _quarantined(state: State, plan: Plan, heap: int) -> Iterator[int]:
    """Yield the handles of the blocks in a heap's quarantine, the oldest first."""
    limit, held = plan.quarantine, int(state.heaps[heap]["quarantined"])
    equal(f"heap {heap}: quarantined <= quarantine", held <= limit, True)
    base = quarantine_base(state, heap)
    for index in range(held):
        yield int(state.slots[base + (int(state.heaps[heap]["quarantine_head"]) + index) % limit])


def _check_blocks(state: State, plan: Plan) -> None:
    """Check that every block is in one place, the counts `out`, and the sums of live blocks."""
    handles = list(_handles(state, plan))
    equal("blocks in two places", len(handles) - len(set(handles)), 0)
    small = [handle for handle in handles if handle < RUN_CODE]
    out = Counter(handle >> layout.SLAB_SHIFT for handle in small)
    for slab in range(state.slabs_made):
        equal(f"slab {slab}: out", int(state.slabs[slab]["out"]), out[slab])
    freed = {slab: set(_freed(state, plan, slab)) for slab in out}
    for handle in small:
        row, index = state.slabs[handle >> layout.SLAB_SHIFT], (handle >> layout.INDEX_SHIFT) & layout.INDEX_MASK
        equal(f"block {handle}: class", handle & layout.CLASS_MASK, int(row["class"]))
        equal(f"block {handle} was carved", bool(index < row["carved"]), True)
        equal(f"block {handle} is freed", index in freed[handle >> layout.SLAB_SHIFT], False)
    live = [(int(handle), int(asked)) for handle, asked in state.blocks if handle >= 0]
    held = sum(
        int(state.classes[handle & layout.CLASS_MASK]["stride"])
        if handle < RUN_CODE
        else plain(large_bytes, plan.page_bytes)(state, handle, asked)
        for handle, asked in live
    )
    found = tuple(int(state.scalars[0][name]) for name in ("live_blocks", "live_bytes", "live_block_bytes"))
    equal("live blocks, bytes, block bytes", found, (len(live), sum(asked for _, asked in live), held))


def _cached_runs(state: State, plan: Plan) -> set[int]:
    """Check the run caches; return the first pages of all cached runs."""
    cached: list[int] = plan.design.row("run_cache_bytes").cached_runs(state)
    equal("runs in two caches", len(cached) - len(set(cached)), 0)
    return set(cached)


def _check_runs(state: State, plan: Plan, cached: set[int]) -> int:
    """Check that runs tile the pages below the top and that free runs are binned and not adjacent.

    Returns the number of pages below the top that are not committed.
    """
    live = cached | {int(handle) - RUN_CODE for handle in state.blocks["handle"] if RUN_CODE <= handle < HUGE_CODE}
    free: dict[int, int] = {}
    page, after_free, top, given_back = 0, False, state.top, 0
    while page < top:
        pages, is_free = int(state.pages[page]["run"]), bool(state.pages[page]["free"])
        equal(f"run at page {page}: live", page in live, not is_free)
        equal(f"free run at page {page} follows a free run", is_free and after_free, False)
        if is_free:
            free[page] = pages
            committed = _check_extents(state, page, page + pages)
            equal(f"free run at page {page}: dirty", int(state.pages[page]["dirty"]), committed)
            given_back += pages - committed
            equal(f"free run at page {page}: tag at its end", int(state.pages[page + pages - 1]["back"]), pages)
        live.discard(page)
        page, after_free = page + pages, is_free
    equal("page after the last run, live runs beyond", (page, live), (top, set()))
    dirty = {run: int(state.pages[run]["dirty"]) * plan.page_bytes for run in free if state.pages[run]["dirty"] > 0}
    _check_age_queue(state, plan, "run", state.pages, dirty)
    for place, head in enumerate(state.bins):
        run = int(head)
        while run >= 0:
            equal(f"bin of the free run at page {run}", bin_of(free.pop(run, 0)), place)
            run = int(state.pages[run]["next"])
    equal("free runs in no bin", free, {})
    return given_back


def _check_extents(state: State, page: int, end: int) -> int:
    """Check that extents fill a free run, alternate, have both tags; return the committed pages."""
    committed, before = 0, -1
    while page < end:
        extent, holds = int(state.pages[page]["extent"]), int(state.pages[page]["holds"])
        equal(f"extent at page {page} lies in its run", 0 < extent <= end - page, True)
        last = state.pages[page + extent - 1]
        equal(f"extent at page {page}: tag at its end", (int(last["extent"]), int(last["holds"])), (extent, holds))
        equal(f"extent at page {page} is like the one before", holds == before, False)
        committed += extent * holds
        page, before = page + extent, holds
    return committed


def slabs_ahead(state: State, plan: Plan) -> int:
    """Return the committed bytes of slabs that no class had yet: superslabs on huge pages are committed whole."""
    return int((state.stores["left"] * state.stores["next_huge"]).sum()) * plan.slab_bytes


def committed_pages(state: State, plan: Plan) -> int:
    """Return the committed pages of the run span, if none went back: up to a huge page's or a batch's end."""
    return int(plain(committed_end, plan.page_bytes)(state, state.top))


def _check_committed(state: State, plan: Plan, given_back: int) -> None:
    """Check that committed is the sum of slabs, runs and mappings, without pages that went back.

    With huge pages, the sum includes slabs without a class yet and the rest of the top's huge page;
    with batches, the rest of the top's batch.
    """
    slabs = int(state.slabs["committed"][: state.slabs_made].sum())
    slabs += slabs_ahead(state, plan)
    pages = committed_pages(state, plan) - given_back
    live = [(int(handle), int(asked)) for handle, asked in state.blocks if handle >= HUGE_CODE]
    huge = sum(plain(large_bytes, plan.page_bytes)(state, handle, asked) for handle, asked in live)
    equal("committed", state.committed, slabs + (pages + state.kept_pages) * plan.page_bytes + huge)
    waiting = state.kept[: state.kept_mappings]["pages"]
    equal("pages of mappings that wait", int(waiting.sum()), state.kept_pages)
    equal("committed <= committed_peak", state.committed <= state.committed_peak, True)


def _check_counters(state: State, plan: Plan, unused: set[int], cached: int) -> None:
    """Check that the counters of arrivals and departures agree with the state."""
    transfer = plan.design.row("transfer_bytes")
    counts, totals, waits = state.classes, state.scalars[0], transfer.waiting(state)
    transfer.check_batches(state)
    in_use = Counter(int(state.slabs[slab]["class"]) for slab in set(range(state.slabs_made)) - unused)
    for cls, row in enumerate(counts):
        brought = int(row["carve"] + row["reuse"] + row["transfer_out"])
        equal(f"class {cls}: carve + reuse + transfer_out", brought, int(row["refilled"] + row["topped"]))
        kept = int(row["transfer_in"] - row["transfer_out"] - row["transfer_back"])
        equal(f"class {cls}: transfer_in - transfer_out - transfer_back", kept, int(waits[cls]))
        equal(f"class {cls}: acquire - retire", int(row["acquire"] - row["retire"]), in_use[cls])
    equal("background_blocks", int(totals["background_blocks"]), int(counts["topped"].sum()))
    came = sum(int(counts[name].sum()) for name in ("hit0", "hit1", "refill")) - state.failed_refills
    came += sum(int(totals[name]) for name in ("run_reuse", "run_grow", "huge_map"))
    went = sum(int(counts[name].sum()) for name in ("push", "direct", "remote")) - int(counts["drained"].sum())
    went += sum(int(totals[name]) for name in ("run_free", "huge_unmap"))
    held_back = int(state.heaps["quarantined"].sum())
    guarded = int((state.blocks["handle"] >= GUARDED_CODE).sum())  # no counter has them
    equal("allocations - frees", came - went - cached - held_back - state.kept_mappings + guarded, state.live_blocks)
    equal("run_spill <= run_free", bool(totals["run_spill"] <= totals["run_free"]), True)
