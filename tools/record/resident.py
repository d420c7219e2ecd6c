"""What was resident of a recorded process by kind: looks at its memory, joined with the events of its trace."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

from heapsmith.model.trace.events import Chunk
from heapsmith.model.trace.kinds import Kinds
from heapsmith.tools.common.resident_series import Series
from heapsmith.tools.common.smaps import Look
from heapsmith.tools.record.held_pages import I64, Held, HeldPages
from heapsmith.tools.record.inherited_pages import forebears, inherited
from heapsmith.tools.record.spool import read_header

Looked = Sequence[tuple[int, int, Series]]
"""The series of looks at the programs of a run, in order of time, after the pid by which the process knows itself and
the one by which the recorder does."""
_OF_LOOKS = ("static", "stacks", "files", "files_shared", "shared_memory", "recorder", "page_tables")


class ResidentByKind:
    """Takes the events of one process image in order, and tells of each look at its memory what was malloc's.

    held: what held blocks when the image began.
    """

    def __init__(self, looks: Sequence[Look] = (), held: Held | None = None) -> None:
        self._looks, self._zero_ns, self._pages = looks, 0, HeldPages(held)
        self._moments = [moment for one in looks for moment in (one.begin_ns, one.end_ns)]
        self._done = 0
        self._malloc: list[int] = []
        self._live: list[int] = []

    def feed(self, chunk: Chunk, address: I64, zero_ns: int) -> None:
        """Follow events; address: as HeldPages has it. zero_ns: their time 0 by the clock of the looks."""
        self._zero_ns, at = zero_ns, 0
        if not self._looks:
            return
        for moment in self._moments[self._done :]:
            until = moment - zero_ns
            if not chunk.op.size or chunk.time_ns[-1] <= until:
                break
            to = int(np.searchsorted(chunk.time_ns, until, side="right"))
            self._pages.feed(chunk.part(at, to), address[at:to])
            self._pass()
            at = to
        self._pages.feed(chunk.part(at, chunk.op.size), address[at:])

    def _pass(self) -> None:
        """Pass the next moment: the begin of a look, or its end, when the pages that it saw may hold newer blocks."""
        look = self._looks[self._done // 2]
        if self._done % 2 == 0:
            self._pages.only_in(look.areas)
        else:
            self._malloc.append(sum(map(self._pages.resident_in, look.areas)))
            self._live.append(self._pages.live)
        self._done += 1

    def kinds(self) -> Kinds | None:
        """Return the table, after all events; None without looks."""
        while self._done < len(self._moments):
            self._pass()
        if not self._looks:
            return None
        rest = [sum(area.resident for area in one.areas) for one in self._looks]
        return Kinds(
            time_ns=[one.begin_ns - self._zero_ns for one in self._looks],
            live=self._live,
            malloc=self._malloc,
            mappings=[all_areas - malloc for all_areas, malloc in zip(rest, self._malloc, strict=True)],
            **{name: [getattr(one, name) for one in self._looks] for name in _OF_LOOKS},
        )


def by_kind(
    wanted: Sequence[Path], spools: Iterable[Path], looked: Looked, ns_of: Callable[[int], int], ns_per_tick: float
) -> dict[Path, ResidentByKind]:
    """Return what takes the events of each wanted process image.

    spools: all of the run. looked: at the programs of the run. ns_of: the time of a stamp, by the clock of the looks.
    A spool has the pid by which its process knows itself. Where several processes of the run had this pid, in
    namespaces of their own, their images get no looks, and neither do those that have pages of theirs.
    """
    headers = {path: read_header(path) for path in spools}
    images: dict[int, dict[Path, int]] = defaultdict(dict)
    for path in sorted(headers, key=lambda path: headers[path].start_stamp):
        images[headers[path].pid][path] = ns_of(headers[path].start_stamp)
    looks: dict[Path, list[Look]] = {}
    hosts: dict[int, set[int]] = defaultdict(set)
    for pid, host, _ in looked:
        hosts[pid].add(host)
    unclear = {pid for pid, of in hosts.items() if len(of) > 1}
    for pid, its in images.items():
        looks |= _shared_out(its, [one for of, _, one in looked if of == pid and one.looks])
    for path in wanted if unclear else ():
        if any(headers[one].pid in unclear for one in (path, *forebears(path, headers))):
            looks[path] = []
    held = inherited([path for path in wanted if looks[path]], headers, ns_per_tick)
    return {path: ResidentByKind(looks[path], held.get(path)) for path in wanted}


def _shared_out(images: dict[Path, int], programs: list[Series]) -> dict[Path, list[Look]]:
    """The looks at each image of one process. images: when each began, in order; programs: the looks at each.

    A program begins before its image does: an image is of the first program that lives on then. A look at a program
    before it that began in the image's time saw the image: the process became another program at that moment.
    """
    found: dict[Path, list[Look]] = {}
    ends = [*list(images.values())[1:], None]
    last: Series | None = None
    for (path, begin_ns), end_ns in zip(images.items(), ends, strict=True):
        at = next((number for number, one in enumerate(programs) if one.seen_ns >= begin_ns), len(programs))
        program = programs[at] if at < len(programs) else None
        looks = [look for one in programs[:at] for look in one.looks if look.begin_ns >= begin_ns]
        looks += [
            look for look in (program.looks if program else []) if program is not last or look.begin_ns >= begin_ns
        ]
        found[path] = [look for look in looks if end_ns is None or look.end_ns < end_ns]
        last = program
    return found
