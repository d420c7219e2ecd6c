"""Blocks that died in the call of the function that asked for them, by site: candidates for the stack or a buffer."""

import msgspec

from heapsmith.model.predict.simulate import Progress
from heapsmith.model.trace.reader import TraceReader
from heapsmith.model.trace.scoped_lives import GROUP, ScopedLives
from heapsmith.tools.sites.calls import calls_of
from heapsmith.tools.sites.grouping import Groups
from heapsmith.tools.sites.sites import MOST_LOCAL_BYTES, Instead, Scoped, ScopedTable, SiteTable


def scoped_table(groups: Groups, progress: Progress | None = None) -> ScopedTable | None:
    """Return the blocks that died in the call that asked for them; None of a trace without sites of frees: one pass."""
    with TraceReader(groups.grouped.trace) as reader:
        if not reader.header.has_free_sites:
            return None
        footer, grouped = reader.footer, groups.grouped
        depth = footer.extra.get("depth")
        calls = calls_of(groups, depth if isinstance(depth, int) else None)
        lives = ScopedLives(calls, grouped.group_of_site, grouped.groups, footer.max_blocks, footer.threads)
        done = 0
        for chunk, site in reader.sited(frees=True):
            lives.feed(chunk, site)
            done += chunk.op.size
            if progress:
                progress("following calls", done, footer.events)
    rows = [_row(groups, lives, group, sizes) for group, sizes in lives.sizes().items()]
    rows.sort(key=lambda row: (row.uncertain - row.blocks, -row.blocks, row.name))
    requests, known, blocks = (int(lives.groups[name].sum()) for name in ("requests", "known", "blocks"))
    return ScopedTable(str(grouped.trace), groups.by, requests, known, blocks, rows)


def with_scoped(groups: Groups, table: SiteTable, progress: Progress | None = None) -> SiteTable:
    """Return the table with these blocks of its groups."""
    return msgspec.structs.replace(table, scoped=scoped_table(groups, progress))


def _row(groups: Groups, lives: ScopedLives, group: int, sizes: tuple[int, int, int]) -> Scoped:
    of = {name: int(lives.groups[group][name]) for name in GROUP.names or ()}
    least, median, most = sizes
    return Scoped(
        name=groups.name(group),
        requests=of["requests"],
        known=of["known"],
        blocks=of["blocks"],
        directly=of["directly"],
        resized=of["resized"],
        uncertain=of["uncertain"],
        least_bytes=least,
        median_bytes=median,
        most_bytes=most,
        life_events=of["lived_events"] / of["blocks"],
        life_ns=float(lives.lived_ns[group]) / of["blocks"],
        instead=_instead(least, most),
    )


def _instead(least: int, most: int) -> Instead:
    if most > MOST_LOCAL_BYTES:
        return "none"
    return "array" if least == most else "buffer"
