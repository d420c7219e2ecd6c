"""The forge's report: all results, the tables of the summary, and the page."""

import shlex
from collections.abc import Iterator, Sequence

import msgspec

from heapsmith.codegen.verify import VerifyReport
from heapsmith.model.errors import printable
from heapsmith.model.predict.simulate import SimulationTable
from heapsmith.model.search.tune import Tuned
from heapsmith.model.trace.stats import TraceInfo
from heapsmith.tools.common import resident_words
from heapsmith.tools.common.other_memory import OtherMemory
from heapsmith.tools.common.tables import Words, code, section
from heapsmith.tools.common.units import amount
from heapsmith.tools.compare.measure import MeasureTable
from heapsmith.tools.compare.worth import Worth
from heapsmith.tools.forge.next_steps import Next, next_steps
from heapsmith.tools.forge.share import Share
from heapsmith.tools.forge.verdict import Verdict
from heapsmith.tools.replay.replay import ReplayTable
from heapsmith.tools.report import hardening, measurements, predictions, searched


class ForgeReport(msgspec.Struct, frozen=True):
    """The results of the forge. `files`: the files that it wrote, report.json last."""

    command: list[str]
    exit_status: int
    name: str
    base: str
    trace: TraceInfo
    tuned: Tuned
    simulated: SimulationTable
    verified: VerifyReport
    measured: MeasureTable
    replayed: ReplayTable
    share: Share
    verdict: Verdict
    files: list[str]
    other_memory: list[OtherMemory] = []
    """Programs with much memory that malloc did not give: the busiest as it was recorded, others as measured."""
    worth: list[Worth] = []
    """What the malloc to use is worth against the one to beat, if prices were told."""

    def next_steps(self) -> list[Next]:
        """What to do by the verdict."""
        return next_steps(self.command, self.base, library_in(self.files), self.measured, self.verdict)


class Found(msgspec.Struct):
    """The results of a forge so far, by the names that ForgeReport has for them."""

    exit_status: int | None = None
    other_memory: list[OtherMemory] = []
    trace: TraceInfo | None = None
    tuned: Tuned | None = None
    simulated: SimulationTable | None = None
    verified: VerifyReport | None = None
    measured: MeasureTable | None = None
    verdict: Verdict | None = None
    replayed: ReplayTable | None = None
    share: Share | None = None

    def missing(self) -> list[str]:
        """The names of the results that are not known."""
        return [name for name in self.__struct_fields__ if getattr(self, name) is None]


class Unfinished(msgspec.Struct, frozen=True):
    """A forge that ended in a step: the step, the names of what is missing, the rest as in ForgeReport."""

    command: list[str]
    name: str
    base: str
    ended_in: str
    missing: list[str]
    found: Found
    files: list[str]


def library_in(files: list[str]) -> str:
    """The forged library among the files."""
    return next(file for file in files if file.endswith(".so"))


def summary(report: ForgeReport | Found) -> list[Words]:
    """The tables that end a forge: proof, predictions, bytes saved, finalists, replay, latency, measurement."""
    words: list[Words] = []
    if report.verified:
        words.append(measurements.verified(report.verified))
    if report.simulated:
        words.append(predictions.simulated(report.simulated))
    if report.tuned:
        words += [searched.on_traces(report.tuned)] if len(report.tuned.traces) > 1 else []
        words += [*searched.saved(report.tuned), *searched.finalists(report.tuned)]
    if report.replayed:
        words += [*measured_bytes(report.replayed), measurements.replayed(report.replayed)]
        words.append(measurements.stamped(report.replayed))
    if report.measured:
        words.append(measurements.measured(report.measured))
    return words


def measured_bytes(table: ReplayTable) -> list[Words]:
    """What glibc's bytes are for, if that was measured."""
    return [measurements.glibc_bytes(table.trace, table.glibc_bytes)] if table.glibc_bytes else []


def conclusion(report: ForgeReport) -> list[str]:
    """The verdict, what to expect at most, and what misuse the design stops."""
    dollars = [one.sentence() for one in report.worth]
    stops = hardening.sentence(report.tuned.design)
    other = [*measurements.other_memory(report), *_resident(report.trace)]
    return [*report.verdict.why, *dollars, *other, report.share.sentence(), stops]


def _resident(info: TraceInfo | None) -> list[str]:
    """What was resident of the recorded process, by kind, if anybody looked."""
    if info is None or info.samples is None or info.samples.kinds is None:
        return []
    return [f"While it was recorded, {resident_words.line(info.samples.kinds, info.samples.resident_peak)}"]


def markdown(report: ForgeReport) -> str:
    """The report as a page: the verdict, the commands that follow from it, tables, reasons and warnings."""
    steps = [line for why, commands in report.next_steps() for line in ("", why, "", "```", *commands, "```")]
    return _page(report, report, [*conclusion(report)], [*steps, "", *_recorded(report.trace)])


def unfinished_markdown(report: Unfinished) -> str:
    """The page of a forge that did not come to its end: what is missing, and the tables of the rest."""
    why = [f"**Ended in step {report.ended_in}.** Missing: {', '.join(report.missing)}."]
    found = report.found
    why += [*(found.verdict.why if found.verdict else []), *measurements.other_memory(found), *_resident(found.trace)]
    return _page(report, found, why, _recorded(found.trace))


def _recorded(info: TraceInfo | None) -> list[str]:
    if info is None:
        return []
    return [
        f"Recorded: {info.events:,} events, {info.threads} threads, {info.distinct_sizes:,} distinct sizes,",
        f"{amount(info.allocated_bytes)} allocated, {amount(info.peak_live_bytes)} live at the peak.",
    ]


def _page(report: ForgeReport | Unfinished, found: ForgeReport | Found, why: Sequence[str], then: Sequence[str]) -> str:
    """The page of a forge: sentences, lines, and the tables of what was found."""
    return "".join(f"{printable(line)}\n" for line in _lines(report, found, why, then))


def _lines(
    report: ForgeReport | Unfinished, found: ForgeReport | Found, why: Sequence[str], then: Sequence[str]
) -> Iterator[str]:
    yield f"# {report.name}: an allocator for {code(shlex.join(report.command))}"
    for sentence in why:
        yield from ("", sentence)
    yield from then
    for words in summary(found):
        yield from section(words)
    for name, table in (("measurement", found.measured), ("replay", found.replayed)):
        for note in measurements.notes(table) if table else []:
            yield from ("", f"Note on the {name}: {note}.")
    if found.tuned:
        yield from ("", "## Why this design", "")
        yield from (f"- `{reason.field}` = {reason.chosen}: {reason.why}" for reason in found.tuned.reasons)
    yield from ("", "## Files", "")
    yield from (f"- {code(file)}" for file in report.files)
