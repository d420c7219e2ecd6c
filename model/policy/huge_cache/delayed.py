"""Delayed unmapping: freed huge mappings wait for another request, and then go."""

from typing import Any

import msgspec

from heapsmith.model.constants import HUGE_KEPT_MAPPINGS

NAME = "delayed"
NUMBERS = ("huge_kept_mappings", "huge_kept_bytes", "huge_delay", "huge_slack_percent")
MAX_DELAY = 1 << 44


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """A freed huge mapping waits for a request that fits, and is unmapped later.

    kept_bytes: bytes that wait together, of at most 16 mappings; delay: huge blocks that are freed
    before it goes; slack_percent: how much longer than the request it may be (its end goes back).
    A reused mapping saves two system calls and the faults of its pages. What waits is resident, and
    a program that frees its last huge block keeps it.
    """

    kept_bytes: int = 33_554_432
    delay: int = 32
    slack_percent: int = 25


def why_not_valid(params: Params) -> str | None:
    """Return why there is no such cache, or None."""
    for field, low, most in (("kept_bytes", 4096, 1 << 40), ("delay", 1, MAX_DELAY), ("slack_percent", 0, 1000)):
        value = getattr(params, field)
        if not low <= value <= most:
            return f"{field}: {value} is out of range; expected {low} to {most}"
    return None


def numbers(design: Any) -> dict[str, int]:
    """Return the bounds of what waits, and the slack."""
    cache = design.huge_cache
    return {
        "huge_kept_mappings": HUGE_KEPT_MAPPINGS,
        "huge_kept_bytes": cache.kept_bytes,
        "huge_delay": cache.delay,
        "huge_slack_percent": cache.slack_percent,
    }
