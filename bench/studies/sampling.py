"""How wrong a profile of samples is: estimates and intervals against the truth of recorded traces, over seeds.

python -m heapsmith.bench.studies.sampling [--out FILE] records programs with call stacks and draws samples of their
requests as the library does, by its generator; --page writes docs/lab/sampling.md of the file. A run that was
interrupted goes on: it keeps the rows of the file that are of the same commit, if nothing has changed since.
"""

import math
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from shutil import rmtree
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
from heapsmith.model.errors import Missing
from heapsmith.model.files import write_json
from heapsmith.model.policy.sampling import common
from heapsmith.model.predict.pins_at_moments import site_lives
from heapsmith.model.trace.reader import TraceReader
from heapsmith.model.trace.site_lives import BYTES, GROUP_OF
from heapsmith.tools.common.tables import Words
from heapsmith.tools.common.units import amount
from heapsmith.tools.sampled import estimates
from heapsmith.tools.sites.grouping import group_sites

I64 = npt.NDArray[np.int64]

PART = Part(Path(__file__), LAB / "sampling.md")
NAMES = (
    *("perl", "python", "lua", "jq", "sqlite3", "gawk", "xmllint", "cc1", "php", "documents"),
    *("cc1plus", "dot", "git", "node", "redis", "ripgrep", "ruby", "service", "xsltproc", "z3"),
)
MEANS = (524_288, 65_536, 4_096)
MEAN_BESIDE = MEANS[-1]
"""Gives enough samples to look at MANY; its rows are not in the table of the page."""
MANY, NEAR = 10_000, 0.02
"""Where this many samples are expected, 95 % of the estimates lie this near to the truth, as a share of it."""
SEEDS, FRAMES = 20, 64
LARGE = 0.01
"""Sites with this share of the bytes are looked at."""
MOST_BIAS, LEAST_INSIDE = 4.0, 0.92
"""Something is wrong where the mean of a row's estimates is more standard errors off, or fewer of the 95 % intervals
hold the true value.
"""
REQUESTS = 4
"""Operations below this number ask for a block (model/trace/events.py)."""


class Blocks(NamedTuple):
    """Blocks of a program in the order of their requests, and the site of each."""

    sizes: I64
    sites: I64


class Row(msgspec.Struct, frozen=True):
    """A quantity of a program over all seeds.

    bias: of the mean estimate, as a share of the truth; standard_errors: the same in standard errors. inside: of the
    totals' intervals, those that hold the true value; near: of the totals, those that are NEAR it. large_sites,
    large_inside: of the intervals of sites with LARGE and more of the bytes, those that hold the true value.
    """

    program: str
    of: str
    mean_bytes: int
    true_bytes: int
    samples: float
    bias: float
    standard_errors: float
    seeds: int
    inside: int
    near: int
    large_sites: int
    large_inside: int


class Report(msgspec.Struct, frozen=True):
    """All rows, and when and at which commit they were made."""

    date: str
    commit: str
    rows: list[Row]


class Sampler:
    """What the model's sampling draws by (model/policy/sampling/common.py), for one thread."""

    def __init__(self, seed: int) -> None:
        self.samplers = np.zeros(common.WORDS, np.int64)
        self.sample_seed, self.sampling_threads = seed, 0

    def interval(self, mean: int) -> int:
        """The bytes of requests before the next sample."""
        return common.interval_of(common.drawn(self, 0), mean)  # type: ignore[arg-type]


def drawn(sizes: I64, mean: int, seed: int) -> npt.NDArray[np.bool_]:
    """Which requests of one thread are samples of a library with this seed: docs/machine-rooms.md, 'sampling'."""
    sampler, ends, chosen = Sampler(seed), np.cumsum(sizes), np.zeros(len(sizes), bool)
    common.seed_thread(sampler, 0)  # type: ignore[arg-type]
    at = int(np.searchsorted(ends, sampler.interval(mean), "right"))
    while at < len(sizes):
        chosen[at] = True
        at = int(np.searchsorted(ends, int(ends[at]) + sampler.interval(mean), "right"))
    return chosen


def row(program: str, of: str, blocks: Blocks, mean: int, seeds: Sequence[int]) -> Row:
    """The estimates of a quantity, and which of their intervals hold the true values.

    Each has a seed of its own, made of these words, so that rows have no luck in common.
    """
    true = np.bincount(blocks.sites, blocks.sizes)
    large = np.flatnonzero(true >= LARGE * true.sum()).tolist()
    values, samples, inside, large_inside = [], [], 0, 0
    for seed in seeds:
        chosen = drawn(blocks.sizes, mean, zlib.crc32(f"{program} {of} {mean} {seed}".encode()))
        sizes, sites = blocks.sizes[chosen], blocks.sites[chosen]
        total = _estimate(sizes, mean)
        values.append(total.value)
        samples.append(len(sizes))
        inside += _holds(total, true.sum())
        large_inside += sum(_holds(_estimate(sizes[sites == site], mean), true[site]) for site in large)
    error = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    off = np.array(values) / float(true.sum()) - 1
    return Row(
        *(program, of, mean, int(true.sum()), float(np.mean(samples)), float(off.mean())),
        *(float(off.mean() * true.sum()) / error if error else 0.0, len(seeds), inside),
        *(int((np.abs(off) <= NEAR).sum()), len(large) * len(seeds), large_inside),
    )


