"""What guarded samples cost programs, and which small attacks they report, for docs/lab/hardening.md.

python -m heapsmith.bench.studies.guarded [--out FILE] measures, and writes the file after each program; rows of other
programs in it stay. Without --only it runs the attacks too. --page writes the tables of the file into the page. It
fails where less than 95 % of the attacks by use after free and by overflow are reported.
"""

from collections.abc import Sequence
from pathlib import Path
from statistics import geometric_mean

import msgspec

from heapsmith.bench.attacks import guarded as attacks
from heapsmith.bench.common.command import exit_with
from heapsmith.bench.common.pages import untitled, with_part
from heapsmith.bench.common.study import LAB, Measure, Only, Put
from heapsmith.bench.studies import sampling_cost
from heapsmith.bench.studies.sampling_cost import NAMES, Row
from heapsmith.model.design.design import Design, changed, load
from heapsmith.model.errors import CheckFailed
from heapsmith.model.files import write_json, write_text
from heapsmith.tools.common.tables import Words

DATA = Path(__file__).with_suffix(".json")
PAGE = LAB / "hardening.md"
COSTS = "<!-- costs, made by bench/studies/guarded.py -->"
FOUND = "<!-- attacks, made by bench/studies/guarded.py -->"
BASE = "checks"
MEANS = {"512KiB": 1 << 19, "2MiB": 1 << 21, "8MiB": 1 << 23}
ROUNDS = 5
WANTED, LEAST = ("use after free", "overflow"), 0.95
"""The kinds of attacks of which a share must be reported."""


class Report(msgspec.Struct, frozen=True):
    """Costs to the design without samples; by kind of attack, the number tried and those reported under each base."""

    rows: list[Row] = []
    found: list[list[str]] = []


def designs() -> list[Design]:
    """Without samples, and with guarded ones by each mean."""
    plain = changed(load(BASE), f"{BASE}-unsampled", {"sampling": {"kind": "off"}})
    sampled = {"kind": "countdown", "guards": attacks.GUARDS}
    return [
        plain,
        *(
            changed(load(BASE), f"{plain.name}-{arm}", {"sampling": sampled | {"mean_bytes": mean}})
            for arm, mean in MEANS.items()
        ),
    ]


def shares(found: Sequence[Sequence[str]]) -> dict[str, float]:
    """Of the attacks that are wanted, the share reported under each base."""
    wanted = [list(map(int, row[1:])) for row in found if row[0] in WANTED]
    tried, *told = (sum(column) for column in zip(*wanted, strict=True))
    return {base: told_of / tried for base, told_of in zip(attacks.BASES, told, strict=True)}


def made(of: Report, page: str) -> str:
    """The page with the tables of this report."""
    each = [f"each {mean >> 10} KiB" for mean in MEANS.values()]
    columns = ["program", *(f"{what}, {one}" for what in ("instructions", "peak") for one in each)]
    programs = list(dict.fromkeys(one.program for one in of.rows))
    by = {(one.program, one.arm): one for one in of.rows}
    figures = {name: [by[name, arm].instructions for arm in MEANS] for name in programs}
    peaks = {name: [by[name, arm].peak.median for arm in MEANS] for name in programs}
    cells = [[name, *_percents(figures[name], 2), *_percents(peaks[name], 1)] for name in programs]
    means = [[geometric_mean(column) for column in zip(*of_all.values(), strict=True)] for of_all in (figures, peaks)]
    cells.append(["geometric mean", *_percents(means[0], 2), *_percents(means[1], 1)])
    first = of.rows[0]
    said = f"Measured on {first.date} at commit {first.commit}, {first.rounds} interleaved rounds."
    page = with_part(page, COSTS, said, untitled(Words("", columns, cells)))
    names = ["<kind of attack", "tried", *(f"`{base}`" for base in attacks.BASES)]
    told = ", ".join(f"{share:.0%} (`{base}`)" for base, share in shares(of.found).items())
    said = f"Use after free and overflow together: {told}."
    return with_part(page, FOUND, untitled(Words("", names, [list(row) for row in of.found])), said)


def _percents(ratios: Sequence[float], digits: int) -> list[str]:
    return [f"{ratio - 1:+.{digits}%}" for ratio in ratios]


def written(out: Path, only: Sequence[str]) -> Report:
    """The report with these programs anew, or with all and the attacks."""
    report = msgspec.json.decode(out.read_bytes(), type=Report) if out.exists() else Report()
    if not only:
        report = msgspec.structs.replace(report, found=attacks.table())
        write_json(out, report)
    parts = out.with_suffix(".rows")
    write_json(parts, sampling_cost.Report(report.rows))
    for name in only or NAMES:
        rows = sampling_cost.written(parts, [name], designs(), ROUNDS).rows
        report = msgspec.structs.replace(report, rows=rows)
        write_json(out, report)
    parts.unlink()
    return report


def main(out: Measure = None, only: Only = None, page: Put = False) -> int:
    """Measure, or write the page."""
    report = written(out, only or []) if out else msgspec.json.decode(DATA.read_bytes(), type=Report)
    if page:
        write_text(PAGE, made(report, PAGE.read_text()))
    missed = [f"{base}: {share:.1%}" for base, share in shares(report.found).items() if share < LEAST]
    if missed:
        raise CheckFailed(f"{', '.join(missed)} of the attacks are reported; expected {LEAST:.0%} at least")
    return 0


if __name__ == "__main__":
    exit_with(main)
