"""The delay after which free pages go back to the system, for mallocs that have such a setting."""

from typing import NamedTuple

from heapsmith.model.knobs.evidence import DELAYS_MS
from heapsmith.model.knobs.series import Kept
from heapsmith.tools.common.units import amount
from heapsmith.tools.knobs.knob import MATERIAL, Asked

LEAST_KEPT = 1 << 20
"""Bytes that are kept in vain from which on a shorter delay is worth a setting."""


class Delay(NamedTuple):
    """A delay in milliseconds, -1: never; with its reason, and what the model says."""

    ms: int
    reason: str
    simulated: str


def advise(asked: Asked, default_ms: int) -> Delay | None:
    """Return another delay than the default, if it keeps less in vain at no cost, or saves faults within the room.

    Delays are those of DELAYS_MS. None without times.
    """
    kept = dict(zip((*DELAYS_MS, -1), asked.evidence.kept, strict=False))
    if not kept:
        return None
    now = kept[default_ms]
    if asked.favour != "memory":
        roomy = [ms for ms, one in kept.items() if one.idle - now.idle <= asked.room]
        ms = min(roomy, key=lambda one: (kept[one].faulted_again, kept[one].idle))
        if asked.is_material(now.time_ns(asked.costs) - kept[ms].time_ns(asked.costs)):
            return _delay(ms, kept[ms], now, asked)
    if asked.favour == "time":
        return None
    most_ns = now.time_ns(asked.costs) + (0.1 if asked.favour == "memory" else MATERIAL) * asked.time_ns
    cheap = [ms for ms, one in kept.items() if one.time_ns(asked.costs) <= most_ns]
    ms = min(cheap, key=lambda one: (kept[one].idle, -one))
    saved = now.idle - kept[ms].idle
    is_worth = saved >= LEAST_KEPT and saved >= 0.05 * asked.evidence.live_bytes
    return _delay(ms, kept[ms], now, asked) if is_worth else None


def _delay(ms: int, then: Kept, now: Kept, asked: Asked) -> Delay:
    """Return the delay with its words."""
    reason = (
        f"on average {amount(asked.evidence.live_bytes)} are live, and the default keeps {amount(now.idle)} in vain "
        f"and faults {amount(now.faulted_again)} in again"
    )
    return Delay(ms, reason, f"keeps {amount(then.idle)} in vain, faults {amount(then.faulted_again)} in again")
