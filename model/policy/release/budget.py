"""Budget: empty slabs and free runs each keep some bytes of pages; the oldest give pages back.

The age queues are FIFOs: age is counted in bytes freed since, not in seconds. Near a limit on memory,
and near the heap's own peak, both budgets count as 0.
"""

from typing import Any

import msgspec

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.constants import BUDGET_GROWTH, NEVER, PAGE, SHARE_WAIT_PARTS, SHRUNK
from heapsmith.model.memory.layout import TOTAL_COMMITTED
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.parts.slab_questions import cache_lines, release_kept, spill_locks, spills_run
from heapsmith.model.policy.release.common import Advice, look_at_ages

NAME = "budget"
SCALARS = ("share_peak", "share_waited", "share_seen", "share_gave", "share_learned", "peak_left")
STATE = {"scalars": dict.fromkeys(SCALARS, 0)}
"""share_peak: the most committed bytes in use that were seen; share_waited: bytes freed since the heap has shrunk;
share_seen: what waited in both queues at the last miss that counted; share_gave: whether the heap gave back by its
share since it rose last; share_learned: the patience that it learned from that; peak_left: the most committed bytes
while nothing waited, with four times what was needed again."""
DEFAULT = True
AGES = True
BUDGETED = True
NUMBERS = ("release_looks", "limit_percent", "limit_bytes", "limit_mark_bytes")
RARE_NUMBERS = ("release_looks", "limit_mark_bytes")
MAX_BUDGET = 1 << 44
MAX_SHARE = 10_000
COSTS = {
    f"slab.retire.{NAME}": 10.93,
}


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """The oldest empty slabs and free runs give their pages back to the OS.

    slab_budget_bytes: committed bytes that empty slabs keep; run_budget_bytes: committed bytes that
    free runs keep; most_budget_bytes: the limit of either budget as it grows when released pages
    are needed again; advice: dontneed releases pages at once (MADV_DONTNEED), free lets the OS take
    pages when it wants (MADV_FREE). limit_percent: where committed bytes exceed this share of the
    limit on memory, all of these pages go back as needed, and freed runs and mappings too that wait
    in caches; 0: never. limit_bytes: the limit; 0: in a program that of its control group, in the
    model none. share_percent: in a heap that has shrunk to less than half,
    neither empty slabs nor free runs keep more than this share of the committed bytes in use, however
    large their budget has grown; 0: no such bound. share_slab_bytes,
    share_run_bytes: so much they keep whatever the share is. share_wait_bytes: the bound holds once this
    many bytes were freed since the heap has shrunk, where misses count too, and more where it often
    needs again what it gave back; 0: at once. share_wait_percent: a heap waits for this share of the most that
    it had, but for an eighth of share_wait_bytes at least and for all of them at most; 0: for all of them.
    peak_percent: where committed bytes exceed this share of the most that they have been, these pages
    go back as needed, so that what waits serves what is new; 0: never.
    """

    slab_budget_bytes: int = 4_194_304
    run_budget_bytes: int = 1_048_576
    most_budget_bytes: int = 67_108_864
    advice: Advice = "dontneed"
    limit_percent: int = 0
    limit_bytes: int = 0
    share_percent: int = 0
    share_slab_bytes: int = 0
    share_run_bytes: int = 0
    share_wait_bytes: int = 0
    share_wait_percent: int = 0
    peak_percent: int = 0


