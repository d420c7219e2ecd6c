"""`heapsmith profile`: what the samples of a process say of its live heap, its allocations and its growth, by site."""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from heapsmith.model.compile.kernel import Ints
from heapsmith.model.errors import BadInput
from heapsmith.tools.profiles.table import Quantity, Stack, StackTable, stack_of
from heapsmith.tools.record.spool_stacks import Mapping, forest_of
from heapsmith.tools.sampled.estimates import Estimate, Sums, difference, of_blocks, of_bytes
from heapsmith.tools.sampled.snapshot import Rows, Snapshot
from heapsmith.tools.sites.functions import WRAPPERS
from heapsmith.tools.sites.grouping import UNKNOWN, By, Spot, callers, pattern, shown, spots_in, told_apart

TAKEN, OWN = "hs_call_stack", re.compile(r"(?:hs|sample|sampling)_\w+|walk_calls|walk_by_libgcc")
"""A frame of an archive's library, which lies in the program's file, and all of them in front of malloc."""

Path = tuple[Spot, ...]

OFF = (
    "took no sample, and sampling is off; switch it on by: heapsmith profile PID --seconds TIME --mean BYTES, or "
    "HEAPSMITH=sample=BYTES of a command"
)
FEW = "no sample was taken: the process asked for little memory beside the mean"
STOPPED = "sampling is off: what was allocated since then is in no figure"


class Row(msgspec.Struct, frozen=True):
    """What the blocks of a site stand for: live ones, bytes allocated, and in a window growth.

    samples: of the live blocks. allocated_bytes: since the start, or in the window.
    """

    name: str
    path: list[Spot]
    samples: int
    live_bytes: Estimate
    live_blocks: Estimate
    allocated_bytes: Estimate
    growth_bytes: Estimate | None


class Profile(msgspec.Struct, frozen=True):
    """The samples of a process by site: first those of most live bytes, or in a window of most growth.

    mean_bytes: between two samples. taken: samples since the start. dropped: those of them that no table of live
    samples had room for; unsited: those whose call stack had none. seconds: of the window, if there is one.
    """

    pid: int
    design: str
    mean_bytes: int
    by: By
    seconds: float | None
    taken: int
    dropped: int
    unsited: int
    total: Row
    rows: list[Row]
    reasons: list[str]


class Grouped(NamedTuple):
    """The paths of groups, the group of each site's number, and why names are missing."""

    by: By
    paths: list[Path]
    group_of_site: npt.NDArray[np.int64]
    reasons: list[str]


def grouped(last: Snapshot, by: By, depth: int, skip: Sequence[str] = ()) -> Grouped:
    """The sites of a snapshot in groups. depth 0: whole stacks."""
    stacks = [
        (number, row["frame"][: int(row["depth"])].astype(np.int64))
        for number, row in enumerate(last.sites)
        if row["depth"] > 0
    ]
    return grouped_stacks(stacks, len(last.sites), last.mappings(), How(by, depth, skip, _of_program))


class How(NamedTuple):
    """How stacks are grouped. of_program: the path without the frames of the library, its innermost ones."""

    by: By
    depth: int
    skip: Sequence[str]
    of_program: Callable[[list[Spot]], list[Spot]]


def grouped_stacks(stacks: list[tuple[int, Ints]], count: int, mappings: list[Mapping], how: How) -> Grouped:
    """Stacks (number below `count`, return addresses) in groups, as sites of a trace are (tools/sites/grouping.py)."""
    skipped = [WRAPPERS, *map(pattern, how.skip)]
    numbers: dict[Path, int] = {(UNKNOWN,): 0}
    group_of_site = np.zeros(count, np.int64)
    made = forest_of([(stacks, mappings)]) if stacks else None
    if made is None:
        return Grouped(how.by, list(numbers), group_of_site, [])
    spots, library, reasons = spots_in(made.tree, [])
    for number, _ in stacks:
        path = how.of_program([spot for frame in made.tree.path(int(made.sites[number])) for spot in spots[frame]])
        key = tuple(told_apart(how.by, spot) for spot in callers(path, skipped, library))[: how.depth or None]
        group_of_site[number] = numbers.setdefault(key or (UNKNOWN,), len(numbers))
    return Grouped(how.by, list(numbers), group_of_site, reasons)


