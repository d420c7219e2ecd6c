"""The results of commands for people: each becomes fields and tables."""

from pathlib import Path
from typing import TYPE_CHECKING

from heapsmith.api import show
from heapsmith.bench.common.tables import draw

if TYPE_CHECKING:  # the modules of these types need numba, which a command imports only when it runs
    from heapsmith.bench.calibrate.calibrate import Calibration
    from heapsmith.bench.forge.page import Written
    from heapsmith.bench.forge.report import ForgeReport
    from heapsmith.bench.programs.measure import MeasureTable
    from heapsmith.bench.record.record import RecordResult
    from heapsmith.bench.replay.replay import ReplayTable
    from heapsmith.bench.report.doctor import DoctorReport
    from heapsmith.bench.suite.results import BenchReport
    from heapsmith.bench.sweep.sweep import Sweep
    from heapsmith.bench.validate.validate import Validation
    from heapsmith.codegen.verify import VerifyReport
    from heapsmith.model.design.design import Design
    from heapsmith.model.design.plan import Plan
    from heapsmith.model.predict.ledgers import LedgerTable
    from heapsmith.model.predict.reuse import ReuseTable
    from heapsmith.model.predict.simulate import SimulationTable
    from heapsmith.model.search.guard import Guarded
    from heapsmith.model.search.policies import Policies
    from heapsmith.model.search.tune import Tuned


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


def reported(written: "Written") -> None:
    """The page that was written."""
    from heapsmith.bench.common.units import amount

    of = f"{', '.join(written.traces)} under {', '.join(written.designs)}"
    show.note(f"heapsmith: {written.file}: {amount(written.bytes)}, {of}")


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


def verified(report: "VerifyReport") -> None:
    """The claims of the audit that fail, how many hold, and a row per trace and build."""
    from heapsmith.bench.report import measurements

    if report.audit is not None:
        failed = report.audit.failed()
        if failed:
            rows = [(row.name, row.check, row.claim, row.found) for row in failed]
            show.table("claims that do not hold", ("name", "<check", "<claim", "<in the code"), rows)
        claims = len(report.audit.rows)
        show.line(f"audit: {claims - len(failed)} of {claims} claims hold ({report.audit.compiler})")
    if report.runs:
        draw(measurements.verified(report))
    for note in report.notes:
        show.prose(f"{note}.")
    show.line("ok" if report.ok else "NOT ok")


def simulated(found: "SimulationTable", *, latency: bool = False, scaling: bool = False) -> None:
    """Designs side by side; latencies and scaling where they were asked for."""
    from heapsmith.bench.report import predictions, timings

    draw(predictions.simulated(found))
    if found.machine is not None:
        draw(predictions.touched(found))
    if latency:
        draw(timings.latencies(found))
    if scaling:
        draw(timings.scaling(found))
    draw(predictions.counters(found))
    for note in found.notes:
        show.prose(f"{note}.")


def ledgers(found: "LedgerTable") -> None:
    """What the bytes of each design are for."""
    from heapsmith.bench.report.ledgers import ledgers as tables

    for table in tables(found):
        draw(table)


def reused(found: "ReuseTable") -> None:
    """Miss ratios by size of cache."""
    from heapsmith.bench.report import predictions

    draw(predictions.reused(found))


def tuned(found: "Tuned", path: Path | None = None) -> None:
    """The front, the choice on each trace, what its choices are worth, and the reasons for classes."""
    from heapsmith.bench.report import searched
    from heapsmith.model.search.segregate import why_segregated

    for table in searched.tables(found):
        draw(table)
    if any(one.ledgers is None for one in found.traces):
        show.prose("What the choice saves of the bytes was not counted: interrupted.")
    if found.why_not_replayed:
        show.prose(f"No design was replayed: {found.why_not_replayed}.")
    if found.segregated and found.segregated.why_not:
        show.prose(f"segregation = off: {why_segregated(found.segregated)}.")
    for reason in found.reasons:
        if reason.field in ("design", "sizes", "segregation"):
            show.prose(f"{reason.field} = {reason.chosen}: {reason.why}")
    if path is not None:
        show.line(path)


