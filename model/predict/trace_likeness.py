"""How like a trace another one is to the designs: the figures that differ, and by how much."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np

from heapsmith.model.design.design import Design
from heapsmith.model.predict.simulate import Progress, Simulation, simulate
from heapsmith.model.trace.synth.fit import PhasesFit
from heapsmith.model.trace.synth.fit_file import save_fit as write_fit
from heapsmith.model.trace.synth.synthesise import fit_of, synthesise

FIGURES = ("hits of level 0", "hits of level 1", "refills", "slow operations", "peak bytes", "average bytes")
LARGE = (
    *("run_reuse", "run_grow", "run_extend", "run_hit", "run_free", "run_spill"),
    *("huge_map", "huge_unmap", "huge_remap", "huge_reuse"),
)
"""Counters of large blocks, all of them slow."""
SLOW = ("refill", "spill", "flush", "direct", "remote")


class Likeness(msgspec.Struct, frozen=True):
    """A figure of a design on two traces; bytes are committed ones."""

    design: str
    figure: str
    original: float
    synthetic: float
    difference: float  # of the original; of 1 if the original is 0


class LikenessTable(msgspec.Struct, frozen=True):
    """What the designs tell of two traces, and the largest difference."""

    rows: list[Likeness]
    largest: float


class Synthetic(msgspec.Struct, frozen=True):
    """A synthetic trace, what is behind it, and how like the original it is."""

    events: int
    threads: int
    max_blocks: int
    phases: int  # of the fit, all and different ones
    different_phases: int
    rows: int  # of the fit: rows, marks and bounds; for sizes and lifetimes: kinds of blocks
    assumed: list[str]
    likeness: LikenessTable | None  # None: not a trace, or of another length


def checked_synth(
    like: Path,
    out: Path,
    *,
    designs: Sequence[Design],
    events: int | None = None,
    seed: int = 1,
    save_fit: Path | None = None,
    progress: Progress = lambda what, done, total: None,
) -> Synthetic:
    """Draw a trace like `like` to `out`, and compare it with `like` where that is a trace of this length.

    Raises BadInput for a file that is neither trace, profile nor fit, or a file that cannot be written.
    """
    is_trace, fit = fit_of(like, progress)
    if save_fit is not None:
        write_fit(save_fit, fit)
    footer = synthesise(fit, out, events=events, seed=seed, progress=progress)
    comparable = is_trace and designs and footer.events == fit.events
    table = likeness(like, out, designs, progress) if comparable else None
    if isinstance(fit, PhasesFit):
        parts = sum(len(phase.rows) + len(phase.marks) + len(phase.bounds) for phase in fit.phases)
        phases, assumed = len(fit.order), []
    else:
        parts, phases, assumed = sum(len(mix.blocks) for mix in fit.phases), len(fit.phases), fit.assumed
    return Synthetic(footer.events, footer.threads, footer.max_blocks, phases, len(fit.phases), parts, assumed, table)


def likeness(
    original: Path, synthetic: Path, designs: Sequence[Design], progress: Progress | None = None
) -> LikenessTable:
    """Simulate the designs on both traces; BadInput if one is damaged."""
    tables = [
        simulate(trace, designs, progress=progress, stage=f"simulating the {name}").rows
        for trace, name in ((original, "original"), (synthetic, "synthetic trace"))
    ]
    rows = [
        Likeness(old.design, figure, a, b, (b - a) / (a or 1.0))
        for old, new in zip(*tables, strict=True)
        for figure, a, b in zip(FIGURES, _figures(old), _figures(new), strict=True)
    ]
    return LikenessTable(rows, max((abs(row.difference) for row in rows), default=0.0))


def _figures(row: Simulation) -> tuple[float, ...]:
    """Return FIGURES of a design on a trace."""
    of = {name: sum(counts) for name, counts in row.counters.classes.items()}
    slow = sum(of[name] for name in SLOW) + sum(row.counters.totals[name] for name in LARGE)
    average = float(np.mean([point[2] for point in row.statistics.timeline] or [0]))
    return of["hit0"], of["hit1"], of["refill"], slow, row.committed_peak, average