def _of_program(path: list[Spot]) -> list[Spot]:
    """The path without the frames of an archive's library."""
    names = [spot.function for spot in path]
    if TAKEN not in names:
        return path
    return path[next((at for at, name in enumerate(names) if not OWN.fullmatch(name)), 0) :]


class _Part(NamedTuple):
    """The sums of a group: live bytes and blocks, bytes allocated, and of the growth what is new and what is gone."""

    samples: int
    live: Sums
    blocks: Sums
    allocated: Sums
    fresh: Sums
    gone: Sums

    def row(self, name: str, path: Path, has_growth: bool) -> Row:
        growth = difference(self.fresh, self.gone) if has_growth else None
        live = (self.live.estimate(), self.blocks.estimate(), self.allocated.estimate())
        return Row(name, list(path), self.samples, *live, growth)


class _Split:
    """Rows of a table by group: they are sorted once, for there may be as many groups as rows."""

    def __init__(self, rows: Rows, group: npt.NDArray[np.int64], groups: int) -> None:
        self._every, self._sorted = rows, rows[np.argsort(group, kind="stable")]
        self._ends = np.cumsum(np.bincount(group, minlength=groups)).tolist()

    def of(self, group: int | None) -> Rows:
        """The rows of a group in their order; None: of all."""
        if group is None:
            return self._every
        return self._sorted[self._ends[group - 1] if group else 0 : self._ends[group]]


class Compared:
    """Two looks at one process, or one, with what each group of sites has."""

    def __init__(self, last: Snapshot, first: Snapshot | None, groups: Grouped) -> None:
        self.last, self.first, self.groups = last, first, groups
        number, count = groups.group_of_site, len(groups.paths)
        looks = [look for look in (last, first) if look]
        self._samples = [_Split(look.samples, number[look.samples["site"]], count) for look in looks]
        self._sites = [_Split(look.sites, number[: len(look.sites)], count) for look in looks]

    @property
    def seconds(self) -> float | None:
        """The seconds between two looks."""
        return (self.last.time_ns - self.first.time_ns) / 1e9 if self.first else None

    def part(self, group: int | None) -> _Part:
        """The sums of a group; None: of all."""
        mean = self.last.largest_mean
        live = self._samples[0].of(group)
        fresh = gone = self.last.samples[:0]
        if self.first:
            before = self._samples[1].of(group)
            fresh = live[~np.isin(live["number"], before["number"])]
            gone = before[~np.isin(before["number"], live["number"])]
        bytes_of = [
            msgspec.structs.replace(of_bytes(rows["bytes"], rows["mean"]), unit=float(mean))
            for rows in (live, fresh, gone)
        ]
        blocks = of_blocks(live["bytes"], live["mean"])
        if not len(live):  # none is like those without a sample, which may be of one byte each
            blocks = msgspec.structs.replace(blocks, unit=float(mean))
        return _Part(len(live), bytes_of[0], blocks, self._allocated(group, mean), *bytes_of[1:])

    def _allocated(self, group: int | None, mean: int) -> Sums:
        """The bytes of all requests since the start, or between the looks."""
        since, *before = [_allocated(sites.of(group), mean) for sites in self._sites]
        return since.less(before[0]) if before else since

    def requests(self, group: int) -> float:
        """About how many requests a group had, since the start or between the looks."""
        last, *first = [float(sites.of(group)["allocated"]["blocks"].sum()) for sites in self._sites]
        return last - sum(first)


