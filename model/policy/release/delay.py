"""Delay: empty slabs and free runs give pages back when they have stayed empty for a while.

The clock counts what was freed since, in events or in bytes; or it is the time.
"""

from typing import Any, Literal

import msgspec

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.constants import NS_PER_MS
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import slab_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.parts.age import RUN_AGE, SLAB_AGE
from heapsmith.model.parts.committed import commit_calls
from heapsmith.model.policy.release.common import Advice, look_at_ages

NAME = "delay"
STATE = {"scalars": {"clock": 0, "looked": 0}}
"""clock: what was freed, as the delay counts it, or the time; looked: the clock at the last look at both age queues."""
RARE = True
AGES = True
BUDGETED = False
NUMBERS = ("release_delay", "release_delay_in_bytes", "release_most", "release_delay_in_milliseconds", "release_looks")
MAX_DELAY = 1 << 44
COSTS = {
    f"slab.retire.{NAME}": 16.11,
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


@kernel
def memory_freed(state: State, size: int) -> None:
    """Count on the clock, unless it is the time: an event that frees `size` bytes."""
    if state.release_delay_in_milliseconds == 0:
        state.clock += size if state.release_delay_in_bytes == 1 else 1


@kernel
def read_clock(state: State) -> None:
    """Let the clock be the time of the event under way, where it is the time."""
    if state.release_delay_in_milliseconds > 0:
        state.clock = int(state.time_ns[state.events - state.fed]) // NS_PER_MS
        state.clock_reads += 1


@kernel
def slab_stamp(state: State, gone: int) -> int:
    """Return the clock when the oldest slab joined the age queue, if another may leave it."""
    oldest = int(state.scalars[SLAB_AGE]["oldest"])
    if oldest < 0 or gone >= state.release_most:
        return 0
    read_clock(state)
    touch(state.listener, slab_at(state, oldest) + layout.SLAB_PREVIOUS, 0)
    return int(state.slabs[oldest]["stamp"])


@kernel
def run_stamp(state: State, gone: int) -> int:
    """Return the clock when the oldest run joined the age queue, if another may leave it."""
    oldest = int(state.scalars[RUN_AGE]["oldest"])
    if oldest < 0 or gone >= state.release_most:
        return 0
    read_clock(state)
    touch(state.listener, layout.RUN_STAMPS + oldest * layout.WORD, 0)
    return int(state.pages[oldest]["stamp"])


@kernel
def stamp_slab(state: State, slab: int) -> None:
    """Note when a slab joins the age queue."""
    read_clock(state)
    touch(state.listener, slab_at(state, slab) + layout.SLAB_PREVIOUS, 1)
    state.slabs[slab]["stamp"] = state.clock


@kernel
def stamp_run(state: State, first: int) -> None:
    """Note when a run joins the age queue."""
    read_clock(state)
    touch(state.listener, layout.RUN_STAMPS + first * layout.WORD, 1)
    state.pages[first]["stamp"] = state.clock


@kernel
def commit_stamps(state: State, first: int, pages: int) -> None:
    """Count the call that makes stamps of runs usable, a word per page."""
    state.memory_calls += commit_calls(first, pages, layout.WORD)


@kernel
def slow_path(state: State, heap: int) -> None:
    """Look at the age queues if the clock is the time and has moved since the last look."""
    if state.release_delay_in_milliseconds > 0:
        read_clock(state)
        if state.clock != state.looked:
            state.looked = state.clock
            look_at_ages(state)


def needs_time(design: Any) -> bool:
    """Return whether the clock is that of the trace."""
    return bool(design.release.unit == "milliseconds")
