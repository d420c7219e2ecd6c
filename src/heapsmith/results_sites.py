"""The results of the commands of call sites for people."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from heapsmith import show

if TYPE_CHECKING:  # the modules of these types need numba, which a command imports only when it runs
    from heapsmith.bench.sites.leaks import LeakTable
    from heapsmith.bench.sites.sites import DesignRow, Kept, SiteTable


def sites(found: "SiteTable", top: int) -> None:
    """The sites with most, and what the live blocks keep under each design."""
    from heapsmith.bench.common.units import amount, duration

    moments = [(f" after event {row.event:,}", number) for number, row in enumerate(found.designs[0].at)]
    kept = [(row.design, number, *one) for number, row in enumerate(found.designs) for one in moments or [("", -1)]]
    columns = ["site"]
    columns += [f"{what}{said}, {design}" for design, _, said, _ in kept for what in ("pinned", "in use")]
    columns += ["live at peak", "blocks", "requests", "allocated", "mean life"]
    rows = [
        (
            one.name,
            *(cell for _, number, _, at in kept for cell in _pinned((one.after if at < 0 else one.at[at])[number])),
            *(amount(one.peak_bytes), f"{one.peak_blocks:,}", f"{one.requests:,}", amount(one.bytes)),
            duration(one.life_ns),
        )
        for one in found.sites[:top]
    ]
    of = f"{found.events:,} events, {found.stacks:,} call stacks, {len(found.sites):,} rows by {found.by}"
    peak = f"{amount(found.peak_bytes)} in {found.peak_blocks:,} blocks, after event {found.peak_event:,}"
    show.prose(f"{found.trace}: {of}. Live bytes peak at {peak}.")
    show.table("", columns, rows)
    show.table("What live blocks keep", KEPT, [line for row in found.designs for line in _kept(row)])
    for one in found.advice:
        print()
        show.prose(one.text)
    for reason in found.reasons:
        show.note(f"heapsmith: {reason}")


KEPT = ("design", "<moment", "event", "committed", "asked", "pinned", "shared", "idle")


def _kept(row: "DesignRow") -> Iterator[tuple[str, ...]]:
    """What live blocks keep at the moments of a design."""
    from heapsmith.bench.common.units import amount

    moments = [("peak", row.peak), ("after it", row.after), *(("asked for", one) for one in row.at), ("end", row.end)]
    for said, one in moments:
        figures = (one.committed, one.asked, one.pinned, one.shared, one.idle)
        yield (row.design, said, f"{one.event:,}", *map(amount, figures))


def _pinned(kept: "Kept") -> tuple[str, str]:
    """What is pinned, and how much of it the blocks use."""
    from heapsmith.bench.common.units import amount

    return amount(kept.pinned), f"{kept.block_bytes / kept.pinned:.1%}" if kept.pinned else "-"


def leaks(found: "LeakTable", top: int) -> None:
    """The blocks that were never freed, by site."""
    from heapsmith.bench.common.units import amount

    show.prose(
        f"{found.trace}: {amount(found.bytes)} in {found.blocks:,} blocks are live after event {found.event:,}, of "
        f"{len(found.leaks):,} rows by {found.by}."
    )
    columns = ("site", "<kind", "bytes", "blocks", "of requests", "born in each tenth of the events, %")
    rows = [
        (
            *(one.name, one.kind, amount(one.bytes), f"{one.blocks:,}", f"{one.blocks / one.requests:.1%}"),
            " ".join(f"{share:.0f}" for share in (100 * count / one.blocks for count in one.born)),
        )
        for one in found.leaks[:top]
    ]
    show.table("", columns, rows)
    for reason in found.reasons:
        show.note(f"heapsmith: {reason}")
