"""What recordings ask of a design, as a few figures; the baseline file of `heapsmith guard`."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np

from heapsmith.model.design.design import Design, ask_sites
from heapsmith.model.design.plan import Plan, make_plan
from heapsmith.model.errors import BadInput
from heapsmith.model.files import JSON_FAULTS, write_json
from heapsmith.model.heap.simulator import Simulator
from heapsmith.model.predict.cost import system_calls
from heapsmith.model.predict.simulate import Progress, Simulation, feed_all, simulation
from heapsmith.model.search.draft import largest_block
from heapsmith.model.search.size_classes import Demand, Histogram, Rules
from heapsmith.model.toml_text import read_text
from heapsmith.model.trace.reader import TraceReader
from heapsmith.model.trace.stats import Figures

VERSION = 1
"""The format of a baseline file."""

POWERS = 65
"""Ranges of sizes above the largest class: k is for 2^(k-1) to 2^k - 1 bytes."""

SUMMED = ("operations", "committed_peak", "peak_live", "refills", "flushes", "system_calls", "small", "hits")
"""The fields of recordings that add up."""


class Workload(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What recordings ask of a design; several count as one, by their sums.

    sizes: requests by the design's classes, then by powers of two of bytes above the largest class.
    lifetimes: blocks by powers of two of events between birth and free; the last entry is of blocks
    that were never freed. Bytes are sums of the peaks of the recordings.
    """

    version: int
    design_hash: str
    traces: list[str]
    operations: int
    sizes: list[int]
    lifetimes: list[int]
    committed_peak: int
    peak_live: int
    refills: int
    flushes: int
    system_calls: int
    small: int  # small allocations, and those of them that a front served
    hits: int

    def waste(self) -> float:
        """Return committed bytes per byte asked for, at the peaks."""
        return self.committed_peak / max(1, self.peak_live)

    def slow_per_million(self) -> float:
        """Return refills, flushes and system calls per million operations."""
        return (self.refills + self.flushes + self.system_calls) * 1e6 / max(1, self.operations)

    def hit_rate(self) -> float:
        """Return the share of small allocations that a front served."""
        return self.hits / self.small if self.small else 1.0


class Observed(msgspec.Struct, frozen=True):
    """Recordings as a workload, and the requests of each for the size classes."""

    workload: Workload
    histograms: list[Histogram]


def observe(design: Design, traces: Sequence[Path], progress: Progress) -> Observed:
    """Return what the recordings ask of a design, in one pass over each; BadInput if one is damaged."""
    plan = make_plan(design)
    parts: list[Workload] = []
    histograms: list[Histogram] = []
    for path in traces:
        with TraceReader(path, sited=ask_sites([design])) as reader:
            footer = reader.footer
            simulator = Simulator(plan)
            demand = Demand(Rules.of(design), largest_block(design), footer.threads, footer.max_blocks)
            figures = Figures(footer.max_blocks)
            extent = feed_all(reader, [simulator, demand, figures], f"reading {path.name}", progress)
        row = simulation(simulator, extent.operations, None)
        lifetimes = [*figures.lifetimes[1].tolist(), int(figures.totals["live_blocks_at_end"])]
        parts.append(_part(path, row, extent.operations, _by_size(plan, figures), lifetimes))
        histograms.append(demand.histogram())
    return Observed(_sum(parts), histograms)


def _by_size(plan: Plan, figures: Figures) -> list[int]:
    """Return requests by the classes of a plan and, above them, by powers of two."""
    size, requests = figures.by_size()[:, :2].T
    usable = np.array([row.usable for row in plan.sized], np.int64)
    place = np.searchsorted(usable, size)
    above = place == len(usable)
    place[above] += np.frexp(size[above].astype(np.float64))[1]
    counts = np.zeros(len(usable) + POWERS, np.int64)
    np.add.at(counts, place, requests)
    found: list[int] = counts.tolist()
    return found


def _part(path: Path, row: Simulation, operations: int, sizes: list[int], lifetimes: list[int]) -> Workload:
    served = {name: sum(row.counters.classes[name]) for name in ("hit0", "hit1", "refill", "flush")}
    hits = served["hit0"] + served["hit1"]
    return Workload(
        version=VERSION,
        design_hash=row.hash,
        traces=[path.name],
        operations=operations,
        sizes=sizes,
        lifetimes=lifetimes,
        committed_peak=row.committed_peak,
        peak_live=row.statistics.peak_live.live_bytes,
        refills=served["refill"],
        flushes=served["flush"],
        system_calls=system_calls(row),
        small=hits + served["refill"],
        hits=hits,
    )


def _sum(parts: Sequence[Workload]) -> Workload:
    """Return recordings as one."""
    whole = parts[0]
    for part in parts[1:]:
        sums = {name: getattr(whole, name) + getattr(part, name) for name in SUMMED}
        lists = {
            name: [one + other for one, other in zip(getattr(whole, name), getattr(part, name), strict=True)]
            for name in ("sizes", "lifetimes")
        }
        whole = msgspec.structs.replace(whole, traces=whole.traces + part.traces, **sums, **lists)
    return whole


def write_baseline(path: Path, design: Design, traces: Sequence[Path], progress: Progress) -> Workload:
    """Write what the recordings ask of a design as the baseline file; BadInput if it cannot be."""
    workload = observe(design, traces, progress).workload
    write_json(path, workload)
    return workload


def read_baseline(path: Path, design: Design) -> Workload:
    """Return the workload of a baseline file; BadInput if it is none, or another design's."""
    if not path.exists():
        raise BadInput(f"{path}: no such baseline; `heapsmith guard --write` writes one")
    try:
        baseline = msgspec.json.decode(read_text(path, str(path)), type=Workload)
    except JSON_FAULTS as error:
        raise BadInput(f"{path}: no baseline that `heapsmith guard --write` wrote: {error}") from None
    if baseline.version != VERSION:
        raise BadInput(f"{path}: format {baseline.version}; expected {VERSION}: write the baseline anew")
    if baseline.design_hash != design.hash():
        raise BadInput(
            f"{path}: is the baseline of design {baseline.design_hash}, but {design.name} is {design.hash()}: "
            "write the baseline anew"
        )
    return baseline
