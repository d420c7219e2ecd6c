"""The view of `heapsmith top` for people: what a process's heap does and holds, cut to the size of the terminal."""

from collections.abc import Sequence

from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from heapsmith.model.errors import printable
from heapsmith.tools.common.units import amount
from heapsmith.tools.top.watch import ClassSight, Sight

UNCOUNTED = (
    "This library does not count hits of fronts: the rates are those of the slow paths. "
    'A design with counting = "everything" counts all.'
)
WAITING = "no process under a heapsmith library yet"
MOST_OTHERS = 5
WIDE = 160
"""Columns in which every table has room."""

RATES = {
    "allocations": "allocations",
    "frees": "frees",
    "large_allocations": "large allocations",
    "refill": "refills",
    "refilled": "blocks refilled",
    "flush": "flushes",
    "flushed": "blocks flushed",
    "direct": "direct frees",
    "remote": "remote frees",
    "acquire": "slabs acquired",
    "retire": "slabs retired",
    "releases": "page releases",
    "locks": "locks",
    "lock_waits": "lock waits",
}
"""The rates shown, by name; those of bytes and those that the library does not count are left out."""

ITEMS = {
    "small": "small blocks",
    "runs": "large blocks",
    "fronts": "fronts",
    "elsewhere": "transfer cache, remote lists, quarantines",
    "free_in_slabs": "free in slabs",
    "empty_slabs": "empty slabs",
    "run_caches": "run caches",
    "free_runs": "free runs",
    "huge": "huge blocks",
    "ahead": "pages ahead",
}


class Screen:
    """The last look at processes, or why there is none. It draws itself as large as the terminal is then."""

    def __init__(self, sights: list[Sight]) -> None:
        self.sights = sights

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if not self.sights:
            yield Text(WAITING)
            return
        size = console.size
        lines = [line for part in picture(self.sights) for line in _lines(console, options, part)][: size.height]
        for number, line in enumerate(lines):
            yield from Segment.adjust_line_length(line, size.width, pad=False)
            if number + 1 < len(lines):
                yield Segment.line()


def _lines(console: Console, options: ConsoleOptions, part: Text | Table) -> list[list[Segment]]:
    """Text is folded between words; of a table too wide no figure is cut short, its last columns are out of sight."""
    wide = options.update(width=max(WIDE, options.max_width)) if isinstance(part, Table) else options
    return console.render_lines(part, wide, pad=False)


def picture(sights: Sequence[Sight]) -> list[Text | Table]:
    """The first process, and the others in a line each."""
    first, others = sights[0], sights[1 : 1 + MOST_OTHERS]
    parts: list[Text | Table] = [*_head(first), Text(), _rates(first), Text(), _bytes(first), Text()]
    if others:
        parts += [_others(others, len(sights) - 1 - len(others)), Text()]
    return [*parts, _classes(first)]


def _table(*columns: str) -> Table:
    """Columns named '<...' hold text, the others figures."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(Text(column.lstrip("<")), justify="left" if column.startswith("<") else "right", no_wrap=True)
    return table


def _head(one: Sight) -> list[Text]:
    busy = "" if one.processors is None else f", {one.processors:.2f} processors"
    lines = [
        Text(f"{one.pid}  {_command(one)}", style="bold", no_wrap=True, overflow="ellipsis"),
        Text(
            f"{printable(one.design)}: resident {amount(one.rss_bytes)}, committed {amount(one.bytes.committed)} "
            f"(peak {amount(one.counters['committed_peak'])}), {one.threads} threads, "
            f"{one.heaps} heaps ({one.idle_heaps} idle){busy}"
        ),
    ]
    return lines if one.counts_hits else [*lines, Text(UNCOUNTED, style="italic")]


def _command(one: Sight) -> str:
    return printable(" ".join(one.command))


def _per_second(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 or number == 0 else f"{number:.1f}"


def _rates(one: Sight) -> Table:
    table = _table("<per second", "", "<", "")
    found = (
        [] if one.rates is None else [(words, one.rates[name]) for name, words in RATES.items() if name in one.rates]
    )
    if not found:
        table.add_row("rates come with the next look")
    if one.rates is not None and one.rates.get("allocations"):
        found.insert(1, ("of these, front hits", one.rates["hit0"] + one.rates["hit1"]))
    half = -(-len(found) // 2)
    for left, right in zip(found[:half], [*found[half:], ("", 0.0)], strict=False):
        table.add_row(left[0], _per_second(left[1]), right[0], _per_second(right[1]) if right[0] else "")
    return table


def _bytes(one: Sight) -> Table:
    table = _table("<bytes", "", "of committed")
    for name, words in ITEMS.items():
        size = getattr(one.bytes, name)
        table.add_row(words, amount(size), f"{size / max(1, one.bytes.committed):.1%}")
    return table


def _others(others: Sequence[Sight], more: int) -> Table:
    table = _table("other processes", "resident", "committed", "refills/s", "<command")
    for one in others:
        refills = "-" if one.rates is None else _per_second(one.rates["refill"])
        table.add_row(str(one.pid), amount(one.rss_bytes), amount(one.bytes.committed), refills, Text(_command(one)))
    if more:
        table.add_row(f"and {more}")
    return table


def _classes(one: Sight) -> Table:
    hits = ["allocations/s"] if one.counts_hits else []
    table = _table(
        "class", "slabs", "live blocks", "in fronts", "elsewhere", "live of slabs", *hits, "refills/s", "flushes/s"
    )
    used = sorted((row for row in one.classes if row.slab_bytes), key=lambda row: -row.slab_bytes)
    for row in used:
        table.add_row(
            *(str(row.size), amount(row.slab_bytes), f"{row.live_blocks:,}", f"{row.front_blocks:,}"),
            *(f"{row.elsewhere_blocks:,}", f"{row.live_blocks * row.size / row.slab_bytes:.0%}"),
            *_class_rates(row, one.counts_hits),
        )
    return table


def _class_rates(row: ClassSight, counts_hits: bool) -> list[str]:
    if row.rates is None:
        return ["-"] * (3 if counts_hits else 2)
    hits = [row.rates["hit0"] + row.rates["hit1"] + row.rates["refill"]] if counts_hits else []
    return [_per_second(number) for number in (*hits, row.rates["refill"], row.rates["flush"])]
