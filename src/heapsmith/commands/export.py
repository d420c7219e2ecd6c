"""The command that writes a trace as a file of another tool."""

from typing import Annotated, Literal

from heapsmith.api import show
from heapsmith.api.stated import Option
from heapsmith.commands import arguments as take
from heapsmith.commands.options import Commands, example
from heapsmith.commands.traces import trace_app
from heapsmith.model.errors import BadInput
from heapsmith.model.files import STANDARD

app = Commands()

Rows = Annotated[
    Literal["events", "lives", "sites"],
    Option("What a row of a table is: an event, the life of a block, or a call stack.", flags="--rows"),
]


_UNITS = {"rep": "operations", "malloc-bench": "lines", "perfetto": "packets"}
"""What of a format is counted that has no rows."""


@trace_app.command(
    "export",
    epilog=example(
        "trace export py.hst -o py.parquet",
        "trace export py.hst --rows lives -o lives.parquet",
        "trace export py.hst --to perfetto -o py.pftrace",
    ),
)
def trace_export(
    trace: take.Trace,
    out: take.OutFile,
    format_name: Annotated[
        str | None,
        Option(
            "parquet, csv, jsonl, rep, malloc-bench or perfetto. Default: as the name of the file says.",
            "FORMAT",
            "--to",
        ),
    ] = None,
    rows: Rows = "events",
    json: take.Json = False,
) -> None:
    """Write a trace as a file that other tools read (docs/other-tools.md).

    A name that ends in .gz makes the file gzip. What the format does not hold is said on standard error.
    """
    from heapsmith.model.trace.exports.formats import export_trace
    from heapsmith.tools.sites.export import export_sites

    if str(out) == STANDARD:
        raise BadInput("-o: - is standard output; expected a file, since its format follows from its name")
    path = take.writable_file(out)
    if path.exists() and path.samefile(trace):
        raise BadInput(f"{out}: this is the trace to export; expected another file")
    with show.progress() as progress:
        if rows == "sites":
            found = export_sites(trace, path, format_name, progress=progress)
        else:
            found = export_trace(trace, path, format_name, rows, progress=progress)
    if found.lacks:
        show.note(f"heapsmith: {found.path} does not hold: {'; '.join(found.lacks)}")
    for note in found.notes:
        show.note(f"heapsmith: {note}")
    if json:
        show.emit_json(found)
    else:
        show.fields(
            [("file", found.path), ("format", found.format), (_UNITS.get(found.format, found.rows), f"{found.count:,}")]
        )
