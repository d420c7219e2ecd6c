"""How wrong `heapsmith pins` is where it says whose blocks keep slabs, against simulated heaps of recorded traces.

python -m heapsmith.bench.studies.pinned [--out FILE] records programs with call stacks and simulates a design on each
trace, whose samples are drawn by their sizes; --page writes the table of the file into docs/lab/sampling.md.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from heapsmith.bench.common.command import exit_with
from heapsmith.bench.common.commit import commit, today
from heapsmith.bench.common.pages import untitled
from heapsmith.bench.common.study import LAB, Measure, Only, Part, Put, settle
from heapsmith.bench.programs.programs import programs, trace_of
from heapsmith.bench.studies.sampling import FRAMES, I64
from heapsmith.model.design.design import load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.errors import Missing
from heapsmith.model.files import write_json
from heapsmith.model.heap.simulator import Simulator
from heapsmith.model.memory import layout
from heapsmith.model.predict.pages import page_bytes
from heapsmith.model.predict.pins_at_moments import Grouped, fresh, pieces, site_lives
from heapsmith.model.trace.reader import TraceReader
from heapsmith.model.trace.site_lives import BYTES, GROUP_OF, SiteLives
from heapsmith.tools.common.tables import Words
from heapsmith.tools.common.units import amount
from heapsmith.tools.sampled.estimates import shares
from heapsmith.tools.sampled.pinned import F64, Slabs, estimate, unsampled
from heapsmith.tools.sites.grouping import group_sites

PART = Part(Path(__file__), LAB / "sampling.md")
NAMES = ("perl", "python", "lua", "jq", "gawk", "php", "ruby", "xsltproc")
DESIGN, MEAN, SEEDS = "sampled", 65_536, 20
LARGE, LEAST_UNUSED = 0.01, 4096
"""Sites with this share of a class's live blocks are looked at, where slabs have this many bytes that no block has."""
LEAST_INSIDE = 0.95


class Row(msgspec.Struct, frozen=True):
    """A program over all moments.

    unused_bytes: of slabs with a live block, those that none has, on average. misplaced: the share of them that goes
    to wrong sites if the blocks of each site are taken to be spread as all others, at each moment. pairs: sites of
    classes, over the seeds; inside: those of which the interval holds the truth. many: pairs that keep a tenth or more
    of what their class does not use; low, high: the medians of their bounds, as shares of the truth.
    """

    program: str
    unused_bytes: float
    misplaced: list[float]
    pairs: int
    inside: int
    many: int
    low: float
    high: float


class Report(msgspec.Struct, frozen=True):
    """All rows, and when and at which commit they were made."""

    date: str
    commit: str
    rows: list[Row]


class Live(NamedTuple):
    """The small live blocks of a heap, each with its site, class, slab, stride and size; and the bytes of all slabs."""

    site: I64
    size_class: I64
    slab: I64
    stride: I64
    asked: I64
    slab_bytes: I64

    def part(self, chosen: npt.NDArray[np.bool_]) -> "Live":
        """Some of the blocks."""
        site, size_class, slab, stride, asked = (column[chosen] for column in self[:-1])
        return Live(site, size_class, slab, stride, asked, self.slab_bytes)

    def each(self) -> tuple[I64, I64, F64]:
        """By slab its live blocks, and its bytes that none has; and of these what each block keeps."""
        count = len(self.slab_bytes)
        live = np.bincount(self.slab, minlength=count)
        used = np.bincount(self.slab, self.stride, count).astype(np.int64)
        unused = np.where(live > 0, self.slab_bytes - used, 0)
        return live, unused, unused[self.slab] / live[self.slab]


def live_blocks(simulator: Simulator, lives: SiteLives) -> Live:
    """The blocks of a simulator as it stands."""
    state = simulator.state
    site, asked = lives.of_block[GROUP_OF], lives.of_block[BYTES]
    handle = state.blocks["handle"][: len(site)]
    small = (handle >= 0) & (handle < layout.RUN_CODE)
    large = state.blocks[: len(handle)][handle >= layout.RUN_CODE]
    handles = handle[small]
    size_class = handles & layout.CLASS_MASK
    return Live(
        *(site[: len(handle)][small], size_class, handles >> layout.SLAB_SHIFT),
        *(state.classes["stride"][size_class], asked[: len(handle)][small], page_bytes(simulator, large).slabs),
    )


def misplaced(of: Live) -> tuple[float, float]:
    """The bytes that no block has, and the share of them that an even spread gives to wrong sites."""
    _, unused, each = of.each()
    key = of.size_class * (int(of.site.max()) + 1) + of.site
    _, pair = np.unique(key, return_inverse=True)
    true = np.bincount(pair, each)
    of_class = np.bincount(of.size_class, each) / np.maximum(1, np.bincount(of.size_class))
    said = np.bincount(pair, of_class[of.size_class])
    site = np.zeros(len(true), np.int64)
    site[pair] = of.site
    off = np.abs(np.bincount(site, said - true)).sum() / 2
    return float(unused.sum()), float(off / max(1.0, float(unused.sum())))


