"""Counts: the counters that a library reported at exit, by class and layer, and per operation."""

import csv
import io
from pathlib import Path

import msgspec

from heapsmith.model.errors import BadInput
from heapsmith.model.files import JSON_FAULTS
from heapsmith.model.toml_text import read_text
from heapsmith.tools.common.tables import Words

GAUGES = ("committed", "committed_peak", "released_bytes")
"""Counters of bytes, which have no rate."""

LARGE = ("run_hit", "run_reuse", "run_grow", "huge_map", "huge_reuse")
"""The counters of the allocations of large blocks."""


class Report(msgspec.Struct, frozen=True):
    """What HEAPSMITH=stats=FILE writes (docs/api.md). system, locks: of a design that counts everything."""

    design: str
    pid: int
    counters: dict[str, int]
    classes: list[dict[str, int]]
    rss_bytes: int
    peak_rss_bytes: int
    system: dict[str, int] = {}
    locks: dict[str, int] = {}


class Layers(msgspec.Struct, frozen=True):
    """The small blocks of a class by the layer that served them; None: the library did not count.

    A refill asks transfer cache or store. A free is pushed, given to the store, or sent to its owner.
    """

    size: int
    hit0: int | None
    hit1: int
    refill: int
    pushed: int | None
    direct: int
    remote: int

    @property
    def allocations(self) -> int | None:
        """Return how many blocks the class served."""
        return None if self.hit0 is None else self.hit0 + self.hit1 + self.refill

    @property
    def frees(self) -> int | None:
        """Return how many blocks of the class the program freed."""
        return None if self.pushed is None else self.pushed + self.direct + self.remote


class Count(msgspec.Struct, frozen=True):
    """A counter. size: that of its class in bytes, or None. per_million: operations; None if unknown."""

    name: str
    size: int | None
    count: int
    per_million: float | None


class Counts(msgspec.Struct, frozen=True):
    """A report as layers and counters.

    operations: allocations and frees of small blocks, and allocations of large blocks. None if the
    library does not count its hit path.
    """

    design: str
    operations: int | None
    layers: list[Layers]
    counts: list[Count]


def read_report(path: Path) -> Counts:
    """Return the counts of a report; BadInput if the file is no report."""
    return counts_of(path, read_text(path, str(path)))


def counts_of(path: Path, text: str) -> Counts:
    """Return the counts of the text of a report; BadInput if it is none."""
    try:
        report = msgspec.json.decode(text, type=Report)
        layers = [_layers(row) for row in report.classes]
    except (*JSON_FAULTS, KeyError) as error:
        raise BadInput(f"{path}: no report of counters: {error}; expected what HEAPSMITH=stats=FILE writes") from None
    served = [number for row in layers for number in (row.allocations, row.frees)]
    large = sum(report.counters.get(name, 0) for name in LARGE)
    operations = None if None in served else sum(filter(None, served)) + large

    def counts(found: dict[str, int], size: int | None = None) -> list[Count]:
        def rate(name: str, count: int) -> float | None:
            return count * 1e6 / operations if operations and name not in GAUGES else None

        return [Count(name, size, count, rate(name, count)) for name, count in found.items()]

    of_classes = [
        one
        for row in report.classes
        for one in counts({name: row[name] for name in row if name not in ("size", "usable")}, row["size"])
    ]
    of_paths = counts({f"locks.{path}": count for path, count in report.locks.items()})
    heap = counts(report.system) + of_paths + counts(report.counters)
    return Counts(report.design, operations, layers, heap + of_classes)


def _layers(row: dict[str, int]) -> Layers:
    pushed = row["push"] - row["drained"] if "push" in row else None
    return Layers(row["size"], row.get("hit0"), row["hit1"], row["refill"], pushed, row["direct"], row["remote"])


def as_csv(counts: Counts) -> str:
    """Return the counters as CSV (RFC 4180 but for line ends): size, counter, count, per_million."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["size", "counter", "count", "per_million"])
    for one in counts.counts:
        per = "" if one.per_million is None else f"{one.per_million:.3f}"
        writer.writerow(["" if one.size is None else one.size, one.name, one.count, per])
    return text.getvalue()


def tables(counts: Counts) -> list[Words]:
    """Return the tables: layers by class, and all counters without a class that are not 0."""
    operations = "" if counts.operations is None else f", {counts.operations:,} operations"
    used = [row for row in counts.layers if row.allocations or row.refill or row.frees or row.direct or row.remote]
    return [
        Words(
            f"{counts.design}{operations}",
            ["size", "allocations", "level 0", "level 1", "refills", "frees", "pushed", "direct", "remote"],
            [
                [
                    str(row.size),
                    *_shares(row.allocations, (row.hit0, row.hit1, row.refill)),
                    *_shares(row.frees, (row.pushed, row.direct, row.remote)),
                ]
                for row in used
            ],
        ),
        Words(
            "the heap and the system",
            ["counter", "count", "per million operations"],
            [
                [one.name, f"{one.count:,}", "-" if one.per_million is None else f"{one.per_million:,.1f}"]
                for one in counts.counts
                if one.size is None and one.count
            ],
        ),
    ]


def _shares(whole: int | None, parts: tuple[int | None, ...]) -> list[str]:
    """Return a sum and its parts in percent; without the sum, the parts as they are."""
    if whole is None:
        return ["-", *("-" if part is None else f"{part:,}" for part in parts)]
    return [f"{whole:,}", *(f"{(part or 0) / whole:.1%}".replace("%", " %") if whole else "-" for part in parts)]
