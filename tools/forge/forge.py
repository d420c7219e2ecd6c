"""The forge: makes a library for a command, verifies it, and measures it against other mallocs."""

import re
import shlex
import signal
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from heapsmith.codegen.build import build_emitted, own_flags
from heapsmith.codegen.built import library_of
from heapsmith.codegen.ship import ship
from heapsmith.codegen.verify import VerifyReport, verify
from heapsmith.model.compile.wait import slowness
from heapsmith.model.design.design import Design
from heapsmith.model.design.toml import write_design
from heapsmith.model.errors import BadInput, CheckFailed, printable
from heapsmith.model.files import write_json, write_text
from heapsmith.model.memory.hardware import here
from heapsmith.model.predict.simulate import simulate
from heapsmith.model.search.asked import Asked, check_arguments
from heapsmith.model.search.tune import tune
from heapsmith.model.trace.reader import TraceReader
from heapsmith.model.trace.stats import trace_info
from heapsmith.tools.common.ratios import LEAST_ROUNDS
from heapsmith.tools.common.rounds import Progress, Stop
from heapsmith.tools.common.served_share import did_the_work, sentences
from heapsmith.tools.common.units import span
from heapsmith.tools.compare.measure import limit_of, measure
from heapsmith.tools.compare.worth import Price
from heapsmith.tools.forge.page import forged
from heapsmith.tools.forge.report import ForgeReport, Found, Unfinished, markdown, unfinished_markdown
from heapsmith.tools.forge.share import malloc_share
from heapsmith.tools.forge.verdict import verdict, worth_of
from heapsmith.tools.page.page import write_page
from heapsmith.tools.peers.peers import GLIBC, Library, why_no_malloc
from heapsmith.tools.record.record import Processes, RecordResult, record
from heapsmith.tools.record.shares import Shares, name_of, shares
from heapsmith.tools.replay.replay import replay

STEPS = 9

RUNS, REPLAYS, SHARE = 0.65, 0.2, 0.15
"""The parts of the time for measuring: the program's runs, the replays, the share of malloc."""

PROOF_S, PROOF_EVENT_S = 5.0, 2.2e-6
"""What simulating two designs, building and proving take on an idle core, about: in all, and for each event."""

RECORD_S = 3600.0
"""The limit of the run that is recorded. That of the other runs, and of a replay, follows from its time."""

LONGEST_NAME = 80
"""Characters of a program's name in the name of its trace."""

Say = Callable[[int, str], None]
"""Called with the number of the step that begins, from 1 to STEPS, and its description."""


class Order(NamedTuple):
    """What is asked of a forge: of its search, of its measurements, and the prices for its verdict.

    hold_out: traces that the search does not see, where the limits hold too.
    """

    asked: Asked
    stop: Stop
    price: Price | None = None
    hold_out: Sequence[Path] = ()


def forge(
    command: list[str],
    out: Path,
    *,
    base: Design,
    name: str,
    order: Order,
    say: Say,
    progress: Progress,
) -> ForgeReport:
    """Run all steps for `command`: trace, design, C, library, proof, times, in the folder `out`.

    The command's input is /dev/null; its output is dropped, except for errors during recording. Each file
    appears whole or not at all, report.json last. An interrupt leaves report.md and report.json of what is
    done (Unfinished). Raises the errors of the steps, and CheckFailed if the command is killed, exceeds a
    limit, or library and model differ. BadInput for a held-out trace that it would write. The time of
    `order.stop` begins when the design is chosen. Half of it and LEAST_ROUNDS rounds are left for measuring
    in any case (RUNS, REPLAYS, SHARE).
    """
    check_arguments(base, order.asked, name)
    for path in order.hold_out:
        with TraceReader(path):
            pass
        if path.resolve() in ((out / "trace.hst").resolve(), *(out / "trace.programs").resolve().glob("*.hst")):
            raise BadInput(f"{path}: the forge writes its own trace there; expected another file to hold out")
    for kind in ("md", "html", "json"):
        (out / f"report.{kind}").unlink(missing_ok=True)
    work = _Work(command, out, base, name, order, progress, Found(), [])
    begun: list[str] = []

    def begin(step: int, what: str) -> None:
        if step > len(begun):  # else it says more of the step that it is at
            begun.append(f"{step} of {STEPS}, {what}")
        say(step, what)

    try:
        return _steps(work, begin)
    except (KeyboardInterrupt, SystemExit):
        if begun:
            _leave(work, begun[-1])
            say(len(begun), f"interrupted: {out / 'report.md'} says what is done")
        raise


