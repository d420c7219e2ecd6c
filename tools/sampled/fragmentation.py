"""Fragmentation by call stack: whose live blocks share slabs of jemalloc with free ones, from its profile.

A slab goes back when its last block is freed. Neither the profile nor the statistics tell which blocks lie in which
slab. So the free bytes of a class are split evenly between the blocks that live in its slabs, as if all lay at random.
How many these are the statistics tell, and the samples how many of them are of a stack. A sampled block itself is in no
slab: jemalloc gives it an extent of its own.
"""

import re
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from heapsmith.model.errors import BadInput
from heapsmith.model.trace.imports.source import Source
from heapsmith.model.trace.synth.heap_text import Dump, read_dump
from heapsmith.tools.common.units import amount
from heapsmith.tools.peers.statistics import MUCH, Class, Statistics
from heapsmith.tools.sampled.estimates import Estimate, of_blocks, of_bytes, of_unseen, shares
from heapsmith.tools.sampled.profile import Grouped, How, grouped_stacks
from heapsmith.tools.sampled.snapshot import mappings_of
from heapsmith.tools.sites.grouping import By, Spot, shown

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

OWN_FILE = "libjemalloc"
OWN = re.compile(r"(?:\w*je_)?(?:prof_\w+|imalloc\w*|i?[mr]alloc\w*|newImpl|fallback_?[nN]ew(?:Impl)?\w*)")
"""The frames of jemalloc: those of its file, and linked into a program those of these names."""
MOMENT = "expected both of one moment of one process"
NO_MAPPING = (
    "no mapping of the profile holds its innermost frames, so that jemalloc's are not told from the program's: rows "
    "are whole stacks of addresses, or as many frames as a --depth above 1 says"
)
EXTENT = 16384
"""The least that a sampled block takes: jemalloc's smallest extent, with pages of 4 KiB."""
ROUNDING = 1 / 12
"""Of the probability of a sample: how far the mean size of equal blocks may be from their size.

jemalloc 5.3 rounds what a sample counts to eighths (prof_unbias_map_init), which moves the mean by up to a 16th of it.
"""


class Row(msgspec.Struct, frozen=True):
    """The stacks of a site. classes: the sizes of their blocks, of stacks that each have one class.

    samples: of live blocks; mixed: those of them whose stack has several classes, for which no free bytes are told.
    free_bytes: the part of its blocks in the free bytes of their classes. freed_blocks: since the start, None if the
    program ran without prof_accum.
    """

    name: str
    path: list[Spot]
    classes: list[int]
    samples: int
    mixed: int
    live_blocks: Estimate
    live_bytes: Estimate
    free_bytes: Estimate
    freed_blocks: float | None


class ByStack(msgspec.Struct, frozen=True):
    """The stacks of a profile, first those with most free bytes; for samples of several classes their live bytes count.

    interval_bytes: the mean between two samples. other_free_bytes: those of blocks without a stack of one class, as of
    thread caches. reasons: why names are missing, or figures wrong.
    """

    by: By
    interval_bytes: int
    rows: list[Row]
    other_free_bytes: float
    reasons: list[str]


class Fragmentation(Statistics, frozen=True):
    """Statistics with the stacks of a profile of the same moment."""

    stacks: ByStack


def with_stacks(of: Statistics, profile: Path, by: By, depth: int, skip: Sequence[str]) -> Fragmentation:
    """The statistics with a profile of jemalloc; BadInput for those of another malloc, and what is no such profile.

    depth: the frames that tell rows apart, 0: all. skip: functions that allocate for their caller.
    """
    if not of.malloc.startswith("jemalloc"):
        raise BadInput(f"{profile}: statistics of {of.malloc} beside a heap profile; expected those of jemalloc")
    if not of.classes:
        raise BadInput(f"{profile}: statistics without size classes beside a heap profile; expected bins and lextents")
    with Source(profile) as source:
        dump = read_dump(source)
        try:
            mappings = list(mappings_of(dump.maps))
        except ValueError:
            source.bad("MAPPED_LIBRARIES", "expected lines as of /proc/PID/maps")
    stacks = [(number, np.array(one.addresses, np.int64)) for number, one in enumerate(dump.stacks)]
    how, reasons = How(by, depth, skip, _of_program), []
    innermost = {one.addresses[0] for one in dump.stacks}
    if innermost and not any(one.start < address <= one.end for one in mappings for address in innermost):
        how, reasons = How(by, depth if depth > 1 else 0, skip, _of_anyone), [NO_MAPPING]
    grouped = grouped_stacks(stacks, len(stacks), mappings, how)
    grouped = grouped._replace(reasons=[*reasons, *grouped.reasons])
    return Fragmentation(**msgspec.structs.asdict(of), stacks=by_stack(of.classes, dump, grouped))


def _of_program(path: list[Spot]) -> list[Spot]:
    """The path without the frames of jemalloc; the outermost one stays."""
    is_own = (spot.module.startswith(OWN_FILE) or OWN.fullmatch(spot.function) for spot in path[:-1])
    return path[next((at for at, own in enumerate(is_own) if not own), len(path) - 1) :]


def _of_anyone(path: list[Spot]) -> list[Spot]:
    """The whole path; frames in no mapping by their address alone."""
    return [spot if spot.module != "?" else Spot(spot.function, spot.function, "?") for spot in path]


