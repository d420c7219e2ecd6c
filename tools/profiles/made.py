"""Tables of weighted stacks, made of what `sites`, `leaks` and `diff` count."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from heapsmith.model.design.design import Design
from heapsmith.model.errors import printable
from heapsmith.model.memory.hardware import Hardware
from heapsmith.model.predict.page_pins import Pins
from heapsmith.model.predict.pins_at_moments import Moments, moments, site_lives
from heapsmith.model.predict.simulate import Progress
from heapsmith.model.trace.site_lives import SiteLives
from heapsmith.tools.profiles.table import Frame, Quantity, Stack, StackTable, joined, pseudo, stack_of, without_modules
from heapsmith.tools.sites.grouping import Groups
from heapsmith.tools.sites.leaks import leak_table

I64 = npt.NDArray[np.int64]

COUNTED = {
    "requests": Quantity("alloc_objects", "count", "requests"),
    "bytes": Quantity("alloc_space", "bytes", "bytes that requests asked for"),
    "peak_blocks": Quantity("inuse_objects", "count", "blocks live at the peak"),
    "peak_bytes": Quantity("inuse_space", "bytes", "bytes live at the peak"),
    "temporary": Quantity("temporary_objects", "count", "requests whose block the next event of a block ended"),
    "live_blocks": Quantity("end_objects", "count", "blocks live at the end"),
    "live_bytes": Quantity("end_space", "bytes", "bytes live at the end"),
}
"""The figures of a group that every trace has, under the names by which viewers know a heap profile."""
LIVES = {
    "most_blocks": Quantity("most_objects", "count", "blocks live when the stack's bytes were most", sums=False),
    "most_bytes": Quantity("most_space", "bytes", "the most bytes of the stack live at one time", sums=False),
}
LIFETIME = Quantity("lifetime", "events", "sum of the lives of all blocks")

SEVERAL = pseudo("several call paths")
"""Calls a site for pages that blocks of several of its paths keep together."""
SHARED, IDLE = pseudo("shared by several sites"), pseudo("kept by no live block")


def of_sites(
    groups: Groups,
    depth: int,
    designs: Sequence[Design],
    *,
    hardware: Hardware | None = None,
    at: Sequence[int] = (),
    progress: Progress | None = None,
) -> StackTable:
    """The whole stacks of a trace, with what they pin under designs.

    groups: by whole stacks. The pages of a row of `sites` (by `depth` frames) are those of its stacks
    and of [several call paths] together, to the byte; all rows with [shared by several sites] and
    [kept by no live block] are all bytes of the design.
    """
    lives = site_lives(groups.grouped, progress)
    rows, number = groups.innermost(depth)
    event = lives.peak()[0]
    kept = moments(groups.grouped, designs, event, hardware=hardware, at=at, progress=progress)
    by_row = kept
    if rows.grouped.groups < groups.grouped.groups:
        by_row = moments(rows.grouped, designs, event, hardware=hardware, at=at, progress=progress)
    quantities, columns = _counted(lives, [*COUNTED, *LIVES])
    quantities.append(LIFETIME)
    columns.append(np.rint(lives.mean_lives()[0] * lives.groups["requests"]).astype(np.int64))
    table = _summed(_rows(groups, columns))
    notes = [_peak(lives)]
    for whole, coarse in zip(kept, by_row, strict=True):
        for said, pages, row_pages in _moments(whole, coarse, at):
            notes.append(f"pinned_{said}, waste_{said}: after event {pages.event:,} under {whole.design}")
            quantities += [
                Quantity(f"pinned_{said}", "bytes", f"pages that only these blocks keep, {said}"),
                Quantity(f"waste_{said}", "bytes", f"of these pages what no block uses, {said}"),
            ]
            _add_pages(table, groups, rows, number, (pages, row_pages))
    return StackTable(
        printable(str(groups.grouped.trace)),
        "inuse_space",
        quantities,
        table,
        None,
        notes,
        groups.reasons,
        lives.time_ns,
        lives.events,
        event,
    )


def _moments(whole: Moments, rows: Moments, at: Sequence[int]) -> list[tuple[str, Pins, Pins]]:
    """The moments whose pages `sites` shows, with the name of each: after the peak, or those asked for."""
    if not at:
        return [(whole.design, whole.after, rows.after)]
    return [(f"{whole.design}_{event}", one, row) for event, one, row in zip(at, whole.at, rows.at, strict=True)]


def _add_pages(
    table: dict[Stack, list[int]], groups: Groups, rows: Groups, number: I64, pages: tuple[Pins, Pins]
) -> None:
    """Add what is pinned and wasted to all rows of the table, and the rows of pages that are no single stack's."""
    whole, coarse = ([one.pinned, one.pinned - one.block_bytes] for one in pages)
    rest = [both.copy() for both in coarse]
    for left, own in zip(rest, whole, strict=True):
        np.subtract.at(left, number, own)
    found = [*_rows(groups, whole), *_rows(rows, rest, SEVERAL), ((SHARED,), [pages[1].shared, 0])]
    added = _summed([*found, ((IDLE,), [pages[1].idle, 0])])
    nothing = [0] * len(next(iter(table.values())))
    for stack in joined(table, added):
        table[stack] = table.get(stack, nothing) + added.get(stack, [0] * len(whole))


