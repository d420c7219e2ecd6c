"""Instructions per malloc+free pair, by callgrind: exact, repeatable, the benchmark's own loop subtracted."""

import re
from functools import lru_cache
from pathlib import Path

from heapsmith.bench.common.limited import run_limited
from heapsmith.bench.programs.measure import dynamic_loader
from heapsmith.bench.programs.micro_programs import program
from heapsmith.bench.programs.micro_rows import MICRO, MicroRow
from heapsmith.model.errors import CheckFailed, Missing

PAIRS = 100_000
LIMIT_S = 120.0
FORMS: dict[str, MicroRow] = {row.name: row for row in MICRO if row.hot}
"""The rows whose instructions are worth counting."""


def instructions(library: Path | None, tool: Path, *arguments: str) -> int:
    """All instructions of a run of `tool` with `library` preloaded, counted by callgrind.

    The loader preloads it, since valgrind itself must not run on the library. Raises Missing without valgrind,
    CheckFailed if the run fails: what a program did that ended early is no figure.
    """
    preload = ["--preload", str(library)] if library else []
    counted = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", dynamic_loader(tool)]
    try:
        done = run_limited([*counted, *preload, str(tool), *arguments], LIMIT_S)
    except FileNotFoundError:
        raise Missing("valgrind not found on PATH (Debian: apt install valgrind)") from None
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode == 0 and found:
        return int(found[1])
    own = [line for line in done.stderr.splitlines() if line and not line.startswith(("==", "--"))]
    raise CheckFailed(f"exit status {done.returncode} under valgrind: {(own or ['no output'])[0]}")


def per_operation(row: MicroRow, library: Path | None, *, operations: int = PAIRS) -> float:
    """Instructions of one operation of a row of micro/, most of them pairs of malloc and free.

    Call and PLT are included; subtracted are the process's start (twice as many operations less once as many) and the
    loop (the dry form). A branch to the calls may fall into either part: two forms of a loop differ by 1 or 2. Raises
    what `instructions` raises.
    """
    return (between(library, program(row.program), row.arguments, operations) - _loop(row, operations)) / operations


@lru_cache
def _loop(row: MicroRow, operations: int) -> int:
    return between(None, program(row.program, dry=True), row.arguments, operations)


def between(library: Path | None, tool: Path, arguments: str, operations: int) -> int:
    """What twice as many operations take more than once as many."""
    once, twice = (instructions(library, tool, str(n * operations), *arguments.split()) for n in (1, 2))
    return twice - once