class _Samples(msgspec.Struct, frozen=True):
    """The live samples by stack. at: the place of the class, -1 for several. weights: free bytes of a block's class."""

    counts: F64
    sizes: F64  # of the class, or the mean
    at: I64
    weights: F64
    freed: F64
    mean: int

    def row(self, name: str, path: list[Spot], classes: list[Class], chosen: I64, total: bool) -> Row:
        """The figures of the chosen stacks."""
        counts, sizes, at = self.counts[chosen], self.sizes[chosen], self.at[chosen]
        used = sorted({int(place) for place in at[counts > 0] if place >= 0})
        free = of_unseen(sizes, self.mean, counts, self.weights[chosen]).estimate()
        most = float(sum(classes[place].free_bytes for place in used))
        return Row(
            name,
            path,
            [classes[place].block_bytes for place in used],
            round(counts.sum()),
            round(counts[at < 0].sum()),
            of_blocks(sizes, self.mean, counts).estimate(),
            of_bytes(sizes, np.full(sizes.size, self.mean), counts).estimate(),
            Estimate(free.value, free.low, min(free.high, most)),
            float(self.freed[chosen].sum()) if total else None,
        )


def by_stack(classes: list[Class], dump: Dump, grouped: Grouped) -> ByStack:
    """The figures by group of the profile's stacks. classes: in the order of their sizes."""
    rows = np.array([one[1:] for one in dump.stacks], np.float64).reshape(-1, 4)
    has_totals = bool((rows[:, 2] > 0).any())
    samples, reasons = _samples(classes, dump.interval, rows)
    order = np.argsort(grouped.group_of_site, kind="stable")
    of_group = np.split(order, np.bincount(grouped.group_of_site, minlength=len(grouped.paths)).cumsum()[:-1])
    every = [
        samples.row(" < ".join(shown(grouped.by, spot) for spot in path), list(path), classes, chosen, has_totals)
        for path, chosen in zip(grouped.paths, of_group, strict=True)
    ]
    found = [row for row in every if row.samples]
    found.sort(key=lambda row: (-_rank(row), -row.live_bytes.value, row.name))
    free = sum(one.free_bytes for one in classes)
    rest = max(0.0, free - sum(row.free_bytes.value for row in found))
    return ByStack(grouped.by, dump.interval, found, rest, [*reasons, *grouped.reasons])


def _rank(row: Row) -> float:
    return row.free_bytes.value + row.live_bytes.value * row.mixed / row.samples


def _samples(classes: list[Class], interval: int, rows: F64) -> tuple[_Samples, list[str]]:
    """The samples of the profile's counts, and what is wrong with them."""
    counts, live_bytes, births, all_bytes = rows.T
    size_of, live, free = (
        np.array([getattr(one, name) for one in classes], np.float64) for name in ("block_bytes", "live", "free_bytes")
    )
    at = _class_of(size_of, counts, live_bytes, interval)
    is_one = at >= 0
    sizes = np.where(is_one, size_of[at], live_bytes / np.maximum(counts, 1))
    share = shares(sizes, interval)
    unseen = np.bincount(at[is_one], (counts * (1 - share) / share)[is_one], len(classes))
    weights = np.where(is_one, (free / np.maximum(np.maximum(live, unseen), 1))[at], 0.0)
    born_share = np.where(is_one, share, shares(all_bytes / np.maximum(births, 1), interval))
    freed = births / born_share - counts / share
    samples = _Samples(counts, sizes, at, weights, np.maximum(freed, 0), interval)
    return samples, _unlike(samples, float(live.sum()), float((live * size_of).sum()))


def _unlike(samples: _Samples, live: float, live_bytes: float) -> list[str]:
    """Why the profile cannot be of the moment of the statistics, which have these blocks and bytes of theirs in use."""
    counts, sizes, is_one = samples.counts, samples.sizes, samples.at >= 0
    blocks = of_unseen(sizes[is_one], samples.mean, counts[is_one], 1.0).estimate()
    sums = of_bytes(sizes, np.full(sizes.size, samples.mean), counts)
    found = msgspec.structs.replace(sums, unit=float(samples.mean)).estimate()
    most = found.high + EXTENT * float(counts.sum())
    if blocks.low > (1 + MUCH) * live:
        return [f"the profile has more blocks than the statistics: {MOMENT}"]
    if found.low > (1 + MUCH) * live_bytes:
        return [f"the profile has {amount(found.low)} or more in blocks, the statistics {amount(live_bytes)}: {MOMENT}"]
    if most < live_bytes / 2:  # thread caches have blocks in use that no sample stands for
        return [
            f"the profile has {amount(found.high)} or less in blocks, the statistics {amount(live_bytes)}: "
            f"{MOMENT}, with samples since its start"
        ]
    return []


def _class_of(sizes: F64, counts: F64, live_bytes: F64, interval: int) -> I64:
    """The place in `sizes` (ascending) of each stack's class, -1 where its blocks have several or there is none."""
    mean = live_bytes / np.maximum(counts, 1)
    borders = np.sqrt(sizes[1:] * sizes[:-1])
    at: I64 = np.searchsorted(borders, mean)
    off = np.abs(mean / sizes[at] - 1)
    is_one = (counts > 0) & (off <= shares(sizes[at], interval) * ROUNDING + 1 / np.maximum(live_bytes, 1))
    return np.where(is_one, at, -1)