def why_not_valid(params: Params) -> str | None:
    """Return why these parameters make no release policy, or None."""
    sizes = ("slab_budget_bytes", "run_budget_bytes", "most_budget_bytes")
    for field in (*sizes, "share_slab_bytes", "share_run_bytes", "share_wait_bytes"):
        value = getattr(params, field)
        if not 0 <= value <= MAX_BUDGET:
            return f"{field}: {value} is out of range; expected 0 to {MAX_BUDGET} bytes"
    if not 0 <= params.limit_percent <= 100:
        return f"limit_percent: {params.limit_percent} is out of range; expected 0 to 100"
    if not 0 <= params.peak_percent <= 100:
        return f"peak_percent: {params.peak_percent} is out of range; expected 0 to 100"
    if not 0 <= params.share_percent <= MAX_SHARE:
        return f"share_percent: {params.share_percent} is out of range; expected 0 to {MAX_SHARE}"
    if params.limit_bytes and not PAGE <= params.limit_bytes <= MAX_BUDGET:
        return f"limit_bytes: {params.limit_bytes} is out of range; expected 0, or {PAGE} to {MAX_BUDGET} bytes"
    if not 0 <= params.share_wait_percent <= 100:
        return f"share_wait_percent: {params.share_wait_percent} is out of range; expected 0 to 100"
    if params.share_wait_percent and not params.share_wait_bytes:
        return "share_wait_percent: expected share_wait_bytes too, the most that a heap waits"
    if params.share_wait_bytes and not params.share_percent:
        return "share_wait_bytes: expected share_percent too, the bound that waits"
    if params.limit_bytes and not params.limit_percent:
        return "limit_bytes: expected limit_percent too, the share of the limit from which pages go back"
    return None


def numbers(design: Any) -> dict[str, int]:
    """Return the limit and its mark, where the design keeps away from one."""
    release = design.release
    if release.limit_percent == 0:
        return {}
    return {
        "release_looks": 1,
        "limit_percent": release.limit_percent,
        "limit_bytes": release.limit_bytes,
        "limit_mark_bytes": release.limit_bytes * release.limit_percent // 100 or NEVER,
    }


@kernel
def grown(state: State, budget_bytes: int, needed_again_bytes: int) -> int:
    """Return the budget after released pages were needed again."""
    if state.peak_percent > 0:
        state.peak_left += BUDGET_GROWTH * needed_again_bytes
    return max(budget_bytes, min(budget_bytes + BUDGET_GROWTH * needed_again_bytes, state.most_budget_bytes))


@kernel
def goes(state: State, aged_bytes: int, budget_bytes: int, least_bytes: int, stamp: int, gone: int) -> bool:
    """Return whether the age queue exceeds its budget, which is 0 near the limit, or its share of a shrunk heap."""
    if aged_bytes > budget_bytes:
        return True
    return aged_bytes > 0 and (exceeds_share(state, aged_bytes, least_bytes) or is_short(state) or nears_peak(state))


@kernel
def bytes_in_use(state: State) -> int:
    """Return the committed bytes of both spans that do not wait."""
    touch(state.listener, TOTAL_COMMITTED, 0)
    return int(state.committed - state.huge_committed - state.aged_slab_bytes - state.aged_run_bytes)


