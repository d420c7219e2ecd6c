"""Looks again and again at what is resident of processes, as long as that takes little time."""

import time

from heapsmith.tools.common.smaps import Look, count_mappings, look_at, shared_devices

MOST_LOOKS = 500
"""The looks at one program that are kept: where there are more, every second one goes."""
SHARE, FREE_S, FREE_SHARE = 0.01, 0.05, 0.05
"""The part of a processor's time that the looks may take; the seconds of it that they may take at the begin of the
command, and the part of the time that these may be."""
FIRST_NS, GROWTH, LONG_NS = 1_000_000, 1 / 4, 100_000_000
"""The time from one look to the next, at first; the part of its life that a program waits for the next one; and the
longest, which doubles whenever looks go."""
RISE, RISE_BYTES = 1 / 8, 1 << 20
"""A look does not wait where the resident bytes exceed the most that were seen by this part and these bytes."""
MAPPING_S, FEW_MAPPINGS = 11e-6, 1_000
"""The time that a look takes for each mapping, about; a look at so few ends in little time."""
_KEPT_BYTES = 64 << 20
_AREA_BYTES = 200  # that an area takes, about


class Series:
    """The looks at one program in a process.

    seen_ns: when it was last seen to be there (CLOCK_MONOTONIC). closed: nobody may look at it. needs_s: the time that
    a look at its mappings takes at least.
    """

    def __init__(self) -> None:
        self.looks: list[Look] = []
        self.seen_ns, self.closed, self.needs_s = 0, False, 0.0
        self._long_ns, self._most, self._bytes = LONG_NS, 0, 0
        self._devices: frozenset[bytes] | None = None

    def is_due(self, now_ns: int, resident: int) -> bool:
        """Whether it is time for a look at a program with these resident bytes."""
        if not self.looks or self.rises(resident):
            return True
        first_ns, last_ns = self.looks[0].begin_ns, self.looks[-1].begin_ns
        return now_ns - last_ns >= min(self._long_ns, FIRST_NS + GROWTH * (last_ns - first_ns))

    def rises(self, resident: int) -> bool:
        """Whether these resident bytes are clearly more than the most that were seen."""
        return resident > self._most * (1 + RISE) + RISE_BYTES

    def look(self, pid: int, own: tuple[bytes, ...]) -> None:
        """Look. Raises as look_at does."""
        if self._devices is None:
            self._devices = shared_devices(pid)
        found = look_at(pid, own, self._devices)
        self.looks.append(found)
        self._most = max(self._most, found.resident)
        self._bytes += _size(found)
        while len(self.looks) > MOST_LOOKS or (self._bytes > _KEPT_BYTES and len(self.looks) > 2):
            self._thin()

    def _thin(self) -> None:
        """Keep every second look, and the one with most."""
        most = max(self.looks, key=lambda one: one.resident)
        self.looks = [one for number, one in enumerate(self.looks) if number % 2 == 0 or one is most]
        self._bytes = sum(map(_size, self.looks))
        self._long_ns *= 2


def _size(look: Look) -> int:
    """The bytes that a look takes, about."""
    return sum(_AREA_BYTES + (area.present.size if area.present is not None else 0) for area in look.areas)


class Looks:
    """Looks at the programs of a command within their share of the time.

    own: with what the paths of mappings begin that are the recorder's.
    """

    def __init__(self, *own: bytes) -> None:
        self._own, self._began, self._spent_s = own, time.monotonic(), 0.0

    def begin(self) -> Series:
        """The series of a program at which nobody has looked."""
        return Series()

    def look(self, pid: int, series: Series, resident: int, seen_ns: int) -> None:
        """Look at a program with these resident bytes, if it is time. Raises as look_at does, but for PermissionError.

        seen_ns: by CLOCK_MONOTONIC, before the process was asked which program it is: it may be another one now.
        """
        series.seen_ns = seen_ns
        elapsed_s = time.monotonic() - self._began
        allowed_s = SHARE * elapsed_s + min(FREE_S, FREE_SHARE * elapsed_s)
        if not series.rises(resident):  # one half of the time is for the peaks
            allowed_s /= 2
        left_s = allowed_s - self._spent_s
        if left_s < series.needs_s or series.closed or not series.is_due(seen_ns, resident):
            return
        begun_s = time.thread_time()
        try:
            if _is_in_time(pid, series, left_s):
                series.look(pid, self._own)
        except PermissionError:  # a program may forbid it at any time (prctl(2), PR_SET_DUMPABLE)
            series.closed = True
        finally:
            self._spent_s += time.thread_time() - begun_s


def _is_in_time(pid: int, series: Series, left_s: float) -> bool:
    """Whether a look at the mappings of a program takes no more time than is left, or little.

    If not, the next try is when twice as much is left, so that the counts take a small part of it.
    """
    most = max(FEW_MAPPINGS, int(left_s / MAPPING_S))
    fits = count_mappings(pid, most) <= most
    series.needs_s = 0.0 if fits else 2 * most * MAPPING_S
    return fits