def _allocated(sites: Rows, mean: int) -> Sums:
    of, taken = sites["allocated"], float(sites["samples"].sum())
    blocks = float(of["blocks"].sum())
    all_seen = taken * float(np.log(taken / blocks)) if blocks else 0.0
    return Sums(
        float(sites["sampled_bytes"].sum()),
        float(of["bytes"].sum()),
        float(of["bytes_variance"].sum()),
        float(mean),
        all_seen,
    )


def compared(last: Snapshot, first: Snapshot | None, by: By, depth: int, skip: Sequence[str] = ()) -> Compared:
    """Two looks, or one. BadInput if they are of two processes, or in the wrong order, or samples were off."""
    if first and (first.pid, first.design) != (last.pid, last.design):
        raise BadInput(f"two profiles of processes {first.pid} and {last.pid}; expected two of one process")
    if first and (first.time_ns >= last.time_ns or len(first.sites) > len(last.sites)):
        raise BadInput("the second profile is older than the first; expected the earlier one first")
    if not last.mean_bytes:
        raise BadInput(f"process {last.pid}: {OFF}")
    return Compared(last, first, grouped(last, by, depth, skip))


def profile(of: Compared) -> Profile:
    """The figures by group."""
    last, has_growth = of.last, of.first is not None
    reasons = [] if last.taken else [FEW]
    if last.taken and not last.is_on:
        reasons.append(_stopped(last))
    rows = []
    for group, path in enumerate(of.groups.paths):
        part = of.part(group)
        if part.samples or part.allocated.value or part.gone.value:
            rows.append(part.row(" < ".join(shown(of.groups.by, spot) for spot in path), path, has_growth))
    rows.sort(key=_most)
    return Profile(
        *(last.pid, last.design, last.mean_bytes, of.groups.by, of.seconds, last.taken, last.dropped, last.unsited),
        of.part(None).row("total", (), has_growth),
        rows,
        [*reasons, *of.groups.reasons],
    )


def _stopped(last: Snapshot) -> str:
    """That samples are taken no more; the newest of those that live says since when at the earliest."""
    if not len(last.samples):
        return f"{STOPPED}; no sample lives"
    age_s = (last.time_ns - int(last.samples["time_ns"].max())) / 1e9
    return f"{STOPPED}; the newest sample that lives is {age_s:,.1f} s old"


def _most(row: Row) -> tuple[float, float, str]:
    first = row.growth_bytes.value if row.growth_bytes else row.live_bytes.value
    return -first, -row.allocated_bytes.value, row.name


LIVE = [
    Quantity("alloc_objects", "count", "requests"),
    Quantity("alloc_space", "bytes", "bytes that requests asked for"),
    Quantity("inuse_objects", "count", "blocks live"),
    Quantity("inuse_space", "bytes", "bytes live"),
]


def stack_table(of: Compared) -> StackTable:
    """The same as a table of weighted stacks, for the formats of profiles: estimates, to the nearest whole number."""
    rows: dict[Stack, list[int]] = {}
    for group, path in enumerate(of.groups.paths):
        part, requests = of.part(group), of.requests(group)
        values = [max(0, round(one)) for one in (requests, part.allocated.value, part.blocks.value, part.live.value)]
        if any(values):
            rows[stack_of(of.groups.by, path)] = values
    said = "since the start" if of.seconds is None else f"in {of.seconds:.1f} s"
    live = of.part(None).live.estimate()
    notes = [
        f"estimates from samples, one each {of.last.mean_bytes:,} bytes on average; requests are those {said}",
        f"live bytes in all: {live.value:,.0f}, 95 % interval {live.low:,.0f} to {live.high:,.0f}",
        *([f"{of.last.dropped:,} samples of live blocks had no room"] if of.last.dropped else []),
    ]
    duration = round(of.seconds * 1e9) if of.seconds else 0
    return StackTable(
        f"process {of.last.pid}", "inuse_space", LIVE, rows, None, notes, of.groups.reasons, duration_ns=duration
    )
