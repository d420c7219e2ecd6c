"""The call stacks of a trace as a table: names, requests, bytes and lifetimes (docs/other-tools.md)."""

from pathlib import Path
from typing import Any

import numpy as np

from heapsmith.model.predict.pins_at_moments import Grouped, site_lives
from heapsmith.model.trace.exports.format import Exported, Progress, metadata
from heapsmith.model.trace.exports.formats import format_of
from heapsmith.model.trace.exports.tables import write_table
from heapsmith.model.trace.imports.columns import arrow
from heapsmith.model.trace.reader import TraceReader
from heapsmith.model.trace.site_lives import SiteLives, call_tree
from heapsmith.tools.sites.functions import WRAPPERS
from heapsmith.tools.sites.grouping import callers, spots_of

_COUNTS = ("requests", "bytes", "most_bytes", "most_event", "peak_blocks", "peak_bytes", "live_blocks", "live_bytes")
_CALLED = {"live_blocks": "end_blocks", "live_bytes": "end_bytes"}


def export_sites(trace: Path, out: Path, name: str | None, *, progress: Progress) -> Exported:
    """Write a row per call stack of a trace; site 0, the unknown one, has no row.

    Raises BadInput for a trace without stacks and what `export_trace` raises.
    """
    chosen = format_of(out, name, "sites")
    with TraceReader(trace) as reader:
        tree, other = call_tree(reader), metadata(reader)
    spots, library, reasons = spots_of(trace)
    paths = [[spot for frame in tree.path(site) for spot in spots[frame]] for site in range(1, len(tree.innermost) + 1)]
    lives = site_lives(Grouped(trace, np.arange(len(paths) + 1), len(paths) + 1), progress)
    batch = arrow().RecordBatch.from_pydict(_columns(paths, library, lives))
    count = write_table(out, chosen, [batch])
    unknown = int(lives.groups["requests"][0])
    lacks = [
        "single events and blocks, their threads and times",
        *([f"{unknown:,} requests whose call stack is unknown"] if unknown else []),
        *other,
    ]
    return Exported(str(trace), str(out), chosen, "sites", count, lacks, reasons)


def _columns(paths: list[list[Any]], library: set[Any], lives: SiteLives) -> dict[str, Any]:
    """Return the columns; `place` is the innermost frame that does not allocate for its caller."""
    places = [callers(path, [WRAPPERS], library)[0] for path in paths]
    mean_events, mean_ns = lives.mean_lives()
    return {
        "site": np.arange(1, len(paths) + 1),
        "function": [place.function for place in places],
        "location": [place.line for place in places],
        "module": [place.module for place in places],
        "stack": [" < ".join(spot.name for spot in path) for path in paths],
        **{_CALLED.get(name, name): lives.groups[name][1:] for name in _COUNTS},
        "mean_life_events": mean_events[1:],
        "mean_life_ns": mean_ns[1:],
    }