def policies(found: "Policies", path: Path) -> None:
    """Each pull of the bandit, what each design changes, and the reason for the choice."""
    columns = ["design", "round", "events", "allocator ms", "committed peak", "cost", "<goes on"]
    rows = [
        (
            *(pull.design, pull.round, f"{pull.first_event:,} to {pull.end_event:,}", f"{pull.allocator_ns / 1e6:.3f}"),
            *(f"{pull.committed_peak:,}", f"{pull.cost:.3f}", "yes" if pull.stays else "no"),
        )
        for pull in found.pulls
    ]
    show.table("Pulls: time of the slice, memory and cost up to its end", columns, rows)
    last = {pull.design: pull.round for pull in found.pulls}
    for name in sorted(found.arms, key=lambda name: -last[name]):
        show.prose(f"{name}: " + ", ".join(f"{field} = {value}" for field, value in found.arms[name].items()))
    for reason in found.reasons:
        show.prose(reason.why)
    show.line(path)


def swept(done: "Sweep") -> None:
    """How many rows a sweep wrote and what it simulated for them; what the grids skipped."""
    from heapsmith.bench.common.units import duration

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


def guarded(found: "Guarded") -> None:
    """Each figure beside the baseline's and its limit; what changed, and what new size classes would save."""
    from heapsmith.bench.common.units import amount

    rows = [
        (
            *(one.figure, _few_digits(one.baseline), _few_digits(one.now)),
            *("-" if one.limit is None else _few_digits(one.limit), "ok" if one.ok else "DRIFTS"),
        )
        for one in found.verdicts
    ]
    show.table(f"{found.design} against {found.baseline}", ("figure", "baseline", "now", "limit", "<verdict"), rows)
    for line in found.grown:
        show.prose(line)
    new = found.retuning
    show.prose(
        f"blocks live at the peak take {amount(new.design_bytes)} in the design's size classes and "
        f"{amount(new.best_bytes)} in the best {new.classes}: in full slabs, that saves {new.saves:.1%} of the "
        f"committed peak. Tuning again {'may pay' if new.may_pay else 'hardly pays by size classes'}."
    )
    show.line("ok" if found.ok else "NOT ok")


def _few_digits(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3f}"


def replayed(table: "ReplayTable") -> None:
    """A trace under several libraries."""
    from heapsmith.bench.report import measurements

    draw(measurements.replayed(table))
    if table.rows[0].latency_ns is not None:
        draw(measurements.stamped(table))
    if table.glibc_bytes is not None:
        draw(measurements.glibc_bytes(table.trace, table.glibc_bytes))
    for warning in measurements.notes(table):
        show.prose(warning)


def compared(table: "MeasureTable") -> None:
    """A program under several libraries, then each library compared with the first."""
    from heapsmith.bench.report import measurements

    draw(measurements.measured(table))
    for warning in measurements.notes(table):
        show.prose(warning)
    show.line()
    first = table.rows[0].library
    for row in table.rows[1:]:
        show.prose(measurements.against(row.library, first, row.ratios))
    for line in measurements.other_memory(table):
        show.prose(line)


def benched(report: "BenchReport") -> None:
    """Time, memory and instructions of every row under every malloc, then the notes."""
    from heapsmith.bench.report import benchmark

    for table in benchmark.tables(report):
        draw(table)
    show.line()
    for note in benchmark.notes(report):
        show.prose(note)


def forged(report: "ForgeReport") -> None:
    """All tables of a forge, its verdict, and the files that it wrote."""
    from heapsmith.bench.forge.report import conclusion, summary
    from heapsmith.bench.report import measurements

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


def validated(found: "Validation") -> None:
    """How wrong each quantity is, and the worst cases."""
    from heapsmith.bench.report.predictions import predicted, signed, worst

    for line in found.notes:
        show.note(f"heapsmith: {line}")
    draw(predicted(found))
    draw(worst(found))
    draw(signed(found))
