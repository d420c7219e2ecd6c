"""Peaks under a newer glibc than the system's, of Debian's pool and with its own loader: a table of docs/lab/bench.md.

python -m heapsmith.bench.studies.newer_glibc [--check] measures the programs of the benchmark, or checks the table.
"""

import platform
from pathlib import Path
from statistics import geometric_mean, median
from tempfile import TemporaryDirectory

import msgspec

from heapsmith.bench.common.command import exit_with
from heapsmith.bench.common.commit import commit, today
from heapsmith.bench.common.pages import untitled
from heapsmith.bench.common.study import LAB, Check, Part
from heapsmith.bench.peers.builds import Deb, fetch_deb
from heapsmith.bench.programs.programs import Program, programs
from heapsmith.bench.suite.rows import environment
from heapsmith.model.errors import CheckFailed
from heapsmith.model.files import write_json
from heapsmith.tools.common.obstacles import find_program
from heapsmith.tools.common.program_start import Start
from heapsmith.tools.common.tables import Words
from heapsmith.tools.compare.measure import run_once
from heapsmith.tools.peers.peers import GLIBC, Library

PART = Part(Path(__file__), LAB / "bench.md")
PACKAGE = Deb(
    "g/glibc/libc6_2.43-7_amd64",
    "5c71715c51103beb4fbba9fe9f8dff604af6610dfa71c70bff342f54a7860803",
)
NAMES = ("sqlite3", "lua", "gawk", "jq", "bc", "xsltproc", "z3")
"""Programs that start no other, which the system's loader would load."""
FOLDER, LOADER = Path("usr/lib/x86_64-linux-gnu"), "ld-linux-x86-64.so.2"
ROUNDS = 3


class Row(msgspec.Struct, frozen=True):
    """A program's peaks, medians of ROUNDS, under the system's glibc and under the other."""

    program: str
    system_bytes: int
    newer_bytes: int


class Data(msgspec.Struct, frozen=True):
    """When, of which commit, and between which releases."""

    date: str
    commit: str
    system: str
    newer: str
    rows: list[Row]


def peak(program: Program, libc: Path, folder: Path) -> tuple[int, str]:
    """The peak of a run under the loader and the C library of a folder, and the run's output."""
    path = find_program(program.command)
    found = f"{libc}:/{FOLDER}"
    words = [str(libc / LOADER), "--library-path", found, "--argv0", program.command[0], path, *program.command[1:]]
    done = run_once(Start(words, words[0], environment()), Library(GLIBC, None), folder)
    return done.used.peak_rss_bytes, done.output


def measured(folder: Path) -> Data:
    """The programs that are installed, in rounds; CheckFailed where one behaves in another way."""
    package = fetch_deb(PACKAGE, folder)
    version = (package / "version").read_text().strip().rpartition("-")[0]
    places = (Path("/") / FOLDER, package / FOLDER)
    rows = []
    for one in programs(folder / "inputs"):
        if one.name in NAMES and one.command[0] == one.image and not one.lacks():
            runs = [[peak(one, place, folder) for place in places] for _ in range(ROUNDS)]
            if len({output for each in runs for _, output in each}) != 1:
                raise CheckFailed(f"{one.name}: other output under glibc {version}")
            system, newer = (int(median(each[side][0] for each in runs)) for side in (0, 1))
            rows.append(Row(one.name, system, newer))
    return Data(today(), commit(), platform.libc_ver()[1], version, rows)


def made(of: Data) -> list[str]:
    """The part of the page."""
    mib = 2**20
    lines = [
        [f"`{one.program}`", f"{one.system_bytes / mib:.1f} MiB", f"{one.newer_bytes / one.system_bytes:.3f}"]
        for one in of.rows
    ]
    mean = geometric_mean(one.newer_bytes / one.system_bytes for one in of.rows)
    table = Words(
        "", ("<program", f"glibc {of.system}", f"glibc {of.newer}"), [*lines, ["geometric mean", "", f"{mean:.3f}"]]
    )
    said = f"Of {of.date}, commit {of.commit}, medians of {ROUNDS} rounds."
    return [said, untitled(table)]


def main(check: Check = False) -> int:
    """Measure, and write the data and the table; with --check, fail where the page has another table."""
    if not check:
        with TemporaryDirectory() as folder:
            write_json(PART.data, measured(Path(folder)))
    PART.put(made(PART.read(Data)), check)
    return 0


if __name__ == "__main__":
    exit_with(main)
