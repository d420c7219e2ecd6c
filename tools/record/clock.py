"""What the recorder says of itself: the clock of its stamps, their cost, and whether it tells processors."""

import ctypes
import os
from typing import NamedTuple

_CHECKED_PROCESSORS = 16  # of which it is checked that the recorder tells them


class Moment(NamedTuple):
    stamp: int  # TSC
    ns: int  # CLOCK_MONOTONIC


def now_of(recorder: ctypes.CDLL) -> Moment:
    """The clock of the recorder's stamps."""
    pair = (ctypes.c_uint64 * 2)()
    recorder.heapsmith_clock(pair)
    return Moment(*pair)


def record_ticks(recorder: ctypes.CDLL) -> float:
    """What the hot path costs per record with a stamp."""
    recorder.heapsmith_record_ticks.restype = ctypes.c_double
    return float(recorder.heapsmith_record_ticks())


def tells_processors(recorder: ctypes.CDLL) -> bool:
    """Whether the recorder tells processors as Linux numbers them: not on each virtual machine."""
    allowed = os.sched_getaffinity(0)
    try:
        for processor in sorted(allowed)[:_CHECKED_PROCESSORS]:
            os.sched_setaffinity(0, {processor})
            if recorder.heapsmith_processor() != processor:
                return False
    except OSError:  # a sandbox
        return False
    finally:
        os.sched_setaffinity(0, allowed)
    return True
