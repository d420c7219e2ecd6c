"""Where the bytes of a trace with call stacks are, beside heaptrack's file of the same command.

python -m heapsmith.bench.studies.recording_bytes [--out FILE] records the programs of `recording`; --page writes the
table into docs/lab/recording.md. Other work on the machine changes little: the times of events alone.
"""

import shutil
import struct
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from heapsmith.bench.common.command import exit_with
from heapsmith.bench.common.commit import commit, today
from heapsmith.bench.common.pages import untitled
from heapsmith.bench.common.study import LAB, Measure, Only, Part, Put, settle
from heapsmith.bench.studies.recording import jobs, recordings
from heapsmith.model.errors import Missing
from heapsmith.model.files import write_json
from heapsmith.model.trace.frames import FOOTER_TAG, TraceFile
from heapsmith.tools.common.tables import Words

PART = Part(Path(__file__), LAB / "recording.md")
FOOTER = "footer"
HEAD = struct.Struct("<BI")
"""Of a column of a chunk: its width, and the bytes that follow."""
SHARED = ("op", "size", "align_log2", "site", FOOTER)
"""What heaptrack's file has too: operations, sizes and call stacks. Its times are of ten milliseconds or so, and of a
free it has the size and the stack of the block, and not which block of these it is.
"""


class Row(msgspec.Struct, frozen=True):
    """A program: the bytes of each column of its trace and of the footer, which has the stacks; heaptrack's file."""

    program: str
    events: int
    columns: dict[str, int]
    heaptrack_bytes: int

    def part(self, names: Sequence[str]) -> int:
        """The bytes of these columns."""
        return sum(self.columns.get(name, 0) for name in names)


class Report(msgspec.Struct, frozen=True):
    """All rows, and when and at which commit they were made."""

    date: str
    commit: str
    rows: list[Row]


def bytes_of(trace: Path) -> dict[str, int]:
    """The bytes of each column of a trace, and of its footer."""
    found = Counter[str]()
    with TraceFile(trace) as file:
        for frame in file.frames():
            content = file.read(frame.end - frame.length, frame.length)
            if frame.tag == FOOTER_TAG:
                found[FOOTER] += len(content)
                continue
            at = 0
            for column in file.header.columns:
                _, length = HEAD.unpack_from(content, at)
                at += HEAD.size + length
                found[column.name] += HEAD.size + length
    return dict(found)


def cells(rows: Sequence[Row]) -> list[list[str]]:
    """The table, in KiB."""
    return [
        [
            one.program,
            *(
                f"{one.part(names) / 1024:,.0f}"
                for names in (SHARED, ("block",), ("time_ns",), ("thread", "processor"))
            ),
            f"{one.heaptrack_bytes / 1024:,.0f}",
        ]
        for one in rows
    ]


def made(of: Report) -> list[str]:
    """The part of the page that is made of this report."""
    columns = ["program", "operation, size, stack", "which block", "time", "thread, processor", "heaptrack"]
    return [f"In KiB, on {of.date} at commit {of.commit}.", untitled(Words("", columns, cells(of.rows)))]


def main(out: Measure = None, only: Only = None, page: Put = False) -> int:
    """Measure, or take the committed figures, and write the page."""
    report = Report(today(), commit(), []) if out else PART.read(Report)
    if out:
        if shutil.which("heaptrack") is None:
            raise Missing("heaptrack not found on PATH (Debian: apt install heaptrack)")
        with TemporaryDirectory() as name:
            folder = Path(name)
            for one in jobs(folder / "jobs"):
                if not only or one.name in only:
                    own = folder / one.name
                    own.mkdir()
                    found = recordings(one, own)
                    other = found.heaptrack.stat().st_size
                    report.rows.append(Row(one.name, found.events, bytes_of(found.stacks), other))
                    write_json(out, report)
    return settle(PART, made(report), page)


if __name__ == "__main__":
    exit_with(main)
