"""Settings of glibc's malloc (GLIBC_TUNABLES) for traces. Source: glibc 2.36, its manual and malloc/malloc.c."""

from collections.abc import Callable

from heapsmith.model.knobs import classes
from heapsmith.model.knobs.arena import NEVER, TOP_PAD, Used
from heapsmith.model.knobs.evidence import GLIBC
from heapsmith.model.search.front_budget import CAPACITIES
from heapsmith.tools.common.units import amount
from heapsmith.tools.knobs import arenas
from heapsmith.tools.knobs.knob import LEAST_IDLE, MATERIAL, MISS_NS, MOST_IDLE, Asked, Cached, Knob, cached, percent

TCACHE_COUNT = 7
ARENAS_PER_CORE = 8
NEARLY = 0.005
"""The share of the requests that a smaller room may miss more."""
CALLS = 1000
"""Calls of brk that are worth a larger top_pad."""
MOST_PAD = 64 << 20


def advise(asked: Asked) -> list[Knob]:
    """Return the settings that the traces give reason for; none is as good as the default."""
    return [*_tcache(asked), *_arenas(asked), *_thresholds(asked), *_pages(asked)]


def shell(knobs: list[Knob]) -> dict[str, str]:
    """Return the variables of the environment."""
    return {"GLIBC_TUNABLES": ":".join(f"glibc.malloc.{one.name}={one.value}" for one in knobs)} if knobs else {}


def _tcache(asked: Asked) -> list[Knob]:
    """tcache_count: the room that saves most within the bytes that may be idle; or less, where many are idle."""
    curves, sizes = asked.evidence.tcache, [stride for stride, _, _ in classes.glibc().classes]

    def of(count: int) -> Cached:
        return cached(curves, [count] * len(curves), sizes)

    now = of(TCACHE_COUNT)
    allowed = [(count, of(count)) for count in CAPACITIES if count > TCACHE_COUNT]
    allowed = [(count, then) for count, then in allowed if then.idle - now.idle <= asked.room]
    if not allowed:
        return _idle(asked, now, of)
    least = min(then.misses for _, then in allowed)
    births = sum(int(curve.misses[0]) for curve in curves)
    # the smallest room with nearly all of the saving: what lies above it would only hold memory
    count, then = next(one for one in allowed if one[1].misses - least <= NEARLY * births)
    if not asked.is_material((now.misses - then.misses) * MISS_NS):
        return _idle(asked, now, of)
    reason = (
        f"of {births:,} requests up to {classes.GLIBC_LARGEST} bytes {percent(now.misses, births)} find a bin of "
        f"{TCACHE_COUNT} blocks empty, of one of {count} blocks {percent(then.misses, births)}"
    )
    said = f"{now.misses - then.misses:,} fewer misses, at most {amount(then.idle - now.idle)} more idle in tcaches"
    return [Knob("tcache_count", str(count), str(TCACHE_COUNT), reason, said)]


def _idle(asked: Asked, now: Cached, of: Callable[[int], Cached]) -> list[Knob]:
    """tcache_count: less room, where the caches of threads that do little hold much of what is live."""
    if asked.favour == "time":
        return []
    most_ns = (0.1 if asked.favour == "memory" else MATERIAL) * asked.time_ns
    fewer = [(count, of(count)) for count in range(TCACHE_COUNT)]
    count, then = next((one for one in fewer if (one[1].misses - now.misses) * MISS_NS <= most_ns), (TCACHE_COUNT, now))
    if now.idle - then.idle < max(LEAST_IDLE, MOST_IDLE["balanced"] * asked.evidence.peak_bytes):
        return []
    reason = f"the thread caches of {asked.evidence.threads:,} threads hold up to {amount(now.idle)}"
    said = f"at most {amount(now.idle - then.idle)} less idle in tcaches, {then.misses - now.misses:,} more misses"
    return [Knob("tcache_count", str(count), str(TCACHE_COUNT), reason, said)]


