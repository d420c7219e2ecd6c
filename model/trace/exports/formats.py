"""The table of formats of `trace export`, and the export of events and lives (docs/other-tools.md)."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from heapsmith.model.errors import BadInput
from heapsmith.model.trace.events import Op
from heapsmith.model.trace.exports import malloc_bench, perfetto, rep
from heapsmith.model.trace.exports.format import Exported, Followed, Progress, Target, metadata, opened
from heapsmith.model.trace.exports.rows import Rows, event_rows, life_rows
from heapsmith.model.trace.exports.tables import TABLES, write_table
from heapsmith.model.trace.reader import TraceReader

TARGETS: dict[str, Target] = {module.TARGET.name: module.TARGET for module in (rep, malloc_bench, perfetto)}
NAMES = (*TABLES, *TARGETS)
_SUFFIXES = {f".{name}": name for name in TABLES} | {
    suffix: one.name for one in TARGETS.values() for suffix in one.suffixes
}
_BATCHES: dict[str, Callable[[Followed], Iterator[Any]]] = {"events": event_rows, "lives": life_rows}


def format_of(out: Path, name: str | None, rows: Rows) -> str:
    """Return the format of this name, or that of the name of the file; BadInput if there is none for such rows."""
    suffix = "".join(out.suffixes[-2:]) if out.suffix == ".gz" else out.suffix
    found = name or _SUFFIXES.get(suffix) or _SUFFIXES.get(suffix.removesuffix(".gz"))
    if found is None:
        raise BadInput(f"{out}: its name tells no format; say it with --to: {', '.join(NAMES)}")
    if found not in NAMES:
        raise BadInput(f"--to {found}: no such format; expected one of {', '.join(NAMES)}")
    if rows != "events" and found not in TABLES:
        raise BadInput(f"--rows {rows}: {found} has no rows; expected one of {', '.join(TABLES)}")
    return found


def export_trace(
    trace: str | Path,
    out: Path,
    name: str | None = None,
    rows: Rows = "events",
    *,
    progress: Progress = lambda what, done, total: None,
) -> Exported:
    """Write the events or the lives of a trace to `out` in the format of this name, or that of the file's name.

    Memory is a chunk and at most 88 bytes per block that lives. Raises BadInput for a damaged trace and for a file
    that cannot be written, which then does not appear, Missing without the package that a format needs.
    """
    chosen, notes = format_of(out, name, rows), list[str]()
    with TraceReader(trace, sited=True) as reader:
        source = Followed(reader, progress)
        if chosen in TABLES:
            count = write_table(out, chosen, _BATCHES[rows](source))
            lacks = _lacks_of_table(source, rows)
        else:
            with opened(out) as file:
                count, lacks, notes = TARGETS[chosen].write(source, file)
    return Exported(str(trace), str(out), chosen, rows, count, lacks, notes)


def _lacks_of_table(source: Followed, rows: Rows) -> list[str]:
    has_sites = source.reader.header.has_sites
    found = []
    if rows == "lives" and source.reader.header.has_processors:
        found.append("the processor of each call")
    if rows == "lives":
        if reallocs := source.number_of(Op.REALLOC):
            parts = "time, thread and call stack" if has_sites else "time and thread"
            found.append(f"the {parts} of {reallocs:,} reallocs, and sizes between the first and the last of a block")
        if sized := source.number_of(Op.FREE_SIZED):
            found.append(f"the sizes that {sized:,} sized frees say")
        found += source.ends_of_threads()
    frames = ["the frames of call stacks, which --rows sites has"] if has_sites else []
    return [*found, *frames, *metadata(source.reader)]
