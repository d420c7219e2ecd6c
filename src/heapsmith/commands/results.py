"""The results of commands for people: each becomes fields and tables."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from heapsmith.api import show
from heapsmith.tools.common.tables import draw
from heapsmith.tools.common.units import amount

if TYPE_CHECKING:  # the modules of these types need numba, which a command imports only when it runs
    from heapsmith.model.design.design import Design
    from heapsmith.model.design.plan import Plan
    from heapsmith.model.predict.mesh import Meshed, MeshRow, MeshTable
    from heapsmith.model.predict.reuse import ReuseTable
    from heapsmith.tools.calibrate.calibrate import Calibration
    from heapsmith.tools.forge.report import ForgeReport
    from heapsmith.tools.knobs.advice import Advised
    from heapsmith.tools.knobs.measure import Measured
    from heapsmith.tools.record.record import RecordResult
    from heapsmith.tools.replay.replay import ReplayTable
    from heapsmith.tools.report.doctor import DoctorReport
    from heapsmith.tools.sweep.sweep import Sweep


MOST_TRACES = 5
"""How many traces of one recording the command names; --json names all."""


def recorded(result: "RecordResult") -> None:
    """The traces, the largest first; on stderr, because stdout belonged to the recorded command."""
    for trace in result.traces[:MOST_TRACES]:
        lost = f", {trace.drops:,} DROPPED" if trace.drops else ""
        show.note(f"heapsmith: {trace.path}: {trace.events:,} events{lost} of {' '.join(trace.program)}")
        if trace.stacks:
            checks = f"{trace.sites_checked:,} sites were unwound a second time, {trace.sites_wrong:,} were wrong"
            show.note(f"heapsmith: {trace.path}: {trace.stacks:,} call stacks; {checks}")
    if more := result.traces[MOST_TRACES:]:
        events = sum(trace.events for trace in more)
        show.note(f"heapsmith: and {len(more)} smaller traces of other processes beside it, {events:,} events")
    for warning in result.warnings():
        show.note(f"heapsmith: warning: {warning}")


def designs(found: "list[Design]") -> None:
    """The built-in designs."""
    fields = ("classifier", "slab_choice", "empties", "remote")
    rows = [
        (one.name, one.hash(), len(one.sizes), *(one.row(field).NAME for field in fields), one.about) for one in found
    ]
    columns = ("design", "<hash", "classes", "<classifier", "<slab choice", "<empties", "<remote", "<about")
    show.table("", columns, rows)


def plan(made: "Plan") -> None:
    """Every derived number of a design: the scalars, then a row per class."""
    design = made.design
    fields = ("classifier", "slab_choice", "empties", "remote", "release")
    policies = {"name": design.name, "about": design.about} | {field: design.row(field).NAME for field in fields}
    scalars = {name: value for name in made.__struct_fields__ if isinstance(value := getattr(made, name), int | str)}
    show.fields([*policies.items(), *((name, show.figure(value)) for name, value in scalars.items())])
    front = ("capacity", "list_capacity", "refill", "flush", "spill", "promote")
    rows = [
        (
            f"{row.smallest_request} to {row.usable}",
            *(row.size, row.blocks, row.tail_bytes, row.worst_internal_bytes, row.front.kind),
            *(getattr(row.front, name) or "-" for name in front),
        )
        for row in made.classes
    ]
    columns = ("requests", "block", "per slab", "tail bytes", "worst loss", "<front")
    show.table("", [*columns, *(name.replace("_", " ") for name in front)], rows)


def reused(found: "ReuseTable") -> None:
    """Miss ratios by size of cache."""
    from heapsmith.tools.report import predictions

    draw(predictions.reused(found))


def swept(done: "Sweep") -> None:
    """How many rows a sweep wrote and what it simulated for them; what the grids skipped."""
    from heapsmith.tools.common.units import duration

    took = duration(round(done.seconds * 1e9))
    show.fields(
        [
            ("rows", f"{done.rows:,}: {done.designs:,} designs on {done.traces:,} traces"),
            ("kept", f"{done.kept:,} of {done.tasks:,} tasks were finished before, in {done.store}"),
            ("simulated", f"{done.simulated:,} tasks, {done.events:,} events, in {took}"),
        ]
    )
    if done.skipped:
        rows = [(one.grid, f"{one.combinations:,}", one.reason) for one in done.skipped]
        show.table("combinations that are no legal design", ("grid", "combinations", "<reason"), rows)
    show.line(done.out)


def replayed(table: "ReplayTable") -> None:
    """A trace under several libraries."""
    from heapsmith.tools.report import measurements

    draw(measurements.replayed(table))
    if table.rows[0].latency_ns is not None:
        draw(measurements.stamped(table))
    if table.glibc_bytes is not None:
        draw(measurements.glibc_bytes(table.trace, table.glibc_bytes))
    for warning in measurements.notes(table):
        show.prose(warning)


def forged(report: "ForgeReport") -> None:
    """All tables of a forge, its verdict, and the files that it wrote."""
    from heapsmith.tools.forge.report import conclusion, summary
    from heapsmith.tools.report import measurements

    for table in summary(report):
        draw(table)
    for warning in dict.fromkeys([*measurements.notes(report.replayed), *measurements.notes(report.measured)]):
        show.prose(warning)
    for sentence in conclusion(report):
        show.line()
        show.prose(sentence)
    show.line()
    for file in report.files:
        show.line(file)
    for why, commands in report.next_steps():
        show.line()
        show.prose(why)
        for command in commands:
            show.line(command)


def doctor(report: "DoctorReport") -> None:
    """Each tool: whether it is there, which version, and the commands that need it."""
    marks = {(True, True): "ok", (True, False): "ok", (False, True): "LACKING", (False, False): "absent"}
    rows = [(one.name, marks[one.ok, one.essential], one.found, one.needed_for) for one in report.findings]
    show.table("", ("what", "<", "<found", "<needed for"), rows)
    commands = dict.fromkeys(one.install for one in report.findings if one.install and not one.ok)
    if commands:
        show.line()
        show.line("to install what is not there:")
        for command in commands:
            show.line(f"  {command}")
    if report.lacking:
        show.note(f"heapsmith: lacking: {', '.join(report.lacking)}")


def calibrated(found: "Calibration", path: Path) -> None:
    """The number of measured replays, how well the costs fit them, and the machine file."""
    instructions = "as shipped, because none were counted (no valgrind)"
    if found.instruction_errors is not None:
        errors = found.instruction_errors
        instructions = f"{found.counted} replays, median error {errors.median:.2%}, 90 % within {errors.p90:.2%}"
    timed, alone = found.time_errors, found.alone_errors
    show.fields(
        [
            ("machine", path),
            ("instructions", instructions),
            ("time", f"{found.timed} replays, median error {timed.median:.1%}, 90 % within {timed.p90:.1%}"),
            ("operations alone", f"median error {alone.median:.1%}, 90 % within {alone.p90:.1%}"),
            ("took", f"{found.seconds:.0f} s"),
        ]
    )
    alone_ns = found.hardware.alone
    rows = [(name, f"{cost:,.2f}", f"{alone_ns[name]:,.2f}") for name, cost in found.hardware.costs.items()]
    show.table("nanoseconds each, among other operations and alone", ("kind", "cost", "alone"), rows)


METHODS = ("split", "greedy", "bound")


def meshed(found: "MeshTable") -> None:
    """A table for each design and moment: what each way to mesh gives back then."""
    columns = ("<unit", "<placement", "<fronts", *(word for how in METHODS for word in (how, "%")))
    for row in found.rows:
        for when, committed, shares in _mesh_moments(row, found.at):
            rows = [_mesh_cells(one, committed, its) for one, its in zip(row.ways, shares, strict=True)]
            show.table(f"{row.design}: given back of {amount(committed)} {when}", columns, rows)


def _mesh_moments(row: "MeshRow", at: list[int]) -> Iterator[tuple[str, int, list[list[float]]]]:
    """A moment in words, the committed bytes then, and the shares of each way."""
    yield "on average", row.average, [one.average for one in row.ways]
    yield "at the peak", row.peak, [one.peak for one in row.ways]
    for place, event in enumerate(at):
        yield f"after event {event:,}", row.at[place], [one.at[place] for one in row.ways]
    yield "at the end", row.end, [one.end for one in row.ways]


def _mesh_cells(one: "Meshed", committed: int, shares: list[float]) -> tuple[str, ...]:
    cells = (word for share in shares for word in (amount(share * committed), f"{share:.1%}"))
    return one.way.unit, one.way.placement, one.way.fronts, *cells


def advised(found: "Advised") -> None:
    """The settings of each malloc with their reasons, then the lines for a shell."""
    for one in found.advice:
        for knob in one.knobs:
            said = f" Simulated: {knob.simulated}." if knob.simulated else " Not simulated: measure it."
            show.prose(f"{one.library}: {knob.name}={knob.value} (default {knob.default}): {knob.reason}.{said}")
        if not one.knobs:
            show.prose(f"{one.library}: nothing to set; these traces give no reason to leave its defaults.")
    for lack in found.lacks:
        show.prose(f"The traces have {lack}. What needs them is not advised.")
    if lines := [line for one in found.advice for line in one.lines()]:
        show.line()
        for line in lines:
            show.line(line)


def measured_settings(found: "Measured") -> None:
    """The table of all runs, then what each set of settings does."""
    from heapsmith.tools.report import measurements

    show.line()
    draw(measurements.measured(found.table))
    for warning in measurements.notes(found.table):
        show.prose(warning)
    show.line()
    for effect in found.effects:
        figures = ", ".join(f"{name} {ratio.words()}" for name, ratio in effect.ratios.items())
        show.prose(f"{effect.library} with {effect.settings}: {effect.verdict}: {figures} of those without.")
    for line in measurements.other_memory(found.table):
        show.prose(line)