def of_leaks(groups: Groups, at: int | None = None, progress: Progress | None = None) -> StackTable:
    """The blocks that are live after event `at`, or at the end, by whole stacks."""
    found = leak_table(groups, at, progress)
    quantities = [
        Quantity("inuse_objects", "count", "blocks live"),
        Quantity("inuse_space", "bytes", "bytes live"),
    ]
    rows = _summed((stack_of(groups.by, tuple(leak.path)), [leak.blocks, leak.bytes]) for leak in found.leaks)
    notes = [f"live after event {found.event:,}"]
    return StackTable(
        printable(found.trace), "inuse_space", quantities, rows, None, notes, found.reasons, found.time_ns
    )


def of_difference(groups: tuple[Groups, Groups], progress: Progress | None = None) -> StackTable:
    """The stacks of two traces; those whose frames have equal names are one stack."""
    tables = []
    for one in groups:
        lives = site_lives(one.grouped, progress)
        quantities, columns = _counted(lives, list(COUNTED))
        rows = _summed((without_modules(stack), values) for stack, values in _rows(one, columns))
        tables.append((printable(str(one.grouped.trace)), quantities, rows, _peak(lives)))
    (first, quantities, before, note), (second, _, after, other) = tables
    nothing = [0] * len(quantities)
    stacks = joined(before, after)
    title, reasons = f"{first} -> {second}", list(dict.fromkeys(groups[0].reasons + groups[1].reasons))
    rows, base = ({stack: own.get(stack, nothing) for stack in stacks} for own in (after, before))
    return StackTable(title, "inuse_space", quantities, rows, base, [f"before: {note}", f"after: {other}"], reasons)


def _counted(lives: SiteLives, names: Sequence[str]) -> tuple[list[Quantity], list[I64]]:
    known = COUNTED | LIVES
    return [known[name] for name in names], [lives.groups[name] for name in names]


def _rows(groups: Groups, columns: Sequence[I64], *outermost: Frame) -> Iterator[tuple[Stack, list[int]]]:
    """The stack of each group with its values."""
    for path, values in zip(groups.paths, np.array(columns).T.tolist(), strict=True):
        yield (*stack_of(groups.by, path), *outermost), values


def _summed(rows: Iterable[tuple[Stack, list[int]]]) -> dict[Stack, list[int]]:
    """The rows that have a value, each stack once."""
    found: dict[Stack, list[int]] = {}
    for stack, values in rows:
        if any(values):
            found[stack] = [sum(both) for both in zip(found.get(stack, [0] * len(values)), values, strict=True)]
    return found


def _peak(lives: SiteLives) -> str:
    event, peak_bytes, blocks = lives.peak()
    return f"inuse: live after event {event:,}, the peak of {peak_bytes:,} bytes in {blocks:,} blocks"
