"""What a new trace keeps of the samples of those that it is made of (docs/other-tools.md, 'what is kept')."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from heapsmith.model.trace.frames import Samples, Touched
from heapsmith.model.trace.kinds import Kinds

MOST_RESIDENT = 1024
"""The most points of the resident bytes, as the format says."""
MOST_THREADS = 1024
"""The most threads whose processor time is kept."""


class Place(NamedTuple):
    """Where the time of a trace lies in the new one.

    begin_ns: the time of its time 0. first_ns, last_ns: the part of its own time that the new trace has.
    ends: its process and memory are gone behind that part.
    """

    begin_ns: int = 0
    first_ns: int = 0
    last_ns: int = (1 << 63) - 1
    ends: bool = False


def carried(
    samples: Sequence[Samples | None], places: Sequence[Place], threads: Sequence[tuple[int, int]], *, whole: bool
) -> Samples | None:
    """Return the samples of a new trace; None if none of its traces has any.

    threads: of each new thread the number of its trace and its thread there. whole: the new trace has all
    blocks, so that the resident bytes mean something.
    """
    given = [one for one in samples if one is not None]
    if not given:
        return None
    resident, peak = _resident(samples, places) if whole else ([], 0)
    processor = []
    for trace, thread in threads[:MOST_THREADS]:
        one = samples[trace]
        processor.append(one.processor[thread] if one and thread < len(one.processor) else (0, 0))
    while processor and processor[-1] == (0, 0):  # of these threads nothing is known
        processor.pop()
    return Samples(_touched(given), resident, peak, processor, _kinds(samples, places) if whole else None)


def _kinds(samples: Sequence[Samples | None], places: Sequence[Place]) -> Kinds | None:
    """Return what was resident by kind of one process; that of several at one time is not known."""
    if len(samples) != 1 or samples[0] is None or samples[0].kinds is None:
        return None
    (place,) = places
    first_ns = place.first_ns if place.first_ns > 0 else -place.last_ns  # also those before the first event
    return samples[0].kinds.within(first_ns, place.last_ns, place.begin_ns)


def _touched(samples: Sequence[Samples]) -> list[Touched]:
    """Return the sums of the rows."""
    sums: dict[int, Touched] = {}
    for row in (row for one in samples for row in one.touched):
        old = sums.get(row.bytes, Touched(row.bytes, 0, 0, 0))
        sums[row.bytes] = Touched(row.bytes, old.blocks + row.blocks, old.pages + row.pages, old.touched + row.touched)
    return [sums[size] for size in sorted(sums)]


def _resident(samples: Sequence[Samples | None], places: Sequence[Place]) -> tuple[list[tuple[int, int]], int]:
    """Return the sum of the resident bytes over time, and the most that is known of it.

    Between two samples a process has the bytes of the earlier one.
    """
    steps = sorted(step for one, place in zip(samples, places, strict=True) if one for step in _steps(one, place))
    now, points = 0, {}
    for time, change in steps:
        now += change
        points[time] = now
    found = list(points.items())
    peaks = [one.resident_peak for one, place in zip(samples, places, strict=True) if one and _is_all(one, place)]
    peak = max([0, *points.values(), *peaks])
    while len(found) > MOST_RESIDENT:
        found = found[::2]
    return found, peak


def _is_all(samples: Samples, place: Place) -> bool:
    """Whether the new trace has the whole time of the samples, so that their peak is in it."""
    times = [time for time, _ in samples.resident]
    return not times or (place.first_ns <= times[0] and times[-1] <= place.last_ns)


def _steps(samples: Samples, place: Place) -> Iterator[tuple[int, int]]:
    """Yield changes of the resident bytes of one process, and when they were."""
    known = [(time, resident) for time, resident in samples.resident if time <= place.last_ns]
    earlier = [(place.first_ns, resident) for time, resident in known if time < place.first_ns]
    before, last = 0, 0
    for time, resident in earlier[-1:] + known[len(earlier) :]:
        last = max(0, time + place.begin_ns)
        yield last, resident - before
        before = resident
    if place.ends and before:
        yield max(last, place.last_ns + place.begin_ns), -before
