"""Sweeps for tests: a grid of designs over short traces, and the rows that come out."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from traces import random_trace

from heapsmith.tools.sweep import sweep as fleet
from heapsmith.tools.sweep.grid import variants
from heapsmith.tools.sweep.local import Processes

GRID = """base = "default"
[values]
slab_bytes = [65536, 131072, 3000]
front.capacity = [8, 64]
"""


def silent(what: str, done: int, total: int) -> None:
    """A progress for nobody."""


def rows_of(path: Path) -> list[dict[str, Any]]:
    """The rows of a Parquet file."""
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    return list(parquet.read_table(path).to_pylist())


def request(tmp_path: Path, grid: str = GRID, traces: int = 2) -> fleet.Request:
    """A sweep of the grid's designs over short traces."""
    (tmp_path / "grid.toml").write_text(grid)
    files = [tmp_path / f"t{seed}.hst" for seed in range(traces)]
    for seed, file in enumerate(files):
        if not file.exists():
            random_trace(file, 3000 + seed, seed)
    return fleet.Request(*variants([str(tmp_path / "grid.toml")]), files, None, tmp_path / "store")


def swept(asked: fleet.Request, out: Path, runs_on: fleet.Executor | None = None) -> fleet.Sweep:
    """A sweep on this process, or on an executor."""
    return fleet.sweep(asked, out, nullcontext(runs_on or Processes(1)), silent)