@kernel
def patience(state: State) -> int:
    """Return how many bytes a heap waits; at most what its fall from half of its peak frees and the least."""
    least = int(state.share_wait_bytes)
    if state.share_wait_percent > 0:
        of_most = int(state.share_peak) * int(state.share_wait_percent) // 100
        least = min(least, max(least // SHARE_WAIT_PARTS, of_most))
    return least + min(int(state.share_learned), int(state.share_peak) // SHRUNK)


@kernel
def shrunk_for_long(state: State) -> bool:
    """Return whether the heap has shrunk, and was patient since."""
    used = bytes_in_use(state)
    state.share_peak = max(int(state.share_peak), used)
    if SHRUNK * used < state.share_peak:
        return bool(state.share_waited >= patience(state))
    state.share_learned += state.share_gave * state.share_lesson_bytes
    state.share_waited = state.share_gave = 0
    return False


@kernel
def over_share(state: State, aged_bytes: int, least_bytes: int) -> bool:
    """Return whether this much is more than the share of what is in use."""
    return aged_bytes > least_bytes and 100 * aged_bytes > state.share_percent * bytes_in_use(state)


@kernel
def any_over_share(state: State) -> bool:
    """Return whether a queue is over its share."""
    return over_share(state, state.aged_slab_bytes, state.share_slab_bytes) or over_share(
        state, state.aged_run_bytes, state.share_run_bytes
    )


@kernel
def exceeds_share(state: State, aged_bytes: int, least_bytes: int) -> bool:
    """Return whether a heap that has shrunk for long keeps too much; when it does no more, its next peak begins."""
    if state.share_percent == 0 or not shrunk_for_long(state):
        return False
    if over_share(state, aged_bytes, least_bytes):
        state.share_gave = 1
        return True
    patient = state.share_wait_bytes > 0 and state.share_waited >= SHRUNK * patience(state)
    if patient and not any_over_share(state):
        state.share_peak, state.share_waited = bytes_in_use(state), 0
    return False


@kernel
def share_is_due(state: State) -> bool:
    """Count a miss while much waits; return whether the heap has shrunk for long and a queue is over its share."""
    if state.share_wait_bytes == 0:
        return False
    if state.aged_slab_bytes <= state.share_slab_bytes and state.aged_run_bytes <= state.share_run_bytes:
        return False
    aged = int(state.aged_slab_bytes + state.aged_run_bytes)
    if aged < state.share_seen:
        state.share_waited = max(0, int(state.share_waited) - state.share_drawn_bytes)
    else:
        state.share_waited += state.share_miss_bytes
    state.share_seen = aged
    due = shrunk_for_long(state) and any_over_share(state)
    state.share_gave = max(int(state.share_gave), int(due))
    return due


@kernel
def memory_freed(state: State, size: int) -> None:
    """Count what was freed for the patience of a heap that has shrunk."""
    if state.share_wait_bytes > 0:
        state.share_waited += size


@kernel
def is_short(state: State) -> bool:
    """Return whether committed bytes exceed the mark of the limit, if there is one."""
    if state.limit_mark_bytes == 0:
        return False
    touch(state.listener, TOTAL_COMMITTED, 0)
    return bool(state.committed > state.limit_mark_bytes)


@kernel
def nears_peak(state: State) -> bool:
    """Return whether committed bytes exceed the design's share of the heap's peak."""
    if state.peak_percent == 0:
        return False
    touch(state.listener, TOTAL_COMMITTED, 0)
    return bool(state.committed > state.peak_left * state.peak_percent // 100)


@kernel
def peak_is_due(state: State) -> bool:
    """Return whether the heap nears its peak while something waits; where nothing does, its peak rises."""
    if not nears_peak(state):
        return False
    if state.aged_slab_bytes + state.aged_run_bytes > 0:
        return True
    state.peak_left = max(int(state.peak_left), int(state.committed))
    return False


def moments(design: Any) -> tuple[str, ...]:
    """Return the moments that the row answers."""
    release = design.release
    return ("slow_path",) if release.limit_percent or release.share_wait_bytes or release.peak_percent else ()


def files(design: Any) -> dict[str, str]:
    """Return the headers of the row by what they are for."""
    limit = "limit" if design.release.limit_percent else "no_limit"
    clock = "share_clock" if design.release.share_wait_bytes else "no_clock"
    return {"limit": limit, "clock": clock, "moments": "looks"}


@kernel
def slow_path(state: State, heap: int) -> None:
    """Release as much as brings the heap down to its share or its mark, for a thread of `heap` (-1: none)."""
    if not (is_short(state) or peak_is_due(state) or share_is_due(state)):
        return
    look_at_ages(state)
    if not is_short(state):
        return
    if heap >= 0:
        cache_lines(state, heap)
    while heap >= 0 and state.committed > state.limit_mark_bytes and spills_run(state, heap):
        pass
    unmapped = state.huge_unmap
    release_kept(state)
    state.locks_look += spill_locks(state) + 1 + state.huge_unmap - unmapped


@kernel
def large_came(state: State, heap: int) -> None:
    """Look as after a miss, if the heap is near its limit or its peak: large blocks miss no front."""
    if is_short(state) or peak_is_due(state):
        slow_path(state, heap)
