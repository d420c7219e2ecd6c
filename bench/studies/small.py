"""What small processes have resident at their end, by kind of page: without a design, and with libraries preloaded.

python -m heapsmith.bench.studies.small [--rounds N] [--lib NAME=FILE ...] [-o FILE] [--json]

docs/lab/platforms.md has the table, of small.json beside this file. The kinds come from proc_pid_smaps(5), which walks
the page tables: getrusage(2) and /proc/PID/status may be off by 32 pages for each processor since Linux 6.2. A column
that `--lib` names is of a library that another commit built.
"""

import os
import re
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import median_low
from typing import Annotated

import msgspec
import typer

from heapsmith.bench.common.command import exit_with
from heapsmith.bench.common.commit import commit, today
from heapsmith.bench.common.study import Json, Out, tell
from heapsmith.bench.programs.micro_rows import MICRO
from heapsmith.bench.studies.musl import TARGET, program
from heapsmith.codegen.build import build
from heapsmith.codegen.target import Toolchain, native, toolchain
from heapsmith.codegen.toolchain import compile_c
from heapsmith.model.design.design import load
from heapsmith.model.errors import BadInput, CheckFailed
from heapsmith.model.files import scratch
from heapsmith.tools.common.tables import Words

FILE = Path(__file__).with_suffix(".json")
HELD = Path(__file__).parent.parent / "programs" / "held.c"
NONE = "none"
ROWS = ("pair-32", "mixed", "skewed")
SYSTEMS = (
    ("ls", "/bin/ls", "/usr"),
    ("sed", "/bin/sed", "s/a/b/", "/etc/passwd"),
    ("bash", "/bin/bash", "-c", ":"),
    ("perl", "/usr/bin/perl", "-e", "1"),
)
PRIVATE, VARIABLES, CODE, OTHERS = "heap", "variables", "code", "others' files"
KINDS = (PRIVATE, VARIABLES, CODE, OTHERS)
"""Private pages outside the library's file, those of its variables, its file's pages, and pages of other files."""
_FIRST = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (....) \S+ \S+ \S+ *(.*)")


class Cell(msgspec.Struct, frozen=True):
    """Resident KiB of a process by kind: medians of the rounds."""

    library: str
    kib: dict[str, int]

    def total(self, base: "Cell") -> int:
        """All of them, with other files' pages as the base has them: which of those are resident is chance."""
        return sum(self.kib.values()) - self.kib[OTHERS] + base.kib[OTHERS]


class Row(msgspec.Struct, frozen=True):
    """A program with each library, without one first."""

    program: str
    libc: str
    cells: list[Cell]


class Report(msgspec.Struct, frozen=True):
    """All rows, and what they were measured with."""

    date: str
    commit: str
    kernel: str
    rounds: int
    rows: list[Row]


def resident(smaps: str, library: str) -> dict[str, int]:
    """The resident KiB of a process by kind."""
    found = Counter(dict.fromkeys(KINDS, 0))
    end = ""  # of a library's variables, behind which are those without a value
    of_library = named = False
    for line in smaps.splitlines():
        if first := _FIRST.fullmatch(line):
            start, stop, rights, name = first.groups()
            named = bool(name) and not name.startswith("[")
            of_library = name == library or (not name and start == end)
            end = stop if name == library and rights.startswith("rw") else ""
        elif line.startswith("Rss:"):
            shared = int(line.split()[1])
        elif line.startswith("Anonymous:"):
            private = int(line.split()[1])
            found[VARIABLES if of_library else PRIVATE] += private
            found[CODE if of_library else OTHERS if named else PRIVATE] += shared - private
    return dict(found)


def measured(command: list[str], preloads: list[Path], library: Path | None) -> dict[str, int]:
    """The pages of a command at its end. Raises CheckFailed if it fails."""
    environment = {"PATH": os.environ["PATH"], "LD_PRELOAD": ":".join(map(str, preloads))}
    run = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status = os.waitpid(run.pid, os.WUNTRACED)
    if not os.WIFSTOPPED(status):
        run.returncode = os.waitstatus_to_exitcode(status)
        raise CheckFailed(f"{command[0]}: it ended with status {run.returncode}, and did not stop at its end")
    try:
        smaps = Path(f"/proc/{run.pid}/smaps").read_text()
    finally:
        run.send_signal(signal.SIGCONT)
        run.wait()
    if run.returncode != 0:
        raise CheckFailed(f"{command[0]}: it ended with status {run.returncode}")
    return resident(smaps, str(library))


def _commands(musl: Toolchain) -> Iterator[tuple[str, str, list[str]]]:
    for row in MICRO:
        if row.name in ROWS:
            yield row.name, "musl", [str(program(row, musl.compiler[0])), *row.words(quick=True)]
    for name, *command in SYSTEMS:
        yield name, "glibc", command


def _medians(rounds: list[dict[str, int]]) -> dict[str, int]:
    return {kind: median_low(one[kind] for one in rounds) for kind in KINDS}


def report(others: dict[str, Path], rounds: int) -> Report:
    """Measure all programs. others: libraries by the names of their columns. Raises Missing without a compiler."""
    musl = toolchain(target=TARGET)
    rows = []
    with scratch() as folder:
        ready = {}
        for libc, tools in (("musl", musl), ("glibc", native())):
            own = build(load("default"), folder / f"libdefault-{libc}.so", tools=tools)
            held = compile_c([HELD], folder / f"held-{libc}.so", flags=["-shared", "-fPIC"], compiler=tools.compiler)
            ready[libc] = (
                held,
                {NONE: None, "default": own}
                | {name: path for name, path in others.items() if name.endswith(f"-{libc}")},
            )
        for name, libc, command in _commands(musl):
            held, libraries = ready[libc]
            cells = []
            for column, path in libraries.items():
                preloads = [held] if path is None else [path, held]
                kib = [measured(command, preloads, path) for _ in range(rounds)]
                cells.append(Cell(column.removesuffix(f"-{libc}"), _medians(kib)))
            rows.append(Row(name, libc, cells))
    return Report(today(), commit(), os.uname().release, rounds, rows)


def table(of: Report) -> Words:
    """The rows as a table: KiB by kind."""
    cells = []
    for row in of.rows:
        base = row.cells[0]
        for cell in row.cells:
            words = [str(cell.kib[kind]) for kind in KINDS]
            ratio = cell.total(base) / base.total(base)
            cells.append([row.program, row.libc, cell.library, *words, f"{ratio:.2f}"])
    return Words("", ["program", "C library", "preloaded", *KINDS, "ratio"], cells)


def main(
    rounds: Annotated[int, typer.Option(min=1, help="Runs of each program with each library.")] = 9,
    lib: Annotated[list[str] | None, typer.Option(metavar="NAME=FILE", help="NAME ends in -musl or -glibc.")] = None,
    out: Out = None,
    json: Json = False,
) -> int:
    """Measure what small processes have resident at their end."""
    others = {}
    for word in lib or []:
        name, equals, path = word.partition("=")
        if not equals or not name.endswith(("-musl", "-glibc")) or not Path(path).is_file():
            raise BadInput(f"--lib {word}: expected a name that ends in -musl or -glibc, '=' and a file")
        others[name] = Path(path).absolute()
    found = report(others, rounds)
    return tell(found, [table(found)], json, out)


if __name__ == "__main__":
    exit_with(main)