class _Work(NamedTuple):
    """What a forge is to do, what it has found, and the files that it has written."""

    command: list[str]
    out: Path
    base: Design
    name: str
    order: Order
    progress: Progress
    found: Found
    files: list[str]


def _leave(work: _Work, step: str) -> None:
    """Write what was found, to report.md and report.json."""
    reports = [work.out / "report.md", work.out / "report.json"]
    files = [*work.files, *map(str, reports)]
    found = work.found
    report = Unfinished(work.command, work.name, work.base.name, step, found.missing(), found, files)
    write_text(reports[0], unfinished_markdown(report))
    write_json(reports[1], report)


def _steps(work: _Work, say: Say) -> ForgeReport:
    command, out, base, name, (asked, stop, price, unseen), progress, found, files = work
    trace, toml, emitted, library = out / "trace.hst", out / "design.toml", out / "c", out / f"lib{name}.so"
    say(1, f"record {shlex.join(command)}")
    recorded, traces = _record(command, trace, progress)
    found.exit_status = recorded.exit_status
    found.other_memory = [one for one in recorded.other_memory if one.pid == recorded.traces[0].pid]
    files += [str(path) for path, _ in traces]
    about = _part(stop, RUNS).estimate(3 * recorded.wall_ns / 1e9)
    later = _slow_proof(stop, sum(one.events for one in recorded.traces))
    later += [f"step 8 will take long: {about}"] if about else []
    say(2, "; ".join([f"read the trace: {_programs(recorded, traces)}", *recorded.warnings(), *later]))
    found.trace = info = trace_info(trace, progress=progress)
    say(3, f"tune {name} from {base.name}")
    found.tuned = tuned = tune(
        traces, base=base, name=name, hold_out=unseen, hardware=here(), asked=asked, progress=progress
    )
    chosen = stop.clock()
    write_design(toml, tuned.design, tuned.reasons)
    files.append(str(toml))
    say(4, f"simulate {base.name} and {name}")
    found.simulated = simulated = simulate(trace, [base, tuned.design], progress=progress)
    say(5, f"generate the C in {emitted}")
    ship(tuned.design, emitted)
    files.append(str(emitted))
    say(6, f"build {library}")
    build_emitted(emitted, library, own=own_flags(tuned.design))
    files.append(str(library))
    say(7, "verify: audit the C, hold the library against the model")
    found.verified = verified = verify(tuned.design, [path for path, _ in traces], release=library, progress=progress)
    _require(verified)
    of_base = str(library_of(base))
    libraries = [GLIBC, of_base] if tuned.kept_base else [GLIBC, of_base, str(library)]
    kept, others = library.name if tuned.kept_base else None, "" if tuned.kept_base else f", {name}"
    say(8, f"run the command under glibc, {base.name}{others}")
    stop = _left(stop, stop.clock() - chosen)._replace(run_limit_s=limit_of(recorded.wall_ns))
    told = _part(stop, RUNS)._replace(say=lambda text: say(8, text))
    found.measured = measured = measure(command, libraries, stop=told, pivot=-1, progress=progress)
    found.other_memory = list({one.program: one for one in measured.other_memory + found.other_memory}.values())
    found.verdict = decided = verdict(measured, kept=kept)
    say(9, "replay the trace under the same, and sample how much of the program's time malloc takes")
    # The command's malloc may need the command's libraries, which a replay lacks.
    own = [path for path in measured.own if not why_no_malloc(Library(path, Path(path)))]
    beside = [GLIBC, *own, *libraries[1:]]
    told = _part(stop, REPLAYS)._replace(say=lambda text: say(9, text))
    found.replayed = replayed = replay(trace, beside, stop=told, latency=True, count_bytes=True, progress=progress)
    to_glibc = next(row for row in measured.rows if row.path == of_base).ratios.cpu
    once = _part(stop, SHARE)._replace(least=0)
    found.share = share = malloc_share(command, Path(of_base), to_glibc, once, progress)
    files += [str(out / f"report.{kind}") for kind in ("md", "html", "json")]
    results = (info, tuned, simulated, verified, measured, replayed, share, decided, files, found.other_memory)
    dollars = worth_of(measured, decided, price) if price else []
    report = ForgeReport(command, recorded.exit_status, name, base.name, *results, dollars)
    write_text(out / "report.md", markdown(report))
    # The model that counts reuse is compiled in half a minute: `heapsmith report` of the folder adds it.
    write_page(out / "report.html", forged(report, with_reuse=False, progress=progress))
    write_json(out / "report.json", report)
    return report