def pairs(of: Live, seed: int) -> Iterator[tuple[float, float, float, float]]:
    """Of each site and class the bounds, the truth, and what the class does not use in all."""
    taken = np.random.default_rng(seed).random(len(of.asked)) < shares(of.asked, MEAN)
    samples, rest = of.part(taken), of.part(~taken)
    live, unused, each = rest.each()
    stands = unsampled(samples.asked, np.full(len(samples.asked), MEAN))
    for one in np.unique(samples.size_class):
        inside, sampled = rest.size_class == one, samples.size_class == one
        slabs = np.unique(rest.slab[inside])
        of_class = Slabs(live[slabs], unused[slabs])
        if of_class.unused.sum() < LEAST_UNUSED:
            continue
        blocks, true = np.bincount(rest.site[inside]), np.bincount(rest.site[inside], each[inside])
        for site in np.flatnonzero(blocks >= LARGE * blocks.sum()):
            own = sampled & (samples.site == site)
            kept = estimate(of_class, stands[own], stands[sampled])[1]
            yield kept.low, kept.high, float(true[site]), float(of_class.unused.sum())


def moments(grouped: Grouped) -> Iterator[Live]:
    """The heap of the design at the peak and after it."""
    peak = site_lives(grouped).peak()[0]
    with TraceReader(grouped.trace) as reader:
        left = reader.footer.events - 1 - peak
        at = {peak + left * eighths // 8 for eighths in (0, 2, 4, 6, 7)}
        (simulator,) = fresh([make_plan(load(DESIGN))], None)
        lives = SiteLives(reader.footer.max_blocks, grouped.group_of_site, grouped.groups)
        for part, site in pieces(reader, at):
            lives.feed(part, site)
            simulator.feed(part)
            if lives.events - 1 in at:
                yield live_blocks(simulator, lives)


def row(program: str, heaps: Sequence[Live], seeds: Sequence[int]) -> Row:
    """The figures of a program."""
    even = [misplaced(heap) for heap in heaps]
    found = np.array([pair for heap in heaps for seed in seeds for pair in pairs(heap, seed)]).reshape(-1, 4)
    low, high, true, unused = found.T
    many = true >= unused / 10
    inside = (low <= true * (1 + 1e-9)) & (true <= high * (1 + 1e-9) + 1e-6)
    low_share, high_share = (float(np.median(bound[many] / true[many])) if many.any() else 0.0 for bound in (low, high))
    unused_bytes = float(np.mean([unused for unused, _ in even]))
    figures = (len(found), int(inside.sum()), int(many.sum()))
    return Row(program, unused_bytes, [off for _, off in even], *figures, low_share, high_share)


def measured(names: Sequence[str]) -> Iterator[Row]:
    """The rows of the programs that are installed."""
    with TemporaryDirectory() as folder:
        for program in programs(Path(folder) / "inputs"):
            if program.name in names and not program.lacks():
                trace = trace_of(program, Path(folder) / program.name, FRAMES)
                yield row(program.name, list(moments(group_sites(trace).grouped)), range(SEEDS))


def faults(rows: Sequence[Row]) -> list[str]:
    """What is wrong with the intervals, if anything is."""
    return [
        f"{one.program}: {one.inside} of {one.pairs} intervals hold the truth; expected {LEAST_INSIDE:.0%} at least"
        for one in rows
        if one.inside < LEAST_INSIDE * one.pairs
    ]


def made(of: Report) -> list[str]:
    """The part of the page."""
    columns = ["program", "unused", "to wrong sites", "at worst", "intervals that hold", "at least", "at most"]
    cells = [
        [
            *(
                one.program,
                amount(int(one.unused_bytes)),
                f"{np.median(one.misplaced):.0%}",
                f"{max(one.misplaced):.0%}",
            ),
            *(f"{one.inside:,} of {one.pairs:,}", f"{one.low:.2f}", f"{one.high:.2f}"),
        ]
        for one in of.rows
    ]
    said = f"Made on {of.date} at commit {of.commit}."
    return [said, untitled(Words("", columns, cells))]


def main(out: Measure = None, only: Only = None, page: Put = False) -> int:
    """Measure, or write the page; fail where intervals are wrong."""
    if out:
        at = commit()
        report = Report(today(), at, list(measured(only or NAMES)))
        if not report.rows:
            raise Missing(f"none of these programs is installed: {', '.join(only or NAMES)}")
        write_json(out, report)
    else:
        report = PART.read(Report)
    return settle(PART, made(report), page, faults(report.rows))


if __name__ == "__main__":
    exit_with(main)
