"""Instructions per malloc+free pair, by callgrind: exact, repeatable, without the loop."""

import os
import re
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from heapsmith.bench.programs.micro_programs import program
from heapsmith.bench.programs.micro_rows import MICRO, MicroRow
from heapsmith.model.errors import CheckFailed
from heapsmith.tools.common.valgrind import callgrind

PAIRS = 100_000
LIMIT_S = 120.0
FORMS: dict[str, MicroRow] = {row.name: row for row in MICRO if row.hot}
"""The rows whose instructions are counted."""

BRANCH_SIM = "--branch-sim=yes"
"""Adds branches, mispredicted branches, indirect jumps and mispredicted indirect jumps."""

Events = NDArray[np.int64]
"""Counts of callgrind: instructions, then the counts that its options add."""


def events(library: Path | None, tool: Path, *arguments: str, options: tuple[str, ...] = ()) -> Events:
    """The events of a run of `tool` with `library` preloaded. Raises what `callgrind` raises."""
    said = callgrind(tool, arguments, library, Path(os.devnull), LIMIT_S, options)
    found = re.search(r"Collected : ([\d ]+)", said)
    if found is None:
        raise CheckFailed("callgrind counted nothing")
    return np.array(found[1].split(), np.int64)


def per_operation(row: MicroRow, library: Path | None, *, operations: int = PAIRS) -> float:
    """Instructions of one operation of a row of micro/, usually a pair of malloc and free.

    Call and PLT are included. The process's start is subtracted (twice as many operations less once
    as many), and so is the loop (the dry form). A branch to the calls may fall into either part:
    two forms of a loop differ by 1 or 2. Raises what `callgrind` raises.
    """
    return float(events_per_operation(row, library, operations)[0])


def events_per_operation(
    row: MicroRow, library: Path | None, operations: int, options: tuple[str, ...] = ()
) -> NDArray[np.float64]:
    """Like `per_operation`, for all events."""
    whole = between(library, program(row.program), row.arguments, operations, options)
    return (whole - _loop(row, operations, options)) / operations


@lru_cache
def _loop(row: MicroRow, operations: int, options: tuple[str, ...]) -> Events:
    return between(None, program(row.program, dry=True), row.arguments, operations, options)


def between(library: Path | None, tool: Path, arguments: str, operations: int, options: tuple[str, ...] = ()) -> Events:
    """The events of twice as many operations minus those of once as many."""
    once, twice = (events(library, tool, str(n * operations), *arguments.split(), options=options) for n in (1, 2))
    return twice - once