def _arenas(asked: Asked) -> list[Knob]:
    """arena_max: so few that threads seldom wait."""
    curves = asked.evidence.tcache
    # requests above the bins take the lock too
    large = asked.evidence.operations // 2 - sum(int(curve.misses[0]) for curve in curves)
    found = arenas.advise(asked, sum(int(curve.misses[TCACHE_COUNT]) for curve in curves) + max(0, large))
    if found is None:
        return []
    return [Knob("arena_max", str(found.number), f"{ARENAS_PER_CORE} per core", found.reason, found.simulated)]


def _thresholds(asked: Asked) -> list[Knob]:
    """mmap_threshold, trim_threshold and top_pad: setting one ends glibc's own moving of the first two, so both go."""
    used = asked.evidence.arenas
    now = used[0]
    if asked.favour == "memory":
        found = min(range(1, len(GLIBC)), key=lambda at: (used[at].average, used[at].time_ns(asked.costs)))
        # memory may not cost as much time as the whole allocator takes
        is_worth = now.average - used[found].average >= 0.05 * now.average
        is_worth &= used[found].time_ns(asked.costs) - now.time_ns(asked.costs) <= 0.1 * asked.time_ns
    else:
        fits = [at for at in range(1, len(GLIBC)) if _fits(asked, now, used[at])]
        found = min(fits, key=lambda at: (used[at].time_ns(asked.costs), at), default=0)
        is_worth = asked.is_material(now.time_ns(asked.costs) - used[found].time_ns(asked.costs))
    pad = _pad(asked)
    if not found or not is_worth:
        return []
    of, then = GLIBC[found], used[found]
    before, after = (one.maps + one.unmaps + one.trims for one in (now, then))
    said = (
        f"at most {amount(then.faulted)} faulted in instead of {amount(now.faulted)}, {after:,} calls of mmap, munmap "
        f"and trim instead of {before:,}, {amount(then.average)} held on average instead of {amount(now.average)}"
    )
    reason = f"by default {now.maps:,} blocks are mapped, and the top of the heap is trimmed up to {now.trims:,} times"
    trim = "4611686018427387903" if of.trim == NEVER else str(of.trim)
    return [
        Knob("mmap_threshold", str(of.mapped), "131072, moves up to 33554432", reason, said),
        Knob(
            "trim_threshold", trim, "131072, moves to twice the other", "setting mmap_threshold ends its moving", said
        ),
        *pad,
    ]


def _fits(asked: Asked, now: Used, then: Used) -> bool:
    """Return whether a setting holds no more bytes than may be."""
    return then.average - now.average <= asked.room and then.peak - now.peak <= asked.room


def _pad(asked: Asked) -> list[Knob]:
    grows = asked.evidence.arenas[0].grows
    if grows < CALLS or asked.favour == "memory":
        return []
    pad = min(MOST_PAD, max(TOP_PAD, asked.evidence.peak_bytes // 64))
    reason = f"the arena grows {grows:,} times by {TOP_PAD} bytes to {amount(asked.evidence.peak_bytes)}"
    return [Knob("top_pad", str(pad), str(TOP_PAD), reason, "one brk for as many bytes as this")]


def _pages(asked: Asked) -> list[Knob]:
    """hugetlb: transparent huge pages, for a heap that is large and stays so."""
    return [Knob("hugetlb", "1", "0", reason, None) for reason in huge_page_reason(asked)]


LEAST_HUGE = 128 << 20
"""Live bytes from which on huge pages are advised: with 4 KiB pages they need far more entries than the TLB has."""


def huge_page_reason(asked: Asked) -> list[str]:
    """Return why huge pages could help, or nothing."""
    evidence = asked.evidence
    if asked.favour == "memory" or evidence.live_bytes < LEAST_HUGE or evidence.live_bytes < evidence.peak_bytes / 2:
        return []
    pages = evidence.live_bytes / 4096
    return [f"on average {amount(evidence.live_bytes)} are live, in {pages:,.0f} pages of 4 KiB"]
