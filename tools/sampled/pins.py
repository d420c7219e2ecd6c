"""`heapsmith pins`: how full the slabs of a running process are, and what keeps their pages resident."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from heapsmith.model.errors import BadInput
from heapsmith.tools.common.process_memory import Gone, ProcessMemory
from heapsmith.tools.sampled import pinned
from heapsmith.tools.sampled.process import place_of, snapshot
from heapsmith.tools.sampled.profile import grouped
from heapsmith.tools.sampled.snapshot import Snapshot
from heapsmith.tools.sites.grouping import By, shown
from heapsmith.tools.top.blocks import Blocks
from heapsmith.tools.top.process import PAGE_BYTES, command
from heapsmith.tools.top.top import WITHOUT
from heapsmith.tools.top.view import View, serving


class PinnedClass(msgspec.Struct, frozen=True):
    """The slabs of a size class.

    slab_bytes: their committed bytes. live_bytes: those of the blocks with the program, and sparse_bytes: committed
    bytes of slabs of which at most a tenth is live. idle_bytes: of whole pages in which no block is live.
    compaction_bytes: what remained if the live blocks moved together.
    """

    size: int
    slabs: int
    slab_bytes: int
    live_blocks: int
    live_bytes: int
    sparse_slabs: int
    sparse_bytes: int
    idle_bytes: int
    compaction_bytes: int


class Pins(msgspec.Struct, frozen=True):
    """What small blocks keep resident in a process; the classes with most to win first.

    is_exact: whether each block is known to be live or free. Else those that moved meanwhile, or that wait where the
    design does not tell, count as live. sites: whose blocks these are, by the samples of a library that takes some.
    samples: of live blocks; dropped: those since the start that had no room among the live ones.
    """

    pid: int
    command: list[str]
    design: str
    is_exact: bool
    slab_bytes: int
    live_bytes: int
    idle_bytes: int
    compaction_bytes: int
    empty_slab_bytes: int
    classes: list[PinnedClass]
    sites: list[pinned.SitePins]
    samples: int | None
    dropped: int
    reasons: list[str]


SPARSE = 10
"""A slab is sparse where at most a tenth of its committed bytes is live."""


def look_at_pins(pid: int, by: By = "site", depth: int = 1, skip: Sequence[str] = ()) -> Pins:
    """Read the slabs of a process, and its samples, whose sites are grouped as those of a profile.

    Raises BadInput if there is none or it runs under no heapsmith library, Missing if its memory may not be read.
    """
    words = command(pid)
    try:
        with ProcessMemory(pid) as memory:
            view = serving(memory)
            if view is None:
                raise BadInput(f"process {pid} runs {WITHOUT}")
            place = place_of(pid, memory)
            last = snapshot(pid, memory, place) if place else None
            blocks = Blocks(memory, view)
            empty = view.picture(memory).empty_slab_bytes
            read = [_class(blocks, number) for number in range(len(view.usable))]
    except Gone as error:
        raise BadInput(f"{pid}: no such process" if not words else f"process {pid} went on or ended: {error}") from None
    found = sorted((one for one, _ in read if one.slabs), key=lambda one: -one.compaction_bytes)
    sites, reasons = _sites(last, view, [slabs for _, slabs in read], Grouping(by, depth, skip)) if last else ([], [])
    sums = {
        name: sum(getattr(one, name) for one in found)
        for name in ("slab_bytes", "live_bytes", "idle_bytes", "compaction_bytes")
    }
    return Pins(
        pid=pid,
        command=words,
        design=view.design,
        is_exact=not any(blocks.hidden),
        empty_slab_bytes=empty,
        classes=found,
        sites=sites,
        samples=len(last.samples) if last else None,
        dropped=last.dropped if last else 0,
        reasons=reasons,
        **sums,
    )


class Grouping(NamedTuple):
    """Which frames tell sites apart (tools/sampled/profile.py)."""

    by: By
    depth: int
    skip: Sequence[str]


def _sites(
    last: Snapshot, view: View, read: list[pinned.Slabs], how: Grouping
) -> tuple[list[pinned.SitePins], list[str]]:
    """What the samples say of the slabs of the classes, and why names of sites are missing."""
    groups = grouped(last, *how)
    names = [" < ".join(shown(how.by, spot) for spot in path) for path in groups.paths]
    usable, number = np.unique(view.usable, return_inverse=True)  # classes of one size are apart by call sites
    slabs = [
        pinned.Slabs(*map(np.concatenate, zip(*(read[one] for one in np.flatnonzero(number == row)), strict=True)))
        for row in range(len(usable))
    ]
    classes = dict(zip(usable.tolist(), slabs, strict=True))
    site = groups.group_of_site[last.samples["site"]]
    return pinned.by_site(classes, usable, last.samples, site, names), groups.reasons


def _class(blocks: Blocks, number: int) -> tuple[PinnedClass, pinned.Slabs]:
    """The slabs in use of a class, and those of them with a live block."""
    slabs = [slab for slab in blocks.slabs.values() if slab.size_class == number and not slab.is_empty]
    stride, first = blocks.stride(number), blocks.first(number)
    idle = sparse = sparse_bytes = 0
    counts = []
    for slab in slabs:
        live = np.flatnonzero(blocks.live(slab))
        counts.append(len(live))
        used = np.zeros(-(-slab.committed // PAGE_BYTES) + 1, np.int64)
        np.add.at(used, np.minimum((first + live * stride) // PAGE_BYTES, len(used) - 1), 1)
        np.add.at(used, np.minimum((first + (live + 1) * stride - 1) // PAGE_BYTES + 1, len(used) - 1), -1)
        idle += int((np.cumsum(used)[:-1] == 0).sum()) * PAGE_BYTES
        if len(live) * stride * SPARSE <= slab.committed:
            sparse, sparse_bytes = sparse + 1, sparse_bytes + slab.committed
    live_in = np.array(counts, np.int64)
    committed_in = np.array([slab.committed for slab in slabs], np.int64)
    live_blocks, committed = int(live_in.sum()), int(committed_in.sum())
    unused = np.maximum(0, committed_in - live_in * stride)
    packed = -(-live_blocks * stride // PAGE_BYTES) * PAGE_BYTES
    row = PinnedClass(
        size=stride,
        slabs=len(slabs),
        slab_bytes=committed,
        live_blocks=live_blocks,
        live_bytes=live_blocks * stride,
        sparse_slabs=sparse,
        sparse_bytes=sparse_bytes,
        idle_bytes=idle,
        compaction_bytes=max(0, committed - packed),
    )
    return row, pinned.Slabs(live_in[live_in > 0], unused[live_in > 0])
