"""Can a design be tuned on the samples of a live profile? Traces drawn from samples, against the traces they are of.

python -m heapsmith.bench.studies.from_profile [--out FILE] records programs, draws samples of the lives of their
blocks, makes traces of these samples, and looks for the best of some designs on both; --page writes the table of the
file into docs/lab/sampling.md.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
from scipy.stats import kendalltau

from heapsmith.bench.common.command import exit_with
from heapsmith.bench.common.commit import commit, today
from heapsmith.bench.common.pages import untitled
from heapsmith.bench.common.study import LAB, Measure, Only, Part, Put, settle
from heapsmith.bench.programs.programs import programs, trace_of
from heapsmith.bench.studies.sampling import FRAMES, I64
from heapsmith.model.design.design import Design, changed, load
from heapsmith.model.files import write_json
from heapsmith.model.memory.hardware import load_hardware
from heapsmith.model.search.choice import WEIGHTS, scores
from heapsmith.model.search.evaluate import Evaluator
from heapsmith.model.search.outcome import ratios
from heapsmith.model.search.pareto import Floats
from heapsmith.model.search.source import Source
from heapsmith.model.search.workers import Bench, Workers
from heapsmith.model.trace.events import Chunk, Op
from heapsmith.model.trace.reader import TraceReader
from heapsmith.model.trace.writer import TraceWriter
from heapsmith.tools.common.tables import Words
from heapsmith.tools.sampled.estimates import shares

F64 = npt.NDArray[np.float64]

PART = Part(Path(__file__), LAB / "sampling.md")
NAMES = ("perl", "lua", "jq", "gawk", "php", "xsltproc")
MEAN, SEED = 16_384, 1
WINDOWS = 64
"""Windows of time: of a block in `windows`, those of its birth and of its death are kept."""
SLABS, CAPACITIES, THINNED = (16_384, 32_768, 65_536, 131_072), (16, 48, 128), (1, 2)
"""The designs that are compared: the default with slabs of these bytes, fronts of these capacities, and of its size
classes all or each second.
"""


class Lives(NamedTuple):
    """Blocks: births and deaths in nanoseconds (END: none died), sizes, and a number of each call stack."""

    birth: I64
    death: I64
    size: I64
    stack: I64


END = 1 << 62


def lives_of(trace: Path) -> Lives:
    """The lives of a trace; a realloc ends one and begins another."""
    birth, death, size, stack = list[int](), list[int](), list[int](), list[int]()
    now = dict[int, int]()
    with TraceReader(trace) as reader:
        for chunk, site in reader.sited():
            columns = (chunk.op, chunk.block, chunk.size, chunk.time_ns, site)
            for op, block, asked, time, of in zip(*(column.tolist() for column in columns), strict=True):
                if op in (Op.REALLOC, Op.FREE, Op.FREE_SIZED):
                    death[now.pop(block)] = time
                if op <= Op.ALIGNED:
                    now[block] = len(birth)
                    birth.append(time)
                    death.append(END)
                    size.append(asked)
                    stack.append(of)
    return Lives(*(np.array(column, np.int64) for column in (birth, death, size, stack)))


def copies(of: Lives, mean: int, draw: np.random.Generator) -> tuple[Lives, I64]:
    """Samples of the lives, and the number of the sample of each block that is to be drawn: each as often as it stands
    for.
    """
    chance = shares(of.size, mean)
    taken = np.flatnonzero(draw.random(len(chance)) < chance)
    samples = Lives(*(column[taken] for column in of))
    each = 1 / chance[taken]
    return samples, np.repeat(np.arange(len(taken)), (each + draw.random(len(each))).astype(np.int64))


def independent(samples: Lives, at: I64, draw: np.random.Generator) -> tuple[I64, I64]:
    """Births at any time of the run, and lives as long as those of the samples."""
    end = int(samples.birth.max())
    birth = draw.integers(0, end + 1, len(at))
    life = np.where(samples.death == END, END, samples.death - samples.birth)[at]
    return birth, np.where(life == END, END, birth + life)


def windows(samples: Lives, at: I64, draw: np.random.Generator) -> tuple[I64, I64]:
    """Births and deaths at any time in the windows of those of the sample; within one window the life is as long."""
    wide = int(samples.birth.max()) // WINDOWS + 1
    first, last = samples.birth[at] // wide, samples.death[at] // wide
    birth = first * wide + draw.integers(0, wide, len(at))
    later = last * wide + draw.integers(0, wide, len(at))
    death = np.where(first == last, birth + (samples.death - samples.birth)[at], later)
    return birth, np.where(samples.death[at] == END, END, death)


def between(samples: Lives, at: I64, draw: np.random.Generator) -> tuple[I64, I64]:
    """Births and deaths between those of the sample and of its neighbour in time: of the same call stack and size, and
    with a life of about the same length. So what is freed together, in order or in reverse stays so.
    """
    life = np.where(samples.death == END, END, samples.death - samples.birth)
    kind = np.stack([samples.stack, samples.size, np.log2(life + 1).astype(np.int64) // 2])
    order = np.lexsort([samples.birth, *kind])
    same = np.append((np.diff(kind[:, order], axis=1) == 0).all(axis=0), False)  # as the next one
    after = np.arange(len(order))
    after[order[:-1]] = np.where(same[:-1], order[1:], order[:-1])
    part = draw.random(len(at))
    other = after[at]
    birth = samples.birth[at] + (part * (samples.birth[other] - samples.birth[at])).astype(np.int64)
    moved = samples.death[at] + (part * (samples.death[other] - samples.death[at])).astype(np.int64)
    return birth, np.where(samples.death[at] == END, END, np.maximum(moved, birth + 1))


WAYS: dict[str, Callable[[Lives, I64, np.random.Generator], tuple[I64, I64]]] = {
    "lifetimes": independent,
    "windows": windows,
    "neighbours": between,
}


def write(path: Path, birth: I64, death: I64, size: I64) -> Path:
    """The trace of these blocks."""
    dies = np.flatnonzero(death < END)
    when = np.concatenate([birth, death[dies]])
    blocks = np.concatenate([np.arange(len(birth)), dies])
    is_free = np.concatenate([np.zeros(len(birth), bool), np.ones(len(dies), bool)])
    order = np.lexsort([is_free, when])
    numbers, free, names, used = np.zeros(len(order), np.int64), [], np.zeros(len(birth), np.int64).tolist(), 0
    for place, (block, frees) in enumerate(zip(blocks[order].tolist(), is_free[order].tolist(), strict=True)):
        if frees:
            free.append(names[block])
        elif free:
            names[block] = free.pop()
        else:
            names[block], used = used, used + 1
        numbers[place] = names[block]
    op = np.where(is_free[order], int(Op.FREE), int(Op.MALLOC))
    none = np.zeros(len(order), np.int64)
    asked = np.where(is_free[order], 0, size[blocks[order]])
    with TraceWriter(path, command=[], source="samples") as writer:
        writer.append(Chunk.of(op, none, numbers, asked, none, when[order]))
    return path


class Row(msgspec.Struct, frozen=True):
    """A program and a way to make a trace of its samples.

    peak: committed peak of the default on the made trace, to that on the full one. tau: Kendall's, of the scores of the
    designs on both. loss: how much worse than the best design on the full trace is there the one that is best on the
    made trace; usual_loss: the same of the default.
    """

    program: str
    way: str
    samples: int
    blocks: int
    peak: float
    tau: float
    loss: float
    usual_loss: float


class Report(msgspec.Struct, frozen=True):
    """All rows, and when and at which commit they were made."""

    date: str
    commit: str
    rows: list[Row]


def designs() -> list[Design]:
    """The default, and the others."""
    base = load("default")
    front = msgspec.to_builtins(base.front)
    found = [base]
    for slab_bytes in SLABS:
        for capacity in CAPACITIES:
            for step in THINNED:
                sizes = [size for size in base.sizes[::-1][::step][::-1] if size <= slab_bytes // 2]
                fields = {"slab_bytes": slab_bytes, "sizes": sizes, "front": front | {"capacity": capacity}}
                found.append(changed(base, f"{slab_bytes}-{capacity}-{step}", fields))
    return found


def scored(traces: Sequence[Path]) -> tuple[Floats, Floats]:
    """By trace, the balanced score of each design, where that of the default is 1; and the default's peak."""
    every = designs()
    sources = [Source(trace) for trace in traces]
    evaluator = Evaluator(Bench(sources, load_hardware()), every[0], resume=False, hire=partial(Workers, jobs=1))
    with evaluator.workers:
        found = evaluator.priced(every, "designs")
    points = [
        scores(np.array([ratios(one.figures(), of[0].figures()) for one in of]), WEIGHTS["balanced"])
        for of in zip(*found, strict=True)
    ]
    return np.array(points), np.array([one.committed_peak for one in found[0]], np.float64)


