"""The results of `heapsmith profile`, and of a profile beside statistics, for people."""

import math
from typing import TYPE_CHECKING

from heapsmith.api import show

if TYPE_CHECKING:  # the modules of these types need numba, which a command imports only when it runs
    from heapsmith.tools.sampled import fragmentation
    from heapsmith.tools.sampled.estimates import Estimate
    from heapsmith.tools.sampled.profile import Profile, Row

MOST_CLASSES = 3
"""The most classes of a stack that are named."""


def profile(found: "Profile", top: int) -> None:
    """The live heap by site, each figure with its interval; in a window, growth and bytes asked for per second."""
    from heapsmith.tools.common.units import amount

    since = "since the start" if found.seconds is None else "per second"
    if found.dropped:
        show.note(f"heapsmith: {found.dropped:,} samples of live blocks had no room: the live bytes are too low")
    if found.unsited:
        show.note(f"heapsmith: the call stacks of {found.unsited:,} samples had no room: they are under unknown")
    for reason in found.reasons:
        show.note(f"heapsmith: {reason}")
    show.prose(
        f"Process {found.pid} under {found.design}: {_said(found.total.live_bytes)} live, {found.total.samples:,} "
        f"samples of blocks, one each {amount(found.mean_bytes)} on average. In brackets: 95 % intervals."
    )
    grown = [f"growth in {found.seconds:.1f} s", ""] if found.seconds is not None else []
    columns = ["site", *grown, "live", "", "blocks", "", f"asked for {since}", ""]
    show.table("", columns, [_cells(row, found.seconds) for row in [found.total, *found.rows[:top]]])


def _cells(row: "Row", seconds: float | None) -> list[str]:
    """Of a row; seconds: of the window, if there is one."""
    growth = _both(row.growth_bytes) if row.growth_bytes else []
    asked = _both(row.allocated_bytes, seconds or 1)
    return [row.name, *growth, *_both(row.live_bytes), *_count(row.live_blocks), *asked]


def _count(of: "Estimate") -> list[str]:
    """A number of blocks with its interval, in whole blocks."""
    return [f"{of.value:,.0f}", f"[{math.floor(of.low):,}, {math.ceil(of.high):,}]"]


def _both(of: "Estimate", over: float = 1) -> list[str]:
    """A number of bytes with its interval, both divided by `over`."""
    from heapsmith.tools.common.units import amount

    return [amount(of.value / over), f"[{amount(of.low / over)}, {amount(of.high / over)}]"]


def _said(of: "Estimate") -> str:
    return " ".join(_both(of))


def stacks(found: "fragmentation.ByStack", top: int) -> None:
    """The live bytes of jemalloc's stacks, and their part in the free bytes of slabs, with intervals."""
    from heapsmith.tools.common.units import amount

    has_freed = any(row.freed_blocks is not None for row in found.rows)
    columns = ["stack", "<blocks of", "samples", "live", "", "part in free bytes", ""]
    cells = [_stack(row) for row in found.rows[:top]]
    if more := found.rows[top:]:
        samples, part = sum(row.samples for row in more), sum(row.free_bytes.value for row in more)
        cells.append([f"{len(more):,} more", "", f"{samples:,}", "", "", amount(part), "", ""])
    cells.append(["other blocks", "", "", "", "", amount(found.other_free_bytes), "", ""])
    width = len(columns) + has_freed
    show.table("stacks in slabs with free blocks", [*columns, "blocks freed"][:width], [row[:width] for row in cells])
    show.prose(
        f"Estimates from samples, one each {amount(found.interval_bytes)} on average, as jeprof scales them. In "
        "brackets: 95 % intervals of the sampling. The free bytes of a class are split evenly between the blocks that "
        "live in its slabs, as if all lay at random. Which of them keep a slab is not known: the true part of a stack "
        "is between nothing and all free bytes of its classes. Stacks with several classes have no part; with the "
        "blocks of thread caches and those without samples they are the other blocks."
    )
    for reason in found.reasons:
        show.note(f"heapsmith: {reason}")


def _stack(row: "fragmentation.Row") -> list[str]:
    few = len(row.classes) <= MOST_CLASSES
    classes = [f"{size:,}" for size in row.classes] if few else [f"{len(row.classes)} sizes"]
    part = _both(row.free_bytes) if row.classes else ["-", ""]
    freed = "" if row.freed_blocks is None else f"{row.freed_blocks:,.0f}"
    mixed = ["several"] if row.mixed else []
    return [row.name, ", ".join(classes + mixed), f"{row.samples:,}", *_both(row.live_bytes), *part, freed]
