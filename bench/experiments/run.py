"""Runs experiments: predicts the arms on a recording of each workload, then measures them."""

import hashlib
import itertools
import os
import random
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec

from heapsmith.bench.experiments.book import Book, Experiment, Quantity, Workload, designs_of, faults
from heapsmith.bench.experiments.profile import Arm, Profile, profiled
from heapsmith.bench.programs.micro_programs import TRAINING_SEED, program, took
from heapsmith.bench.programs.programs import programs, trace_of
from heapsmith.codegen.built import library_of
from heapsmith.codegen.layouts import layouts_of
from heapsmith.model.errors import CheckFailed, Missing
from heapsmith.model.files import cache_dir, json_text, scratch, write_text
from heapsmith.model.memory.application import WRITES, Application
from heapsmith.model.memory.hardware import Hardware
from heapsmith.model.predict.cost import system_calls
from heapsmith.model.predict.simulate import Simulation, simulate
from heapsmith.tools.common.counter_reports import read_report
from heapsmith.tools.common.parallel import in_parallel
from heapsmith.tools.common.program_start import Start
from heapsmith.tools.common.ratios import LEAST_ROUNDS, Ratio, ratio
from heapsmith.tools.common.rounds import Progress, Stop, interleaved
from heapsmith.tools.compare.measure import run_once
from heapsmith.tools.peers.peers import Library, find_library
from heapsmith.tools.record.record import Processes, record
from heapsmith.tools.replay.replay import replay_once
from heapsmith.tools.replay.script import write_script

QUICK = 5
"""With --quick a workload does 1 / QUICK of its work."""
QUICK_ROUNDS = 7
"""The most rounds with --quick."""
RECORDED_SCALE = 0.3
"""Scale of the inputs of recorded programs."""
LIMIT_S = 120.0
"""The longest measured run; a run beyond it is killed, and its experiment fails."""
NOTHING = 0.01
"""A change within this is no difference."""

MICRO = Application(births="pages", deaths="ends")
"""What the programs of bench/programs/micro do to a block (micro.h)."""

Verdict = Literal["holds here", "opposite here", "no difference here", "undecided"]


class Measured(msgspec.Struct, frozen=True):
    """One run of a workload under an arm; times in nanoseconds of its own loop, sizes in bytes."""

    cpu: float
    wall: float
    rss: float
    faults: float
    operations: int
    locks: float = 0
    lock_waits: float = 0
    futex: float = 0


class Change(msgspec.Struct, frozen=True):
    """A quantity of an arm as a ratio to the reference. predicted: None if the model cannot say.

    measured: None for a count that only the model tells; a library's counters equal the model's.
    """

    quantity: Quantity
    predicted: float | None
    measured: Ratio | None


class Result(msgspec.Struct, frozen=True, tag=True):
    """An arm against the reference on a workload. sign: whether the prediction had it, if decided."""

    experiment: str
    workload: str
    reference: str
    arm: str
    claim: str
    changes: list[Change]
    verdict: Verdict
    sign: bool | None


class Conditions(msgspec.Struct, frozen=True):
    """How the results of a run came about."""

    machine: str
    rounds: int
    quick: bool
    processors: int


class Results(msgspec.Struct, frozen=True):
    """All results of a run. skipped: why an experiment could not run here, by name."""

    conditions: Conditions
    results: list[Result]
    profiles: list[Profile]
    skipped: dict[str, str]


def run_experiments(
    book: Book, names: Sequence[str], hardware: Hardware, *, rounds: int, quick: bool, progress: Progress
) -> Results:
    """Run the experiments in order. A run that was interrupted goes on behind its last experiment.

    Results of finished experiments wait in the cache until the whole run has ended. Raises
    CheckFailed if the arms of an experiment differ otherwise than stated, or a run fails. An
    experiment for which the machine lacks a peer or a tool is skipped; Missing if all are.
    """
    conditions = Conditions(hardware.name, rounds, quick, len(os.sched_getaffinity(0)))
    key = json_text([conditions, names, book.experiments, book.workloads, hardware])
    waiting = cache_dir() / "experiments" / hashlib.sha256(key.encode()).hexdigest()[:16]
    results: list[Result | Profile] = []
    skipped: dict[str, str] = {}
    ahead = Ahead(book, names, progress)
    for name in names:
        kept = waiting / f"{name}.json"
        if kept.exists():
            results += msgspec.json.decode(kept.read_bytes(), type=list[Result | Profile])
            ahead.left_out(name)
            continue
        try:
            found = examine(book, name, hardware, rounds=rounds, quick=quick, progress=ahead)
        except Missing as error:
            skipped[name] = str(error)
            ahead.left_out(name)
            continue
        write_text(kept, json_text(found))
        results += found
        ahead.finished(name)
    shutil.rmtree(waiting, ignore_errors=True)
    if not results:
        raise Missing("; ".join(dict.fromkeys(skipped.values())))
    compared = [one for one in results if isinstance(one, Result)]
    return Results(conditions, compared, [one for one in results if isinstance(one, Profile)], skipped)


