"""What a measured difference is worth: dollars for the memory and the processors of all instances of a program."""

from collections.abc import Iterator
from typing import Literal

import msgspec

from heapsmith.tools.common.ratios import LEAST_ROUNDS, Ratio
from heapsmith.tools.compare.measure import MeasureRow, ratios

GB = 1e9
"""As clouds price memory."""


class Price(msgspec.Struct, frozen=True):
    """Prices of a GB of memory and of a processor, of any span of time, and how many instances pay them."""

    instances: int
    dollar_per_gb: float | None
    dollar_per_core: float | None


class Worth(msgspec.Struct, frozen=True):
    """What a malloc saves against another in memory or processors. amount: GB or processors of all instances under it.

    dollars: with their interval, below 0 for a loss; None: the measurement shows no difference.
    """

    library: str
    against: str
    of: Literal["memory", "processors"]
    amount: float
    ratio: Ratio
    dollars: float | None
    low: float | None
    high: float | None

    def sentence(self) -> str:
        """Return it for people."""
        unit = "GB" if self.of == "memory" else "cores"
        begin = f"{self.library} against {self.against}, {self.of} ({self.amount:,.4g} {unit} of all instances):"
        if self.dollars is None or self.low is None or self.high is None:
            return f"{begin} no saving is shown."
        saves = self.dollars > 0
        low, high = sorted((abs(self.low), abs(self.high)))
        word = "saves" if saves else "costs"
        return f"{begin} {word} {abs(self.dollars):,.2f} dollars ({low:,.2f} to {high:,.2f})."


class WorthTable(msgspec.Struct, frozen=True):
    """The prices, and what follows from them for each malloc and for memory and processors."""

    price: Price
    rows: list[Worth]


def worth(row: MeasureRow, reference: MeasureRow, price: Price) -> list[Worth]:
    """Return the worth of a row's malloc against another's of the same table.

    Memory counts by the peak, which an instance must have; processors by those that an instance keeps busy that does
    this work without a pause: CPU time over wall time, of the round in which other programs disturbed least.
    """
    return list(_worth(row, reference, price))


def _worth(row: MeasureRow, reference: MeasureRow, price: Price) -> Iterator[Worth]:
    found = ratios(row.runs, reference.runs)
    enough = len(row.runs) >= LEAST_ROUNDS
    if price.dollar_per_gb is not None:
        amount = price.instances * reference.peak_rss_bytes.median / GB
        dollars = _dollars(found.peak_rss, amount * price.dollar_per_gb, enough)
        yield Worth(row.library, reference.library, "memory", amount, found.peak_rss, *dollars)
    if price.dollar_per_core is not None:
        amount = price.instances * max(run.cpu_ns / run.wall_ns for run in reference.runs)
        dollars = _dollars(found.cpu, amount * price.dollar_per_core, enough)
        yield Worth(row.library, reference.library, "processors", amount, found.cpu, *dollars)


def _dollars(found: Ratio, all_dollars: float, enough: bool) -> tuple[float | None, float | None, float | None]:
    """Return what is saved of all dollars, and its interval: none where that holds 0, or of too few rounds."""
    bounds = found.bounds()
    if bounds is None or not enough or not (found.is_less() or found.is_more()):
        return None, None, None
    low, high = (all_dollars * (1 - one) for one in reversed(bounds))
    return all_dollars * (1 - found.median), low, high
