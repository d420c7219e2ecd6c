"""What `make demo` found, and the README's sentence about it.

python -m heapsmith.bench.studies.demo FOLDER keeps the ratios of the report in the folder of `make demo` beside this
script, and prints the sentence for the README.
"""

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from heapsmith.bench.common.command import exit_with
from heapsmith.bench.common.commit import commit, today
from heapsmith.model.errors import BadInput
from heapsmith.model.files import write_json
from heapsmith.tools.common.ratios import Ratio
from heapsmith.tools.compare.measure import MeasureTable, Ratios

DATA = Path(__file__).with_suffix(".json")


class Report(msgspec.Struct, frozen=True):
    """The ratios of `default` to glibc, and the number of rounds."""

    date: str
    commit: str
    rounds: int
    ratios: Ratios


class _Forged(msgspec.Struct, frozen=True):
    """The part of a forge's report.json that is kept."""

    measured: MeasureTable


def sentence(report: Report) -> str:
    """What the README says of the demo. Raises BadInput if CPU time has no interval below 1, which it could not say."""
    cpu, peak, average = report.ratios.cpu, report.ratios.peak_rss, report.ratios.average_rss
    if cpu.high is None or cpu.low is None or cpu.high >= 1:
        raise BadInput(f"the demo took {cpu.words()} of glibc's CPU time; expected an interval below 1")
    return (
        f"In the demo the design `default` takes {_less(cpu)} CPU time than glibc's malloc ({_percent(cpu.high)} to "
        f"{_percent(cpu.low)}), {_less(peak)} memory at the peak and {_less(average)} on average."
    )


def _percent(ratio: float) -> str:
    return f"{100 * abs(1 - ratio):.2g}"


def _less(ratio: Ratio) -> str:
    return f"{_percent(ratio.median)} % {'less' if ratio.median < 1 else 'more'}"


def main(folder: Annotated[Path, typer.Argument(metavar="FOLDER")]) -> int:
    """Keep the figures, and print the sentence."""
    measured = msgspec.json.decode((folder / "report.json").read_bytes(), type=_Forged).measured
    (row,) = (row for row in measured.rows if row.library == "libdefault.so")
    report = Report(today(), commit(), measured.rounds, row.ratios)
    write_json(DATA, report)
    typer.echo(sentence(report))
    return 0


if __name__ == "__main__":
    exit_with(main)
