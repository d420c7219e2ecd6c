"""The page's time lines for other tools: a Chrome trace (Perfetto opens it) or a Parquet table."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from heapsmith.model.errors import BadInput
from heapsmith.model.files import staged, write_json
from heapsmith.tools.page.contents import Shown
from heapsmith.tools.sweep.table import require_parquet

SUFFIXES = (".json", ".parquet")


def write_series(path: Path, shown: Sequence[Shown]) -> None:
    """Write the time lines of all traces; the name of the file, which `check_series` takes, tells the format."""
    if path.suffix == ".json":
        write_json(path, {"displayTimeUnit": "ns", "traceEvents": list(_events(shown))})
    else:
        import pyarrow
        from pyarrow.parquet import write_table

        with staged(path) as written:
            write_table(pyarrow.Table.from_pylist(list(_rows(shown))), written, compression="zstd")


def check_series(path: Path) -> None:
    """Raise BadInput for a name of no known format, and Missing without pyarrow for a Parquet table."""
    if path.suffix not in SUFFIXES:
        raise BadInput(f"{path}: expected a name that ends in .json (Chrome trace) or .parquet")
    if path.suffix == ".parquet":
        require_parquet()


def _rows(shown: Sequence[Shown]) -> Iterator[dict[str, Any]]:
    """Yield a row for each point of each design: bytes are the least, the most and the last of its events."""
    for one in shown:
        found = one.found
        for row in found.rows:
            for point, (event, time_ns) in enumerate(zip(found.events, found.time_ns, strict=True)):
                yield {
                    "trace": one.trace.name,
                    "design": row.simulated.design,
                    "event": event,
                    "time_ns": time_ns,
                    **{f"asked_{of}": getattr(found.asked, of)[point] for of in ("low", "high", "last")},
                    **{f"committed_{of}": getattr(row.committed, of)[point] for of in ("low", "high", "last")},
                    "resident_last": row.resident[point] if row.resident else None,
                }


def _events(shown: Sequence[Shown]) -> Iterator[dict[str, Any]]:
    """Yield counter events (Trace Event Format, phase C): a process for each trace, a counter for each design."""
    for number, one in enumerate(shown, 1):
        yield {"ph": "M", "name": "process_name", "pid": number, "args": {"name": one.trace.name}}
    numbers = {one.trace.name: number for number, one in enumerate(shown, 1)}
    for row in _rows(shown):
        held = {"asked": row["asked_high"], "committed": row["committed_high"]}
        if row["resident_last"] is not None:
            held["resident"] = row["resident_last"]
        at = {"ph": "C", "pid": numbers[row["trace"]], "ts": row["time_ns"] / 1000}
        yield at | {"name": f"{row['design']}: bytes", "args": held}
