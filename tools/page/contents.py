"""The contents of the page: what the views draw, from histories, a search and measurements."""

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from heapsmith.model.design.toml import design_text
from heapsmith.model.heap.ledger import ITEMS
from heapsmith.model.predict.history import Band, Histories, History
from heapsmith.model.predict.reuse import ReuseTable
from heapsmith.model.search.outcome import OBJECTIVES
from heapsmith.model.search.tune import Tuned
from heapsmith.model.trace.kinds import Kinds
from heapsmith.model.trace.stats import TraceInfo
from heapsmith.tools.common.resident_words import WORDS
from heapsmith.tools.compare.measure import MeasureTable
from heapsmith.tools.page.paths import Paths, paths_data
from heapsmith.tools.page.payload import Payload


class Births(msgspec.Struct, frozen=True):
    """The sites at which blocks of the maps were born: of each event, ascending, the number of its name."""

    events: npt.NDArray[np.int64]
    numbers: npt.NDArray[np.int64]
    names: list[str]

    def of(self, events: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the numbers of the names of these events; of what is no such event, any number."""
        at = np.minimum(np.searchsorted(self.events, events), len(self.events) - 1)
        found: npt.NDArray[np.int64] = self.numbers[at]
        return found


class Shown(msgspec.Struct, frozen=True):
    """A trace on the page: its figures, and the designs' histories on it.

    births, paths: of a trace with call stacks.
    """

    trace: Path
    info: TraceInfo
    found: Histories
    reuse: ReuseTable | None = None
    births: Births | None = None
    paths: Paths | None = None


def contents(
    shown: list[Shown], tuned: Tuned | None, measured: MeasureTable | None, payload: Payload
) -> dict[str, Any]:
    """Return the page's data; its arrays are in the payload."""
    return {
        "traces": [_trace(one, payload) for one in shown],
        "search": _search(tuned) if tuned else None,
        "measured": _measured(measured) if measured else None,
    }


def _trace(one: Shown, payload: Payload) -> dict[str, Any]:
    found, info = one.found, one.info
    lives = found.lives
    return {
        "name": one.trace.name,
        "command": " ".join(info.command),
        "events": info.events,
        "time": {
            "events": payload.array(found.events, "f8"),
            "time_ns": payload.array(found.time_ns, "f8"),
            "asked": _band(found.asked, payload),
        },
        "stops": payload.array(found.stops, "u4"),
        "peak": info.peak_live_bytes_event,
        "lifetimes": payload.array(lives.lifetimes, "f8"),
        "buckets": lives.lifetimes.shape[0],
        "never": found.never_freed,
        "threads": len(lives.passed),
        "all_threads": info.threads,
        "passed": payload.array(lives.passed, "f8"),
        "sites": one.births.names if one.births else None,
        "paths": paths_data(one.paths, payload) if one.paths else None,
        "designs": [_design(row, one.births, payload) for row in found.rows],
        "kinds": _kinds(kinds, payload) if (kinds := kinds_of(info)) else None,
        "reuse": _reuse(one.reuse) if one.reuse else None,
    }


def kinds_of(info: TraceInfo) -> Kinds | None:
    """Return what was resident by kind, if anybody looked."""
    return info.samples.kinds if info.samples else None


def _kinds(kinds: Kinds, payload: Payload) -> dict[str, Any]:
    return {
        "time_ns": payload.array(kinds.time_ns, "f8"),
        "live": payload.array(kinds.live, "f8"),
        "most": kinds.most_resident(),
        "rows": [
            {"name": WORDS[name], "bytes": payload.array(getattr(kinds, name), "f8")}
            for name in kinds.RESIDENT
            if any(getattr(kinds, name))
        ],
    }


def _band(band: Band, payload: Payload) -> dict[str, Any]:
    return {name: payload.array(getattr(band, name), "f8") for name in ("low", "high", "last")}


def _design(row: History, births: Births | None, payload: Payload) -> dict[str, Any]:
    simulated, maps, counts = row.simulated, row.maps, row.simulated.counters.classes
    ledgers = np.array([[getattr(ledger, item) for item in ITEMS] for ledger in row.ledgers])
    return {
        "name": simulated.design,
        "hash": simulated.hash,
        "peak": simulated.statistics.peak_committed.event,
        "committed": _band(row.committed, payload),
        "resident": payload.array(row.resident, "f8") if row.resident else None,
        "items": [item.replace("_", " ") for item in ITEMS],
        "ledgers": payload.array(ledgers, "f8"),
        "classes": {
            "sizes": simulated.block_sizes,
            "hits": [first + second for first, second in zip(counts["hit0"], counts["hit1"], strict=True)],
            "misses": counts["refill"],
            "slabs": [made - gone for made, gone in zip(counts["acquire"], counts["retire"], strict=True)],
            **{name: payload.array(getattr(row.classes, name), "f8") for name in ("live", "asked", "idle")},
        },
        "map": {
            "columns": maps.live.shape[1],
            "column_bytes": maps.column_bytes,
            "slab_bytes": maps.slab_bytes,
            **{name: payload.shares(getattr(maps, name), maps.column_bytes) for name in ("live", "idle", "committed")},
            "blocks": payload.array(maps.blocks, "u2"),
            **{name: payload.array(getattr(maps, name), "u4") for name in ("born", "size", "block")},
            "site": payload.array(births.of(maps.born), "u4") if births else None,
        },
    }


def _reuse(table: ReuseTable) -> dict[str, Any]:
    return {
        "cache_bytes": table.cache_bytes,
        "rows": [{"design": row.design, "miss_ratios": row.miss_ratios} for row in table.rows],
    }


def _search(tuned: Tuned) -> dict[str, Any]:
    chosen = tuned.design.hash()
    return {
        "objectives": list(OBJECTIVES),
        "front": [
            {
                "hash": one.hash,
                "chosen": one.hash == chosen,
                "ratios": one.ratios,
                "score": one.score,
                "p999_ns": one.p999_ns,
                "classes": len(one.design.sizes),
                "toml": design_text(one.design),
            }
            for one in tuned.front
        ],
        "worth": [
            {"fields": one.fields, "chosen": one.chosen, "base": one.base, "without": one.without}
            for one in tuned.worth
        ],
        "reasons": [{"field": one.field, "chosen": one.chosen, "why": one.why} for one in tuned.reasons],
    }


def _measured(table: MeasureTable) -> dict[str, Any]:
    return {
        "reference": table.rows[0].library,
        "rounds": table.rounds,
        "rows": [
            {
                "library": row.library,
                "ratios": {name: [one.median, one.low, one.high] for name, one in row.ratios.items() if name != "time"},
            }
            for row in table.rows
        ],
    }
