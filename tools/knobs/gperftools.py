"""Settings of gperftools' tcmalloc (environment) for traces. Source: gperftools 2.18, docs/tcmalloc.adoc."""

from heapsmith.model.knobs import classes
from heapsmith.model.search.capacities import LEVELS
from heapsmith.tools.common.units import amount
from heapsmith.tools.knobs.knob import MISS_NS, Asked, Knob, cached, percent

THREAD_CACHES = 32 << 20
RELEASE_RATE = "1.0"


def advise(asked: Asked) -> list[Knob]:
    """Return the settings that the traces give reason for."""
    return [*_caches(asked), *_release(asked)]


def shell(knobs: list[Knob]) -> dict[str, str]:
    """Return the variables of the environment."""
    return {one.name: one.value for one in knobs}


def _caches(asked: Asked) -> list[Knob]:
    """The bytes of all thread caches: what they would hold at most without a limit, if that is more."""
    curves, sizes = asked.evidence.jemalloc, classes.jemalloc_sizes()  # its own classes lie as densely
    whole = cached(curves, [LEVELS] * len(sizes), sizes)
    if whole.idle <= THREAD_CACHES or whole.idle - THREAD_CACHES > asked.room:
        return []
    births = sum(int(curve.misses[0]) for curve in curves)
    if not asked.is_material((births - whole.misses) * MISS_NS):
        return []
    reason = f"caches without a limit would hold up to {amount(whole.idle)} for {asked.evidence.threads} threads"
    said = f"{percent(births - whole.misses, births)} of the requests can be hits"
    name = "TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES"
    return [Knob(name, str(1 << (whole.idle - 1).bit_length()), str(THREAD_CACHES), reason, said)]


def _release(asked: Asked) -> list[Knob]:
    """The rate of release: 0 keeps all pages, 10 releases soon."""
    kept = asked.evidence.kept
    if not kept:
        return []
    soonest, never = kept[0], kept[-1]
    live = asked.evidence.live_bytes
    again = f"{amount(soonest.faulted_again)} would be faulted in again if free pages were released at once"
    if asked.favour == "memory" and never.idle - soonest.idle >= 0.05 * live:
        reason = f"up to {amount(never.idle)} are kept in vain while {amount(live)} are live; {again}"
        return [Knob("TCMALLOC_RELEASE_RATE", "10", RELEASE_RATE, reason, None)]
    if asked.favour == "time" and asked.is_material(soonest.time_ns(asked.costs)):
        return [Knob("TCMALLOC_RELEASE_RATE", "0", RELEASE_RATE, again, None)]
    return []