def _slow_proof(stop: Stop, events: int) -> list[str]:
    """What to say beforehand where build and proof take more than half of the time, which is for measuring."""
    takes_s = (PROOF_S + PROOF_EVENT_S * events) * slowness(1)
    if stop.limit_s is None or takes_s <= stop.limit_s / 2:
        return []
    return [f"steps 4 to 7 take about {span(takes_s)}, of the {span(stop.limit_s)} for them and for measuring"]


def _left(stop: Stop, spent_s: float) -> Stop:
    """What is left of a time after `spent_s`, but half of it in any case; rounds stay as many."""
    return stop if stop.limit_s is None else stop._replace(limit_s=max(stop.limit_s / 2, stop.limit_s - spent_s))


def _part(stop: Stop, part: float) -> Stop:
    """The same rounds in a part of the time, and enough for a verdict."""
    return stop if stop.limit_s is None else stop._replace(limit_s=part * stop.limit_s, least=LEAST_ROUNDS)


def _record(command: list[str], trace: Path, progress: Progress) -> tuple[RecordResult, Shares]:
    """Record the command; its busiest process must have lost no event."""
    void = subprocess.DEVNULL
    result = record(command, trace, processes=Processes(limit_s=RECORD_S), stdin=void, stdout=void, progress=progress)
    if did_the_work(result.apart):
        raise CheckFailed(f"nothing to forge for: the recorder did not see {sentences(result.apart)}")
    traces = _kept(result, shares(result), trace.with_name("trace.programs"))
    killed = result.exit_status - 128
    if killed == signal.SIGINT or result.interrupted:  # a command that ends in order on Ctrl-C has done half its work
        raise KeyboardInterrupt
    if result.wall_ns > RECORD_S * 1e9:
        raise CheckFailed(
            f"{command[0]}: had not ended after {RECORD_S:g} s while it was recorded; {trace} has its events"
        )
    if killed > 0:
        raise CheckFailed(f"{command[0]}: ended by {signal.strsignal(killed) or killed} while it was recorded")
    if drops := result.traces[0].drops:
        raise CheckFailed(f"{trace}: {drops} events were dropped while recording; free some room there")
    return result, traces


def _kept(result: RecordResult, traces: Shares, folder: Path) -> Shares:
    """Move the traces that count, but the first, to `folder` under their programs' names; remove the others.

    Traces of an earlier forge in the folder are removed.
    """
    for older in folder.glob("*.hst"):
        older.unlink()
    counted, kept = dict(traces), traces[:1]
    for one in result.traces[1:]:
        path = Path(one.path)
        if path not in counted:
            path.unlink()
            continue
        folder.mkdir(exist_ok=True)
        name = re.sub(r"[^a-zA-Z0-9_.+-]", "-", name_of(one))[:LONGEST_NAME].strip(".") or "unnamed"
        place = folder / f"{name}.hst"
        while place.exists():
            place = place.with_name(f"{len(kept)}-{place.name}")
        kept.append((path.replace(place), counted[path]))
    return kept


def _programs(recorded: RecordResult, traces: Shares) -> str:
    """The events of the first trace, and what each program counts if they are several."""
    first = recorded.traces[0]
    name = printable(name_of(first))
    parts = [f"{name if path == traces[0][0] else path.stem} {share:.0%}" for path, share in traces]
    several = f"; what the programs count: {', '.join(parts)}" if len(parts) > 1 else ""
    return f"{first.events:,} events of {name}{several}"


def _require(verified: VerifyReport) -> None:
    """Raise CheckFailed with the first difference, if any."""
    if verified.ok:
        return
    differences = [f"{run.trace}, {run.build} build: {run.difference}" for run in verified.runs if run.difference]
    failed = verified.audit.failed() if verified.audit else []
    claims = [f"{row.name}: claimed {row.claim}, found {row.found}" for row in failed]
    raise CheckFailed(f"{verified.design}: {(differences or claims)[0]}")
