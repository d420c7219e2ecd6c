"""What a heap is for, in sentences: which code, or which sizes, have the live bytes at their peak, and what is lost."""

import numpy as np

from heapsmith.model.heap.ledger import ITEMS
from heapsmith.tools.common.units import amount
from heapsmith.tools.page.contents import Shown
from heapsmith.tools.page.paths import SMALLER, Paths

MOST = 3
"""Rows that are named; the others are in the views."""


def purpose(one: Shown) -> list[str]:
    """Return what the heap of a trace is for at its peak: by call sites if the trace has them, else by sizes."""
    found, live = one.found, max(1, one.info.peak_live_bytes)
    events = np.array([found.events[pixel] for pixel in found.stops])
    stop = int(np.abs(events - one.info.peak_live_bytes_event).argmin())
    held = _sites(one.paths, stop) if one.paths else _sizes(one, stop)
    held = {name: number for name, number in held.items() if number}
    rows = sorted(held.items(), key=lambda row: -row[1])[:MOST]
    told = ", ".join(f"{name} {amount(number)} ({_share(number, live)})" for name, number in rows)
    kinds = "call sites" if one.paths else "classes of sizes"
    asked = f"{one.trace.name}: the program has at most {amount(live)} at one time."
    return [f"{asked} The largest {kinds}: {told}." if told else asked, _lost(one, stop)]


def _share(number: int, whole: int) -> str:
    """A share in per cent; small ones are not 0."""
    return f"{number / whole:.0%}" if number >= whole / 100 else "less than 1%"


def _sites(paths: Paths, stop: int) -> dict[str, int]:
    """Bytes by the innermost spot of each path."""
    held: dict[str, int] = {}
    for path, number in zip(paths.paths, paths.live[stop].tolist(), strict=True):
        if (name := paths.names[path[-1]]) != SMALLER:
            held[name] = held.get(name, 0) + number
    return held


def _sizes(one: Shown, stop: int) -> dict[str, int]:
    """Bytes by the size classes of the first design, and above these."""
    row = one.found.rows[0]
    sizes, asked = row.simulated.block_sizes, row.classes.asked[stop].tolist()
    below = [0, *sizes]
    held = {f"{low + 1} to {high} bytes": number for low, high, number in zip(below, sizes, asked, strict=False)}
    return held | {f"above {sizes[-1]} bytes": max(0, row.ledgers[stop].asked - sum(asked))}


def _lost(one: Shown, stop: int) -> str:
    """What the first design commits at that moment beyond what is asked for, and for what."""
    row = one.found.rows[0]
    ledger = row.ledgers[stop]
    committed = max(1, ledger.committed)
    items = {name.replace("_", " "): getattr(ledger, name) for name in ITEMS if name != "asked"}
    worst = [item for item in sorted(items.items(), key=lambda item: -item[1])[:2] if item[1] >= committed / 100]
    parts = [f"{_share(ledger.asked, committed)} is asked for"]
    parts += [f"{_share(number, committed)} is {name}" for name, number in worst]
    return f"{row.simulated.design} commits {amount(ledger.committed)} then: {', '.join(parts)}."
