"""What guarded samples cost programs, and which small attacks they report, for docs/lab/hardening.md.

python -m heapsmith.bench.studies.guarded [--out FILE] measures, and writes the file after each program; rows of other
programs in it stay. Without --only it runs the attacks too; with --each it counts the instructions of a guarded sample
alone, which other work on the machine does not change. --page writes the tables of the file into the page. It fails
where less than 95 % of the attacks by use after free and by overflow are reported.
"""

from collections.abc import Sequence
from pathlib import Path
from statistics import geometric_mean, median
from tempfile import TemporaryDirectory
from typing import Annotated

import msgspec
import typer

from heapsmith.bench.attacks import guarded as attacks
from heapsmith.bench.common.command import exit_with
from heapsmith.bench.common.commit import commit, today
from heapsmith.bench.common.pages import untitled, with_part
from heapsmith.bench.common.study import LAB, Measure, Only, Put
from heapsmith.bench.programs.programs import Program, programs
from heapsmith.bench.studies import sampling_cost
from heapsmith.bench.studies.sampling_cost import NAMES, SCALE, Row, counted
from heapsmith.codegen.built import library_of
from heapsmith.model.design.design import Design, changed, load
from heapsmith.model.errors import CheckFailed
from heapsmith.model.files import write_json, write_text
from heapsmith.model.policy.sampling.common import MOST_GUARDS
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
Each = Annotated[bool, typer.Option("--each", help="Count the instructions of a guarded sample alone.")]
EACH = "default"
"""The design whose samples are all guarded where the instructions of one are counted: it has no hardening."""


class Slots(msgspec.Struct, frozen=True):
    """How many samples a program takes, of which nearly all are guarded, and the instructions of one beside those of
    any sample: for its slot, and where it is freed, with the walk of the stack there; without the kernel's.
    """

    program: str
    samples: int
    taken: int
    freed: int
    commit: str
    date: str

    @property
    def both(self) -> int:
        """From its request to its free."""
        return self.taken + self.freed


class Report(msgspec.Struct, frozen=True):
    """Costs to the design without samples; by kind of attack, the number tried and those reported under each base; and
    the instructions of guarded samples.
    """

    rows: list[Row] = []
    found: list[list[str]] = []
    slots: list[Slots] = []


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
    page = with_part(page, COSTS, said, untitled(Words("", columns, cells)), *_of_one(of.slots))
    names = ["<kind of attack", "tried", *(f"`{base}`" for base in attacks.BASES)]
    told = ", ".join(f"{share:.0%} (`{base}`)" for base, share in shares(of.found).items())
    said = f"Use after free and overflow together: {told}."
    return with_part(page, FOUND, untitled(Words("", names, [list(row) for row in of.found])), said)


def _of_one(slots: Sequence[Slots]) -> list[str]:
    """What one guarded sample takes beside any other sample."""
    columns = ["program", "guarded samples", "instructions of the slot", "of the free"]
    cells = [[one.program, *(f"{count:,}" for count in (one.samples, one.taken, one.freed))] for one in slots]
    each, last = int(median(one.both for one in slots)), slots[0]
    said = f"A guarded sample takes {each:,} instructions (median) beside those of"
    said += "\n[any sample](sampling.md#what-samples-cost), and two system calls."
    said += f"\nCounted on {last.date} at commit {last.commit}:"
    return [said, untitled(Words("", columns, cells))]


def _percents(ratios: Sequence[float], digits: int) -> list[str]:
    return [f"{ratio - 1:+.{digits}%}" for ratio in ratios]


def slots_of(program: Program, library: Path) -> Slots:
    """The guarded samples of a run of the program."""
    taken, of_taking = counted(program, library, ("guarded_alloc",), "sampled")
    freed, of_freeing = counted(program, library, ("guarded_free",), "sampled_freed")
    return Slots(program.name, taken, round(of_taking / taken), round(of_freeing / freed), commit(), today())


def with_slots(out: Path, names: Sequence[str]) -> Report:
    """The report with the instructions of the samples of these programs anew."""
    sampling = {"kind": "countdown", "guards": MOST_GUARDS}
    library = library_of(changed(load(EACH), f"{EACH}-all-guarded", {"sampling": sampling}))
    report = msgspec.json.decode(out.read_bytes(), type=Report)
    with TemporaryDirectory() as folder:
        for program in programs(Path(folder), scale=SCALE):
            if program.name in names and not program.lacks():
                others = [one for one in report.slots if one.program != program.name]
                report = msgspec.structs.replace(report, slots=[*others, slots_of(program, library)])
                write_json(out, report)
    return report


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


def main(out: Measure = None, only: Only = None, page: Put = False, each: Each = False) -> int:
    """Measure, or write the page."""
    if out and not each:
        written(out, only or [])
    report = with_slots(out, only or NAMES) if out else msgspec.json.decode(DATA.read_bytes(), type=Report)
    if page:
        write_text(PAGE, made(report, PAGE.read_text()))
    missed = [f"{base}: {share:.1%}" for base, share in shares(report.found).items() if share < LEAST]
    if missed:
        raise CheckFailed(f"{', '.join(missed)} of the attacks are reported; expected {LEAST:.0%} at least")
    return 0


if __name__ == "__main__":
    exit_with(main)
