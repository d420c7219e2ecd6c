"""The page of a forge, and of traces: what `heapsmith report` and the forge write as report.html."""

import shlex
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from heapsmith.model.design.design import Design, load
from heapsmith.model.errors import BadInput
from heapsmith.model.files import JSON_FAULTS
from heapsmith.model.memory.hardware import Hardware
from heapsmith.model.predict.simulate import Progress
from heapsmith.tools.common.tables import Words
from heapsmith.tools.forge.report import ForgeReport, Unfinished, conclusion, measured_bytes
from heapsmith.tools.page.collect import collect, predicted
from heapsmith.tools.page.contents import Shown
from heapsmith.tools.page.page import Page, write_page
from heapsmith.tools.page.series import write_series
from heapsmith.tools.replay.replay import glibc_bytes
from heapsmith.tools.report import measurements, predictions

DESIGNS = ("default", "lean")
"""The designs of a page on traces where none are asked for."""


class Written(msgspec.Struct, frozen=True):
    """A page that was written: its file, bytes, and the traces and designs that it shows."""

    file: str
    bytes: int
    traces: list[str]
    designs: list[str]


def write_report(
    path: Path,
    sources: Sequence[Path],
    designs: Sequence[Design],
    *,
    hardware: Hardware | None = None,
    series: Path | None = None,
    glibc: bool = False,
    progress: Progress | None = None,
) -> Written:
    """Write the page of traces, or of the folder of a forge; and its time lines to `series`.

    glibc: replay each trace under it, and show what its bytes are for. A forge has done so. Raises
    BadInput for a folder that holds no report of a forge, or that is not the only source.
    """
    folders = [source for source in sources if source.is_dir()]
    if folders and len(sources) > 1:
        raise BadInput(f"{folders[0]}: expected the folder of one forge, or traces")
    if folders:
        found = read_report(folders[0])
        page = forged(found, designs, hardware=hardware, progress=progress)
    else:
        shown = [
            collect(source, designs or [load(name) for name in DESIGNS], hardware=hardware, progress=progress)
            for source in sources
        ]
        page = predicted(shown, [_glibc_ledger(source) for source in sources] if glibc else [])
    write_page(path, page)
    if series is not None:
        write_series(series, page.shown)
    names = [row.simulated.design for row in page.shown[0].found.rows]
    return Written(str(path), path.stat().st_size, [str(one.trace) for one in page.shown], names)


def _glibc_ledger(trace: Path) -> Words:
    return measurements.glibc_bytes(str(trace), glibc_bytes(trace))


def read_report(folder: Path) -> ForgeReport:
    """Return the report of a forge that wrote to this folder; BadInput if there is none."""
    file = folder / "report.json"
    try:
        text = file.read_bytes()
        return msgspec.json.decode(text, type=ForgeReport)
    except OSError as error:
        raise BadInput(f"{file}: cannot read the report of a forge: {error.strerror}") from None
    except JSON_FAULTS as error:
        with suppress(*JSON_FAULTS):
            ended = msgspec.json.decode(text, type=Unfinished)
            raise BadInput(f"{file}: expected a whole report; the forge ended in step {ended.ended_in}") from None
        raise BadInput(f"{file}: expected the report of this version's forge: {error}") from None


def forged(
    report: ForgeReport,
    designs: Sequence[Design] = (),
    *,
    hardware: Hardware | None = None,
    with_reuse: bool = True,
    progress: Progress | None = None,
) -> Page:
    """Return the page of a forge: its base, its design and any others on its trace (see collect)."""
    trace = Path(report.trace.path)
    every = [load(report.base), *([] if report.tuned.kept_base else [report.tuned.design]), *designs]
    shown: list[Shown] = [collect(trace, every, hardware=hardware, with_reuse=with_reuse, progress=progress)]
    command = shlex.join(report.command)
    return Page(
        f"{report.name}: an allocator for {command}",
        conclusion(report),
        [command for step in report.next_steps() for command in step.commands],
        [measurements.measured(report.measured), measurements.stamped(report.replayed)],
        [
            predictions.simulated(report.simulated),
            measurements.replayed(report.replayed),
            measurements.verified(report.verified),
        ],
        shown,
        report.tuned,
        report.measured,
        measured_bytes(report.replayed),
    )
