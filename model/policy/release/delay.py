"""Delay: empty slabs and free runs give pages back when they have stayed empty for a while.

The clock counts what was freed since, in events or in bytes; or it is the time.
"""

from typing import Any, Literal

import msgspec

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory.state import State
from heapsmith.model.policy.release.common import Advice

NAME = "delay"
RARE = True
AGES = True
BUDGETED = False
NUMBERS = ("release_delay", "release_delay_in_bytes", "release_most", "release_delay_in_milliseconds", "release_looks")
MAX_DELAY = 1 << 44
COSTS = {
    f"slab.retire.{NAME}": 16.12,
}


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """Empty slabs and free runs give pages back to the OS after a delay.

    delay: how long they stay empty; unit: events (slabs retired, runs freed, huge blocks unmapped),
    bytes of these, or milliseconds; most: the most slabs, or runs, that one event releases; advice:
    as for budget. No number bounds what is kept: a program that frees much and then nothing keeps
    all. In milliseconds a refill looks too, once per step of the clock: a program that goes on to
    refill gives back `most` slabs and runs per step, and one that goes idle for good keeps all.
    """

    delay: int = 256
    unit: Literal["events", "bytes", "milliseconds"] = "events"
    most: int = 2
    advice: Advice = "dontneed"


def why_not_valid(params: Params) -> str | None:
    """Return why these parameters make no release policy, or None."""
    for field, most in (("delay", MAX_DELAY), ("most", 1 << 20)):
        value = getattr(params, field)
        if not 1 <= value <= most:
            return f"{field}: {value} is out of range; expected 1 to {most}"
    return None


def numbers(design: Any) -> dict[str, int]:
    """Return the delay, its unit, and the most releases of an event."""
    release = design.release
    in_time = {"release_delay_in_milliseconds": 1, "release_looks": 1} if release.unit == "milliseconds" else {}
    return {
        "release_delay": release.delay,
        "release_delay_in_bytes": int(release.unit == "bytes"),
        "release_most": release.most,
    } | in_time


@kernel
def goes(state: State, aged_bytes: int, budget_bytes: int, least_bytes: int, stamp: int, gone: int) -> bool:
    """Return whether the oldest entry is old enough, and this event has not released too many."""
    return aged_bytes > 0 and gone < state.release_most and state.clock - stamp >= state.release_delay


@kernel
def grown(state: State, budget_bytes: int, needed_again_bytes: int) -> int:
    """Return the same budget: the delay is a number of the design."""
    return budget_bytes


def moments(design: Any) -> tuple[str, ...]:
    """Return the moments that the row answers."""
    return ("slow_path",) if design.release.unit == "milliseconds" else ()


def files(design: Any) -> dict[str, str]:
    """Return the headers of the row by what they are for."""
    return {
        "limit": "no_limit",
        "clock": "time" if design.release.unit == "milliseconds" else "ticks",
        "moments": "looks",
    }
