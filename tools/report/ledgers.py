"""Tables of ledgers: what the bytes of each design are for."""

from collections.abc import Iterator

from heapsmith.model.heap.ledger import ITEMS, Ledger
from heapsmith.model.predict.ledgers import Ledgers, LedgerTable
from heapsmith.tools.common.tables import Words


def ledgers(table: LedgerTable) -> Iterator[Words]:
    """A table for each design: a row for each item and each sum, columns for peak, average, end and events."""
    for row, found in zip(table.simulated.rows, table.ledgers, strict=True):
        yield _table(f"bytes of {row.design} on {table.simulated.trace}", found)


def saved(trace: str, base: Ledgers, tuned: Ledgers) -> Words:
    """What a design saves on a trace: a row for each item that differs, and their sum; none if none does."""
    peaks = (base.peak.bytes, tuned.peak.bytes)
    averages = (base.average, tuned.average)
    rows = [
        (name.replace("_", " "), *_difference(name, peaks), *_difference(name, averages))
        for name in (*ITEMS, "committed")
        if any(getattr(one, name) != getattr(other, name) for one, other in (peaks, averages))
    ]
    title = (
        f"bytes on {trace} that the choice saves, predicted: at the peak of the committed bytes (after event "
        f"{base.peak.event:,} of the base, {tuned.peak.event:,} of the choice), and on average over {base.stops} events"
    )
    return Words(title, ("item", "base, peak", "tuned", "saved", "base, average", "tuned", "saved"), rows)


def _difference(name: str, both: tuple[Ledger, Ledger]) -> tuple[str, str, str]:
    before, after = (getattr(one, name) for one in both)
    return f"{before:,}", f"{after:,}", f"{before - after:,}"


def _table(title: str, found: Ledgers) -> Words:
    at = {f"event {stop.event:,}": stop.bytes for stop in found.at}
    columns = {"peak": found.peak.bytes, "average": found.average, "end": found.end.bytes, **at}
    every = list(columns.values())
    resident = ("untouched", "metadata", "resident") if found.average.resident is not None else ()
    names = [*ITEMS, "committed", *resident]
    rows = [_row(name, every) for name in names if any(getattr(one, name) for one in every)]
    when = f"at its peak (event {found.peak.event:,}), the average of {found.stops} events, at the end"
    title = f"{title}: {when}; % of {'resident' if resident else 'committed'}"
    return Words(title, ("item", *(head for column in columns for head in (column, "%"))), rows)


def _row(name: str, every: list[Ledger]) -> list[str]:
    """An item's bytes and its share of the whole in each ledger; untouched bytes are taken off."""
    cells = [name.replace("_", " ")]
    for one in every:
        whole = one.committed if one.resident is None else one.resident
        size = (-1 if name == "untouched" else 1) * getattr(one, name)
        cells += [f"{size:,}", f"{size / whole:.1%}" if whole else "-"]
    return cells
