"""Instructions per malloc+free pair, by callgrind: exact, repeatable, the benchmark's own loop subtracted."""

import os
import re
from functools import lru_cache
from pathlib import Path

from heapsmith.bench.common.valgrind import callgrind
from heapsmith.bench.programs.micro_programs import program
from heapsmith.bench.programs.micro_rows import MICRO, MicroRow
from heapsmith.model.errors import CheckFailed

PAIRS = 100_000
LIMIT_S = 120.0
FORMS: dict[str, MicroRow] = {row.name: row for row in MICRO if row.hot}
"""The rows whose instructions are worth counting."""


def instructions(library: Path | None, tool: Path, *arguments: str) -> int:
    """All instructions of a run of `tool` with `library` preloaded, counted by callgrind.

    Raises what `callgrind` raises.
    """
    said = callgrind(tool, arguments, library, Path(os.devnull), LIMIT_S)
    found = re.search(r"Collected : (\d+)", said)
    if found is None:
        raise CheckFailed("callgrind counted nothing")
    return int(found[1])


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