class Ahead:
    """Progress over all experiments, with the time left, estimated from the finished experiments.

    The weight of an experiment is the number of its recordings and its arms, over all workloads.
    """

    def __init__(self, book: Book, names: Sequence[str], progress: Progress) -> None:
        self._progress = progress
        self._parts = {name: _parts(book.experiments[name]) for name in names}
        self._done = self._measured = 0
        self._begin = time.monotonic()

    def __call__(self, what: str, _done: int, _total: int) -> None:
        """Report what is under way."""
        total = sum(self._parts.values())
        if self._measured:
            seconds = (time.monotonic() - self._begin) / self._measured * (total - self._done)
            what = f"{what}, about {seconds / 60:.0f} min left"
        self._progress(what, self._done, total)

    def finished(self, name: str) -> None:
        """Note that an experiment ran."""
        self._measured += self._parts[name]
        self.left_out(name)

    def left_out(self, name: str) -> None:
        """Note an experiment that took no time."""
        self._done += self._parts[name]


def _parts(one: Experiment) -> int:
    return len(one.workloads) * (len(one.arms) + 1)


def examine(
    book: Book, name: str, hardware: Hardware, *, rounds: int, quick: bool, progress: Progress
) -> list[Result | Profile]:
    """Run one experiment; raises as run_experiments does."""
    one = book.experiments[name]
    if wrong := faults(name, one):
        raise CheckFailed("; ".join(wrong))
    designs = designs_of(name, one)
    built_as = layouts_of if one.profile is None else lambda design: [library_of(design)]
    paths = in_parallel(f"build libraries of {name}", built_as, list(designs.values()), progress)
    built = dict(zip(designs, paths, strict=True))
    libraries = [built[arm.name] if arm.name in built else [find_library(arm.peer).path] for arm in one.arms]
    found: list[Result | Profile] = []
    for workload in one.workloads:
        with scratch() as folder:
            is_short = quick or one.profile is not None  # callgrind takes long, and its counts do not vary
            trace, measure = _prepared(book.workloads[workload], workload, folder, is_short)
            if one.profile is not None:
                arms = [
                    Arm(arm.name, designs.get(arm.name), path)
                    for arm, (path, *_) in zip(one.arms, libraries, strict=True)
                    if path is not None
                ]
                found += profiled(name, one, workload, trace, arms, hardware)
                continue
            does = WRITES if book.workloads[workload].recorded else MICRO
            told = simulate(trace, list(designs.values()), hardware=hardware, application=does).rows if designs else []
            what = f"{name} on {workload}"
            turns = [in_turn(its, f"{what} {arm.name}") for arm, its in zip(one.arms, libraries, strict=True)]
            runs = interleaved(
                what,
                [arm.name for arm in one.arms],
                Stop(rounds, enough=partial(_is_known, one.claim.quantity)),
                lambda entry, measure=measure, turns=turns: measure(Library(one.arms[entry].name, next(turns[entry]))),  # type: ignore[misc]
                progress,
                resident=lambda run: int(run.rss),
            ).runs
            found += _compared(name, one, workload, dict(zip(designs, told, strict=True)), runs)
    return found


def in_turn(libraries: Sequence[Path | None], seed: str) -> Iterator[Path | None]:
    """Yield the layouts of an arm without end, each as often as any other, in an order drawn from `seed`.

    The arms of a round have different layouts. So an interval over the rounds holds what layouts change.
    """
    order = random.Random(seed).sample(libraries, len(libraries))
    return itertools.cycle(order)


Measure = Callable[[Library], Measured]


