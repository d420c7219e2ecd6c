"""Which pages of a forked process held blocks of its parents: its own trace does not have their births."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain, pairwise
from pathlib import Path

from heapsmith.tools.record.held_pages import Held, HeldPages
from heapsmith.tools.record.spool import Spool, SpoolHeader


def inherited(wanted: Iterable[Path], headers: dict[Path, SpoolHeader], ns_per_tick: float) -> dict[Path, Held]:
    """Return what held blocks when the wanted images began, of those that a fork began. headers: of a run's spools.

    The events of a parent are followed once, up to the last of these forks.
    """
    parents: dict[Path, Path] = {}
    for path in wanted:
        for child, parent in pairwise(chain([path], forebears(path, headers))):
            if child in parents:
                break
            parents[child] = parent
    children: dict[Path, list[Path]] = defaultdict(list)
    for child, parent in parents.items():
        children[parent].append(child)
    found: dict[Path, Held] = {}
    for parent in sorted(children, key=lambda path: headers[path].start_stamp):
        begun = {child: headers[child].start_stamp for child in children[parent]}
        found |= _held_at(parent, found.get(parent), begun, ns_per_tick)
    return found


def forebears(path: Path, headers: dict[Path, SpoolHeader]) -> Iterator[Path]:
    """The images of which an image has pages: that which forked it, the last that its parent was before, and so on."""
    while (of := headers[path]).forked:
        before = [at for at, one in headers.items() if one.pid == of.parent_pid and one.start_stamp < of.start_stamp]
        if not before:
            return
        path = max(before, key=lambda other: headers[other].start_stamp)
        yield path


def _held_at(parent: Path, held: Held | None, begun: dict[Path, int], ns_per_tick: float) -> dict[Path, Held]:
    """What held blocks in the parent at the stamp of each child."""
    pages, found = HeldPages(held), {}
    waiting = sorted(begun, key=lambda child: begun[child])
    with Spool(parent) as spool:
        for chunk, _, address in spool.chunks(ns_per_tick):
            at = 0
            while waiting:
                ticks = begun[waiting[0]] - spool.header.start_stamp - spool.first_ticks
                to = int((chunk.time_ns <= ticks * ns_per_tick).sum())
                if to == chunk.op.size:
                    break
                pages.feed(chunk.part(at, to), address[at:to])
                found[waiting.pop(0)] = pages.held()
                at = to
            if not waiting:
                break
            pages.feed(chunk.part(at, chunk.op.size), address[at:])
    return found | {child: pages.held() for child in waiting}
