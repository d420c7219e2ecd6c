"""The results of the commands of call sites for people."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from heapsmith.api import show

if TYPE_CHECKING:  # the modules of these types need numba, which a command imports only when it runs
    from heapsmith.model.trace.stats import Quantiles
    from heapsmith.tools.sites.diff import Difference, SitePair
    from heapsmith.tools.sites.leaks import LeakTable
    from heapsmith.tools.sites.sites import DesignRow, Kept, Order, Scoped, SiteTable


def sites(found: "SiteTable", top: int, order: "Order") -> None:
    """The sites with most, and what the live blocks keep under each design; temporary blocks if they are the order."""
    from heapsmith.tools.common.units import amount, duration

    moments = [(f" after event {row.event:,}", number) for number, row in enumerate(found.designs[0].at)]
    kept = [(row.design, number, *one) for number, row in enumerate(found.designs) for one in moments or [("", -1)]]
    columns, shown = ["site"], ["temporary"] if order == "temporary" else []
    columns += [f"{what}{said}, {design}" for design, _, said, _ in kept for what in ("pinned", "in use")]
    columns += ["live at peak", "blocks", "requests", *shown, "asked for", "mean life"]
    rows = [
        (
            one.name,
            *(cell for _, number, _, at in kept for cell in _pinned((one.after if at < 0 else one.at[at])[number])),
            *(amount(one.peak_bytes), f"{one.peak_blocks:,}", f"{one.requests:,}"),
            *(f"{one.temporary / one.requests:.1%}" for _ in shown),
            *(amount(one.bytes), duration(one.life_ns)),
        )
        for one in found.sites[:top]
    ]
    of = f"{found.events:,} events, {found.stacks:,} call stacks, {len(found.sites):,} rows by {found.by}"
    peak = f"{amount(found.peak_bytes)} in {found.peak_blocks:,} blocks, after event {found.peak_event:,}"
    show.prose(f"{found.trace}: {of}. Live bytes peak at {peak}.")
    show.table("", columns, rows)
    pages = "resident" if found.machine else "committed"
    show.table(
        "What live blocks keep",
        ("design", "<moment", "event", pages, *KEPT),
        [line for row in found.designs for line in _kept(row)],
    )
    for one in found.advice:
        show.line()
        show.prose(one.text)
    for reason in found.reasons:
        show.note(f"heapsmith: {reason}")


KEPT = ("asked", "pinned", "shared", "idle")


def _kept(row: "DesignRow") -> Iterator[tuple[str, ...]]:
    """What live blocks keep at the moments of a design."""
    from heapsmith.tools.common.units import amount

    moments = [("peak", row.peak), ("after it", row.after), *(("asked for", one) for one in row.at), ("end", row.end)]
    for said, one in moments:
        figures = (one.bytes, one.asked, one.pinned, one.shared, one.idle)
        yield (row.design, said, f"{one.event:,}", *map(amount, figures))


def _pinned(kept: "Kept") -> tuple[str, str]:
    """What is pinned, and how much of it the blocks use."""
    from heapsmith.tools.common.units import amount

    return amount(kept.pinned), f"{kept.block_bytes / kept.pinned:.1%}" if kept.pinned else "-"


def leaks(found: "LeakTable", top: int) -> None:
    """The blocks that were never freed, by site."""
    from heapsmith.tools.common.units import amount

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
    if rows:
        show.table("", columns, rows)
    for reason in found.reasons:
        show.note(f"heapsmith: {reason}")


def temporary(found: "SiteTable", top: int) -> None:
    """The sites with most blocks that the next event of a block ended."""
    rows = sorted((one for one in found.sites if one.temporary), key=lambda one: -one.temporary)
    if not rows:
        show.line()
        show.prose("No temporary allocations: no block was ended by the next event of a block.")
        return
    cells = [(one.name, f"{one.temporary:,}", f"{one.temporary / one.requests:.1%}") for one in rows[:top]]
    show.table("Temporary allocations: the next event of a block ended them", ("site", "blocks", "of requests"), cells)


def scoped(found: "SiteTable", top: int) -> None:
    """The sites with most blocks that died in the call of the function that asked for them."""
    from heapsmith.tools.common.units import duration

    if found.scoped is None:
        return
    rows = found.scoped.rows
    if not rows:
        show.line()
        show.prose("No block was freed in the call of the function that asked for it.")
        return
    columns = ("site", "blocks", "of requests", "by itself", "uncertain", "bytes", "<instead", "mean life")
    cells = [
        (
            *(one.name, f"{one.blocks:,}", f"{one.blocks / one.requests:.1%}", f"{one.directly:,}"),
            *(f"{one.uncertain:,}", _sizes(one), {"none": "-"}.get(one.instead, one.instead), duration(one.life_ns)),
        )
        for one in rows[:top]
    ]
    title = "Freed in the call that asked for them: candidates for the stack or a buffer, if no later call uses them"
    show.table(title, columns, cells)


def _sizes(row: "Scoped") -> str:
    """The sizes of a row's blocks."""
    if row.least_bytes == row.most_bytes:
        return f"{row.most_bytes:,}"
    return f"{row.least_bytes:,} to {row.most_bytes:,}, median {row.median_bytes:,}"


def difference(found: "Difference", top: int) -> None:
    """Two traces in figures, and the sites and sizes that differ most."""
    from heapsmith.tools.common.units import amount, duration

    rows = [
        *((name, name, "{:,}".format) for name in ("events", "threads", "requests")),
        ("blocks at the peak", "peak_blocks", "{:,}".format),
        ("blocks at the end", "end_blocks", "{:,}".format),
        *((f"{name} bytes", f"{name}_bytes", amount) for name in ("allocated", "peak", "end")),
        ("duration", "duration_ns", duration),
    ]
    cells = [[said, *(shown(getattr(one, name)) for one in found.totals)] for said, name, shown in rows]
    cells += [
        [f"lifetime, {name} at most", *(_lifetime(one.lifetimes, name) for one in found.totals)]
        for name in ("p50", "p90", "p99")
    ]
    show.table("", ("trace", *(one.trace for one in found.totals)), cells)
    if found.sites is None:
        show.note("heapsmith: no rows by site: a trace has no call stacks (record --stacks)")
    else:
        figures = {"peak_bytes": amount, "bytes": amount, "requests": "{:,}".format, "life_ns": duration}
        lines = [(one.name, *(_both(one, *column) for column in figures.items())) for one in found.sites[:top]]
        columns = ("site", "at peak", "asked for", "requests", "mean life")
        show.table(f"By {found.by}: first what differs most", columns, lines)
    sizes = [
        (one.size, *(_change("{:,}".format, *both) for both in (one.requests, one.peak_blocks))) for one in found.sizes
    ]
    show.table("Sizes: first those whose requested bytes differ most", ("size", "requests", "at peak"), sizes[:top])
    for reason in found.reasons:
        show.note(f"heapsmith: {reason}")


def _lifetime(of: "Quantiles | None", name: str) -> str:
    """A quantile of lifetimes in bytes."""
    from heapsmith.tools.common.units import amount

    return amount(getattr(of, name)) if of else "no block was freed"


def _both(pair: "SitePair", name: str, shown: Callable[[float], str]) -> str:
    """A figure of a site in both traces."""
    return _change(shown, getattr(pair.first, name), getattr(pair.second, name))


def _change(shown: Callable[[float], str], first: float, second: float) -> str:
    return f"{shown(first)} -> {shown(second)}"
