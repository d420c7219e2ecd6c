"""How wrong a profile of samples is: estimates and intervals against the truth of recorded traces, over seeds.

python -m heapsmith.bench.studies.sampling [--out FILE] records programs with call stacks and draws samples of their
requests by a Poisson process over the bytes, as the library does; --page writes docs/lab/sampling.md of the file.
"""

import datetime
import math
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
import typer

from heapsmith.bench.common.command import exit_with
from heapsmith.bench.common.commit import commit
from heapsmith.bench.programs.programs import programs, trace_of
from heapsmith.model.errors import CheckFailed, Missing
from heapsmith.model.files import write_json, write_text
from heapsmith.model.predict.pins_at_moments import site_lives
from heapsmith.model.trace.reader import TraceReader
from heapsmith.model.trace.site_lives import BYTES, GROUP_OF
from heapsmith.tools.common.tables import Words, section
from heapsmith.tools.common.units import amount
from heapsmith.tools.sampled import estimates
from heapsmith.tools.sites.grouping import group_sites

I64 = npt.NDArray[np.int64]

DATA = Path(__file__).with_suffix(".json")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "lab" / "sampling.md"
MADE = "<!-- made by bench/studies/sampling.py -->"
NAMES = ("perl", "python", "lua", "jq", "sqlite3", "gawk", "xmllint", "cc1", "php", "documents")
MEANS = (524_288, 65_536)
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
    totals' intervals, those that hold the true value. large_sites, large_inside: the same of the intervals of sites
    with LARGE and more of the bytes.
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
    large_sites: int
    large_inside: int


class Report(msgspec.Struct, frozen=True):
    """All rows, and when and at which commit they were made."""

    date: str
    commit: str
    rows: list[Row]


def drawn(sizes: I64, mean: int, draw: np.random.Generator) -> npt.NDArray[np.bool_]:
    """Which requests are samples: those in whose bytes a point of a Poisson process lies."""
    ends = np.cumsum(sizes)
    points = draw.integers(0, ends[-1], draw.poisson(ends[-1] / mean))
    chosen = np.zeros(len(sizes), bool)
    chosen[np.searchsorted(ends, points, "right")] = True
    return chosen


def row(program: str, of: str, blocks: Blocks, mean: int, seeds: Sequence[int]) -> Row:
    """The estimates of a quantity, and which of their intervals hold the true values.

    Rows with the same seeds draw other numbers, so that they have no luck in common.
    """
    own = zlib.crc32(f"{program} {of} {mean}".encode())
    true = np.bincount(blocks.sites, blocks.sizes)
    large = np.flatnonzero(true >= LARGE * true.sum()).tolist()
    values, samples, inside, large_inside = [], [], 0, 0
    for seed in seeds:
        chosen = drawn(blocks.sizes, mean, np.random.default_rng([own, seed]))
        total = _estimate(blocks.sizes[chosen], mean)
        values.append(total.value)
        samples.append(int(chosen.sum()))
        inside += _holds(total, true.sum())
        large_inside += sum(
            _holds(_estimate(blocks.sizes[chosen & (blocks.sites == site)], mean), true[site]) for site in large
        )
    error = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    off = float(np.mean(values) - true.sum())
    return Row(
        *(program, of, mean, int(true.sum()), float(np.mean(samples)), off / float(true.sum())),
        *(off / error if error else 0.0, len(seeds), inside, len(large) * len(seeds), large_inside),
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
    shares = {
        "totals": (sum(one.inside for one in rows), sum(one.seeds for one in rows)),
        "sites": (sum(one.large_inside for one in rows), sum(one.large_sites for one in rows)),
    }
    return found + [
        f"{inside} of {count} {name} lie within their intervals; expected {LEAST_INSIDE:.0%} at least"
        for name, (inside, count) in shares.items()
        if inside < LEAST_INSIDE * count
    ]


def measured(names: Sequence[str]) -> Iterator[Row]:
    """The rows of the programs that are installed."""
    with TemporaryDirectory() as folder:
        for program in programs(Path(folder) / "inputs"):
            if program.name in names and not program.lacks():
                for of, blocks in blocks_of(trace_of(program, Path(folder) / program.name, FRAMES)).items():
                    for mean in MEANS:
                        yield row(program.name, of, blocks, mean, range(SEEDS))


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
    ]
    return Words("", columns, cells)


def made(of: Report, page: str) -> str:
    """The page with the table of this report."""
    begin, _, end = page.split(MADE)
    rows = of.rows
    inside, totals = sum(one.inside for one in rows), sum(one.seeds for one in rows)
    large_inside, large = sum(one.large_inside for one in rows), sum(one.large_sites for one in rows)
    said = (
        f"Made on {of.date} at commit {of.commit}: {inside:,} of {totals:,} totals ({inside / totals:.1%}) and\n"
        f"{large_inside:,} of {large:,} sites ({large_inside / large:.1%}) lie within their intervals."
    )
    shown = "\n".join(list(section(table(of)))[2:]).strip()
    return f"{begin}{MADE}\n\n{said}\n\n{shown}\n\n{MADE}{end}"


def main(
    out: Annotated[Path | None, typer.Option("-o", "--out", metavar="FILE", help="Measure; write the report.")] = None,
    only: Annotated[list[str] | None, typer.Option(metavar="PROGRAM", help="Default: all.")] = None,
    page: Annotated[bool, typer.Option("--page", help="Write the page of the report in the checkout.")] = False,
) -> int:
    """Measure, or write the page; fail where estimates or intervals are wrong."""
    if out:
        today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
        report = Report(today, commit(), list(measured(only or NAMES)))
        if not report.rows:
            raise Missing(f"none of these programs is installed: {', '.join(only or NAMES)}")
        write_json(out, report)
    else:
        report = msgspec.json.decode(DATA.read_bytes(), type=Report)
    if page:
        write_text(PAGE, made(report, PAGE.read_text()))
    if wrong := faults(report.rows):
        raise CheckFailed("; ".join(wrong))
    return 0


if __name__ == "__main__":
    exit_with(main)
