"""The cost of each level of hardening: instructions per pair, time and memory of a real program."""

from pathlib import Path

import msgspec

from heapsmith.bench.common.command import exit_with
from heapsmith.bench.common.study import Json, tell
from heapsmith.bench.programs.instructions import FORMS, per_operation
from heapsmith.bench.programs.programs import programs
from heapsmith.codegen.built import library_of
from heapsmith.model import policy
from heapsmith.model.design.design import changed, load
from heapsmith.model.files import scratch
from heapsmith.tools.common.rounds import Stop
from heapsmith.tools.common.tables import Words
from heapsmith.tools.compare.measure import measure

PROGRAM = "python"
ROUNDS = 7


class Price(msgspec.Struct, frozen=True):
    """One level: instructions per pair by form; time and peak RSS of the program to glibc's."""

    level: str
    instructions: dict[str, float]
    time_ratio: float
    rss_ratio: float


def prices(folder: Path) -> list[Price]:
    """Every level of the default design; glibc's row is first."""
    libraries: dict[str, Path | None] = {"glibc": None}
    for level in policy.names("hardening"):
        libraries[level] = library_of(changed(load("default"), f"default-{level}", {"hardening": {"kind": level}}))
    program = next(row for row in programs(folder) if row.name == PROGRAM)
    names = [str(path) if path else "glibc" for path in libraries.values()]
    table = measure([*map(str, program.command)], names, stop=Stop(ROUNDS))
    return [
        Price(
            level,
            {form: round(per_operation(shape, path), 1) for form, shape in FORMS.items()},
            row.ratios.wall.median,
            row.ratios.peak_rss.median,
        )
        for (level, path), row in zip(libraries.items(), table.rows, strict=True)
    ]


def main(json: Json = False) -> int:
    """Print the table, or print it as JSON."""
    with scratch() as folder:
        rows = prices(folder)
    columns = ("level", *(f"instructions per pair, {form}" for form in FORMS), f"{PROGRAM}: time", "peak RSS")
    cells = [
        [
            row.level,
            *(f"{row.instructions[form]:.1f}" for form in FORMS),
            f"{row.time_ratio:.2f}x",
            f"{row.rss_ratio:.2f}x",
        ]
        for row in rows
    ]
    return tell(rows, [Words("", columns, cells)], json)


if __name__ == "__main__":
    exit_with(main)
