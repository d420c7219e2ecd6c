"""Settings of jemalloc (MALLOC_CONF) for traces. Source: jemalloc 5.3.1, its manual, TUNING.md and src/."""

from heapsmith.model.knobs import classes
from heapsmith.model.search.capacities import LEVELS
from heapsmith.tools.common.units import amount
from heapsmith.tools.knobs import arenas, decay
from heapsmith.tools.knobs.glibc import huge_page_reason
from heapsmith.tools.knobs.knob import MISS_NS, Asked, Cached, Knob, cached, percent

SMALL_MAX = 200
TCACHE_MAX = 32 << 10
LARGE_SLOTS = 20
DECAY_MS = 10_000
OVERSIZE = 8 << 20
BATCH = 10
"""The least blocks that a miss fetches: half of a cache of 20."""

LARGE_MISS_NS = 250.0
"""The time that a request above the slab classes takes in the arena more than in a thread cache (docs/compare.md)."""

LEAST_OVERSIZE = 16
"""Blocks of at least OVERSIZE that are worth a setting."""


def advise(asked: Asked) -> list[Knob]:
    """Return the settings that the traces give reason for."""
    return [*_arenas(asked), *_slots(asked), *_largest(asked), *_decay(asked), *_oversize(asked), *_pages(asked)]


def shell(knobs: list[Knob]) -> dict[str, str]:
    """Return the variables of the environment."""
    return {"MALLOC_CONF": ",".join(f"{one.name}:{one.value}" for one in knobs)} if knobs else {}


def _arenas(asked: Asked) -> list[Knob]:
    """narenas: so few that threads seldom wait. A miss fills its cache with a batch under one lock."""
    sizes = classes.jemalloc_sizes()
    large = [curve for curve, size in zip(asked.evidence.jemalloc, sizes, strict=True) if size > TCACHE_MAX]
    misses = _small(asked, SMALL_MAX, 1).misses // BATCH + sum(int(curve.misses[0]) for curve in large)
    found = arenas.advise(asked, misses)
    return [Knob("narenas", str(found.number), "4 per core", found.reason, found.simulated)] if found else []


def _small(asked: Asked, small_max: int, multiplier_log2: int) -> Cached:
    """Return what the caches of the classes of slabs do."""
    sizes = [size for size in classes.jemalloc_sizes() if size <= classes.JEMALLOC_SMALL]
    rooms = [min(LEVELS, classes.jemalloc_slots(size, small_max, multiplier_log2)) for size in sizes]
    return cached(asked.evidence.jemalloc[: len(sizes)], rooms, sizes)


def _slots(asked: Asked) -> list[Knob]:
    """lg_tcache_nslots_mul and tcache_nslots_small_max: more room for blocks of slabs."""
    now = _small(asked, SMALL_MAX, 1)
    found = None
    for multiplier_log2, small_max in ((1, 400), (3, 200), (3, 400), (5, 200), (5, LEVELS)):
        then = _small(asked, small_max, multiplier_log2)
        fits = then.idle - now.idle <= asked.room
        if fits and (found is None or now.misses - then.misses > 1.1 * (now.misses - found[2].misses)):
            found = multiplier_log2, small_max, then
    if found is None or not asked.is_material((now.misses - found[2].misses) * MISS_NS):
        return []
    multiplier_log2, small_max, then = found
    births = sum(int(curve.misses[0]) for curve in asked.evidence.jemalloc)
    reason = f"{percent(now.misses, births)} of {births:,} requests find their thread's cache empty"
    said = f"then {percent(then.misses, births)}, with at most {amount(then.idle - now.idle)} more idle"
    settings = [("lg_tcache_nslots_mul", multiplier_log2, 1), ("tcache_nslots_small_max", small_max, SMALL_MAX)]
    return [Knob(name, str(value), str(default), reason, said) for name, value, default in settings if value != default]


def _largest(asked: Asked) -> list[Knob]:
    """tcache_max: the largest class that thread caches hold."""
    sizes = classes.jemalloc_sizes()
    curves = asked.evidence.jemalloc
    above = [at for at, size in enumerate(sizes) if size > TCACHE_MAX]
    hits = idle = 0
    best, saved = None, 0
    for at in above:
        hits += int(curves[at].misses[0] - curves[at].misses[LARGE_SLOTS])
        idle += int(curves[at].most.clip(max=LARGE_SLOTS).sum()) * sizes[at]
        if idle > asked.room:
            break
        if hits > 1.05 * saved:
            best, saved = (sizes[at], hits, idle), hits
    if best is None or not asked.is_material(saved * LARGE_MISS_NS):
        return []
    largest, hits, idle = best
    births = sum(int(curves[at].misses[0]) for at in above)
    reason = f"{births:,} requests of {amount(TCACHE_MAX)} to {amount(sizes[-1])} go to the arena"
    said = f"{hits:,} of them then come from thread caches, which hold at most {amount(idle)} more"
    return [Knob("tcache_max", str(largest), str(TCACHE_MAX), reason, said)]


def _decay(asked: Asked) -> list[Knob]:
    found = decay.advise(asked, DECAY_MS)
    if found is None:
        return []
    return [Knob("dirty_decay_ms", str(found.ms), str(DECAY_MS), found.reason, found.simulated)]


def _oversize(asked: Asked) -> list[Knob]:
    """oversize_threshold: larger blocks have an arena of their own, which releases pages at once."""
    if asked.favour == "memory":
        return []
    sizes = asked.evidence.by_size
    large = sizes[sizes[:, 0] >= OVERSIZE]
    count, asked_bytes = int(large[:, 1].sum()), int((large[:, 0] * large[:, 1]).sum())
    again = asked_bytes - int(large[:, 0].max(initial=0))
    if count < LEAST_OVERSIZE or not asked.is_material(again / 4096 * asked.costs["fault.4k"]):
        return []
    reason = f"{count:,} blocks of {amount(OVERSIZE)} or more, {amount(asked_bytes)}, release their pages on free"
    return [Knob("oversize_threshold", "0", str(OVERSIZE), reason, None)]


def _pages(asked: Asked) -> list[Knob]:
    return [
        Knob(name, value, default, reason, None)
        for reason in huge_page_reason(asked)
        for name, value, default in (("thp", "always", "default"), ("metadata_thp", "auto", "disabled"))
    ]