def _estimate(sizes: I64, mean: int) -> estimates.Estimate:
    sums = estimates.of_bytes(sizes, np.full(len(sizes), mean))
    return msgspec.structs.replace(sums, unit=float(mean)).estimate()


def _holds(of: estimates.Estimate, true: float) -> bool:
    return bool(of.low <= true * (1 + 1e-12) and true <= of.high * (1 + 1e-12))


def blocks_of(trace: Path) -> dict[str, Blocks]:
    """The blocks live at the peak, and all requests, by site."""
    groups = group_sites(trace)
    peak = site_lives(groups.grouped).peak()[0]
    at_peak = site_lives(groups.grouped, None, peak)
    live = at_peak.of_block[:, at_peak.live()]
    sizes, sites = [], []
    with TraceReader(trace) as reader:
        for chunk, site in reader.sited():
            asks = chunk.op < REQUESTS
            sizes.append(chunk.size[asks].astype(np.int64))
            sites.append(groups.grouped.group_of_site[site[asks]])
    every = Blocks(np.concatenate(sizes), np.concatenate(sites))
    return {"live at the peak": _with_bytes(Blocks(live[BYTES], live[GROUP_OF])), "requests": _with_bytes(every)}


def _with_bytes(blocks: Blocks) -> Blocks:
    return Blocks(blocks.sizes[blocks.sizes > 0], blocks.sites[blocks.sizes > 0])


def faults(rows: Sequence[Row]) -> list[str]:
    """What is wrong with estimates and intervals, if anything is."""
    found = [
        f"{one.program}, {one.of}, mean {one.mean_bytes}: biased by {one.standard_errors:.1f} standard errors"
        for one in rows
        if abs(one.standard_errors) > MOST_BIAS
    ]
    return found + [
        f"{inside} of {count} {name}; expected {LEAST_INSIDE:.0%} at least"
        for name, (inside, count) in shares(rows).items()
        if inside < LEAST_INSIDE * count
    ]


def shares(rows: Sequence[Row]) -> dict[str, tuple[int, int]]:
    """How many estimates of how many are as they are said to be."""
    many = [one for one in rows if one.samples >= MANY]
    return {
        "totals lie within their intervals": (sum(one.inside for one in rows), sum(one.seeds for one in rows)),
        "sites lie within their intervals": (
            sum(one.large_inside for one in rows),
            sum(one.large_sites for one in rows),
        ),
        f"totals of {MANY:,} samples and more lie within {NEAR:.0%} of the truth": (
            sum(one.near for one in many),
            sum(one.seeds for one in many),
        ),
    }


def measured(names: Sequence[str], known: Sequence[Row] = ()) -> Iterator[list[Row]]:
    """The rows of one program after the other, as far as they are installed; known: rows that need no measurement."""
    with TemporaryDirectory() as folder:
        for program in programs(Path(folder) / "inputs"):
            if program.name in names and not program.lacks():
                if kept := [one for one in known if one.program == program.name]:
                    yield kept
                    continue
                own = Path(folder) / program.name
                of_program = blocks_of(trace_of(program, own, FRAMES)).items()
                yield [row(program.name, of, blocks, mean, range(SEEDS)) for of, blocks in of_program for mean in MEANS]
                rmtree(own)


def written(out: Path, names: Sequence[str]) -> Report:
    """The report of programs, written after each of them."""
    day, at = today(), commit()
    earlier = msgspec.json.decode(out.read_bytes(), type=Report) if out.exists() else Report("", "", [])
    known = earlier.rows if earlier.commit == at and not at.endswith("+") else []
    report = Report(day, at, [])
    for rows in measured(names, known):
        report = Report(day, at, [*report.rows, *rows])
        write_json(out, report)
    if not report.rows:
        raise Missing(f"none of these programs is installed: {', '.join(names)}")
    return report


def table(of: Report) -> Words:
    """The rows as a table."""
    columns = ["program", "<bytes", "mean", "true", "samples", "bias", "in standard errors", "totals", "sites of 1 %"]
    cells = [
        [
            *(one.program, one.of, amount(one.mean_bytes), amount(one.true_bytes), f"{one.samples:.0f}"),
            *(f"{one.bias:+.1%}", f"{one.standard_errors:+.1f}", f"{one.inside} of {one.seeds}"),
            f"{one.large_inside} of {one.large_sites}",
        ]
        for one in of.rows
        if one.mean_bytes != MEAN_BESIDE
    ]
    return Words("", columns, cells)


def made(of: Report) -> list[str]:
    """The part of the page."""
    said = f"Made on {of.date} at commit {of.commit}, with means of {', '.join(map(amount, MEANS))}:\n\n"
    said += "\n".join(
        f"- {inside:,} of {count:,} {name} ({inside / max(1, count):.1%})"
        for name, (inside, count) in shares(of.rows).items()
    )
    return [said, untitled(table(of))]


def main(out: Measure = None, only: Only = None, page: Put = False) -> int:
    """Measure, or write the page; fail where estimates or intervals are wrong."""
    report = written(out, only or NAMES) if out else PART.read(Report)
    return settle(PART, made(report), page, faults(report.rows))


if __name__ == "__main__":
    exit_with(main)