def rows(program: str, trace: Path, folder: Path) -> Iterator[Row]:
    """The rows of a program."""
    every, made, counts = lives_of(trace), [], []
    for way, make in WAYS.items():
        draw = np.random.default_rng(SEED)
        samples, at = copies(every, MEAN, draw)
        made.append(write(folder / f"{way}.hst", *make(samples, at, draw), samples.size[at]))
        counts.append((len(samples.birth), len(at)))
    (true, *others), (peak, *peaks) = scored([trace, *made])
    for way, count, score, other in zip(WAYS, counts, others, peaks, strict=True):
        tau = float(kendalltau(true, score).statistic)
        losses = (float(true[one] / true.min() - 1) for one in (int(np.argmin(score)), 0))
        yield Row(program, way, *count, float(other / peak), tau, *losses)


def measured(names: Sequence[str]) -> Iterator[Row]:
    """The rows of the programs that are installed."""
    with TemporaryDirectory() as folder:
        for program in programs(Path(folder) / "inputs"):
            if program.name in names and not program.lacks():
                own = Path(folder) / program.name
                yield from rows(program.name, trace_of(program, own, FRAMES), own)


def made(of: Report) -> list[str]:
    """The part of the page."""
    columns = ["program", "<kept of a life", "samples", "peak", "Kendall's tau", "loss", "loss of the default"]
    cells = [
        [
            *(one.program, one.way, f"{one.samples:,}", f"{one.peak - 1:+.0%}", f"{one.tau:.2f}"),
            *(f"{one.loss:.1%}", f"{one.usual_loss:.1%}"),
        ]
        for one in of.rows
    ]
    said = f"Made on {of.date} at commit {of.commit}."
    return [said, untitled(Words("", columns, cells))]


def main(out: Measure = None, only: Only = None, page: Put = False) -> int:
    """Measure, or write the page."""
    if out:
        day, report = today(), Report("", "", [])
        for one in measured(only or NAMES):
            report = Report(day, commit(), [*report.rows, one])
            write_json(out, report)
    else:
        report = PART.read(Report)
    return settle(PART, made(report), page)


if __name__ == "__main__":
    exit_with(main)