def _prepared(workload: Workload, name: str, folder: Path, quick: bool) -> tuple[Path, Measure]:
    """Return a trace of the workload, and what measures it under a library."""
    if workload.recorded:
        return _recorded(workload.recorded, folder, quick)
    work = max(1, workload.work // (QUICK if quick else 1))
    words = workload.arguments.split()
    trace = folder / f"{name}.hst"
    command = [str(program(workload.micro, seed=TRAINING_SEED)), str(work), *words]
    void = subprocess.DEVNULL
    recorded = record(command, trace, processes=Processes(all=False), stdin=void, stdout=void, stderr=void)
    if recorded.exit_status != 0:
        raise CheckFailed(f"{workload.micro}: exit status {recorded.exit_status} while it was recorded")
    path, counts = str(program(workload.micro)), folder / "counts.json"

    def measure(library: Library) -> Measured:
        start = Start([path, str(work), *words], path, added={"HEAPSMITH": f"stats={counts}"})
        done = run_once(start, library, folder, limit_s=LIMIT_S)
        loop = took(done)
        used, system = done.used, system_counts(counts)
        times = (loop.cpu_ns, loop.wall_ns, used.peak_rss_bytes, used.minor_faults, loop.operations)
        return Measured(*times, *(system.get(name, 0) for name in COUNTED))

    return trace, measure


def system_counts(report: Path) -> dict[str, int]:
    """Return the counts of locks and system calls of a library's report; none if it does not count."""
    if not report.exists():
        return {}
    found = {one.name: one.count for one in read_report(report).counts if one.name in COUNTED}
    report.unlink()
    return found


def _recorded(name: str, folder: Path, quick: bool) -> tuple[Path, Measure]:
    """Return the trace of a real program, and its replay."""
    scale = RECORDED_SCALE / (QUICK if quick else 1)
    real = next(one for one in programs(folder / "inputs", scale=scale) if one.name == name)
    if lacks := real.lacks():
        raise Missing(f"the program {name} needs {', '.join(lacks)}")
    trace = trace_of(real, folder / "recorded")
    script = folder / "script"
    write_script(trace, script)

    def measure(library: Library) -> Measured:
        run = replay_once(script, library, limit_s=LIMIT_S)
        return Measured(run.cpu_ns, run.wall_ns, run.peak_rss_bytes, run.minor_faults, run.operations)

    return trace, measure


def _compared(
    name: str, one: Experiment, workload: str, predicted: dict[str, Simulation], runs: list[list[Measured]]
) -> list[Result]:
    """Return the results of all arms but the reference."""
    reference, *others = one.arms
    found: list[Result] = []
    for arm, its in zip(others, runs[1:], strict=True):
        pair = (predicted.get(reference.name), predicted.get(arm.name))
        changes = [
            Change(quantity, _predicted(quantity, *pair), _measured(quantity, runs[0], its))
            for quantity in dict.fromkeys([one.claim.quantity, *REPORTED])
        ]
        changes = [change for change in changes if change.predicted is not None or change.measured is not None]
        verdict, sign = judged(changes[0], one.claim.sign)
        found.append(Result(name, workload, reference.name, arm.name, one.claim.text, changes, verdict, sign))
    return found


REPORTED: tuple[Quantity, ...] = ("cpu", "rss", "faults", "superslabs", "refills", "system_calls")
COUNTED = ("locks", "lock_waits", "futex")
MEASURED = ("cpu", "wall", "rss", "faults", *COUNTED)


def _measured(quantity: Quantity, first: Sequence[Measured], its: Sequence[Measured]) -> Ratio | None:
    if quantity not in MEASURED:
        return None
    least = 1 if quantity in COUNTED else 0  # a count of 0 has no ratio
    return ratio(*([max(least, getattr(run, quantity)) for run in runs] for runs in (its, first)))


def _is_known(quantity: Quantity, runs: list[list[Measured]]) -> bool:
    """Return whether the intervals of all arms are narrow, so that further rounds would tell little."""
    if len(runs[0]) < LEAST_ROUNDS:
        return False
    of = quantity if quantity in MEASURED else "cpu"
    found = [_measured(of, runs[0], its) for its in runs[1:]]
    return all(one is not None and one.is_narrow() for one in found)


def _predicted(quantity: Quantity, first: Simulation | None, its: Simulation | None) -> float | None:
    """Return the ratio that the model predicts; None for a peer, or where it has no figure."""
    if first is None or its is None:
        return None
    if quantity in COUNTED:
        return None
    before, after = _figure(quantity, first), _figure(quantity, its)
    return after / before if before else (1.0 if not after else None)


def _figure(quantity: Quantity, of: Simulation) -> float:
    totals, classes = of.counters.totals, of.counters.classes
    touches, price = of.touches, of.price
    assert touches is not None
    assert price is not None
    ns_per_op = price.allocator_ns_per_op + price.shares.get("replay.operation", 0.0) * price.ns_per_op
    return {
        "cpu": ns_per_op,
        "wall": ns_per_op,
        "rss": touches.resident_peak,
        "faults": touches.faults_4k + touches.faults_2m,
        "superslabs": totals["superslabs"],
        "slabs": totals["slabs"],
        "system_calls": system_calls(of),
        "refills": sum(classes["refill"]),
    }[quantity]


def judged(change: Change, claimed: str) -> tuple[Verdict, bool | None]:
    """Return the verdict on a claim, and whether the prediction had the sign of a decided change.

    A measured interval that lies within NOTHING of 1 is no difference; one that holds 1 decides
    nothing, as does a single round, which has no interval. A prediction within NOTHING of 1 has no
    sign: it is right if the interval reaches as near to 1. Counts that only the model tells are
    exact.
    """
    middle = change.predicted if change.measured is None else change.measured.median
    assert middle is not None
    bounds = (middle, middle) if change.measured is None else change.measured.bounds()
    if bounds is None:
        return "undecided", None
    low, high = bounds
    if low >= 1 - NOTHING and high <= 1 + NOTHING:
        return ("holds here" if claimed == "same" else "no difference here"), None
    if low <= 1 <= high:
        return "undecided", None
    direction = "less" if high < 1 else "more"
    sign = None if change.predicted is None or change.measured is None else _is_right(change.predicted, low, high)
    return ("holds here" if direction == claimed else "opposite here"), sign


def _is_right(predicted: float, low: float, high: float) -> bool:
    """Return whether a prediction agrees with a decided interval."""
    if abs(predicted - 1) < NOTHING:
        return low < 1 + NOTHING and high > 1 - NOTHING
    return (predicted < 1) == (high < 1)
