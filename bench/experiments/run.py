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

import msgspec

from heapsmith.bench.experiments import scaling
from heapsmith.bench.experiments.book import Book, Experiment, Workload, designs_of
from heapsmith.bench.experiments.fair import faults, faults_on
from heapsmith.bench.experiments.gated import gated_layouts
from heapsmith.bench.experiments.profile import Arm, Profile, profiled
from heapsmith.bench.experiments.results import (
    COUNTED,
    TOLD,
    Conditions,
    Measured,
    Result,
    Results,
    compared,
    is_known,
)
from heapsmith.bench.programs.micro_programs import TRAINING_SEED, program, took
from heapsmith.bench.programs.programs import programs, trace_of
from heapsmith.codegen.built import library_of
from heapsmith.codegen.layouts import layouts_of
from heapsmith.model.errors import BadInput, CheckFailed, Missing
from heapsmith.model.files import cache_dir, json_text, scratch, write_text
from heapsmith.model.memory.application import WRITES, Application
from heapsmith.model.memory.hardware import Hardware
from heapsmith.model.predict.simulate import Simulation, simulate
from heapsmith.tools.common.counter_reports import read_report
from heapsmith.tools.common.parallel import in_parallel
from heapsmith.tools.common.program_start import Start
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
SHORT = ("shares", "groups", "dispatcher", "counters")
"""Profiles of callgrind, which takes long, and whose counts do not vary."""

MICRO = Application(births="pages", deaths="ends")
"""What the programs of bench/programs/micro do to a block (micro.h)."""


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
    """Run one experiment, or with 0 rounds predict it alone; raises as run_experiments does."""
    one = book.experiments[name]
    _refuse(faults(name, one))
    with scratch() as folder:
        ready = {
            workload: _prepared(book.workloads[workload], workload, folder / workload, quick or one.profile in SHORT)
            for workload in one.workloads
        }
        told = {
            workload: _simulated(one, name, trace, hardware, book.workloads[workload])
            for workload, (trace, _) in ready.items()
        }
        _refuse(faults_on(name, one, told))
        arms = _arms(name, one, rounds, progress)
        if one.profile == "scaling":
            threads = {workload: book.workloads[workload].threads for workload in one.workloads}
            stop = Stop(max(rounds, 1), enough=scaling.is_known)
            return [*scaling.scaled(name, ready, threads, arms, stop, hardware, MICRO, progress)]
        found: list[Result | Profile] = []
        for workload, (trace, measure) in ready.items():
            if one.profile is not None:
                found += profiled(name, one, workload, trace, arms, hardware)
                continue
            runs = _runs(f"{name} on {workload}", one, arms, rounds, measure, progress) if rounds else []
            found += compared(name, one, workload, told[workload], runs)
        return found


def _refuse(wrong: list[str]) -> None:
    if wrong:
        raise CheckFailed("; ".join(wrong))


def _simulated(
    one: Experiment, name: str, trace: Path, hardware: Hardware, workload: Workload
) -> dict[str, Simulation]:
    gated = {arm.name for arm in one.arms if arm.gates}  # the model knows none
    designs = {arm: design for arm, design in designs_of(name, one).items() if arm not in gated}
    if not designs:
        return {}
    does = WRITES if workload.recorded else MICRO
    rows = simulate(trace, list(designs.values()), hardware=hardware, application=does).rows
    return dict(zip(designs, rows, strict=True))


def _arms(name: str, one: Experiment, rounds: int, progress: Progress) -> list[Arm]:
    """Return the arms with their libraries: every layout of them, but one for a profile; none without rounds."""
    designs = designs_of(name, one)
    gates = {arm.name: arm.gates for arm in one.arms}

    def build(arm: str) -> list[Path | None]:
        if form := gates[arm]:
            return [*gated_layouts(designs[arm], form)]
        return [library_of(designs[arm])] if one.profile else [*layouts_of(designs[arm])]

    built: dict[str, list[Path | None]] = {}
    if rounds:
        paths = in_parallel(f"build libraries of {name}", build, list(designs), progress)
        built = dict(zip(designs, paths, strict=True))
        built |= {arm.name: [_plain(arm.peer).path] for arm in one.arms if arm.peer}
    return [Arm(arm.name, None if arm.gates else designs.get(arm.name), built.get(arm.name, [])) for arm in one.arms]


def _plain(peer: str) -> Library:
    """A malloc as it is. Raises BadInput for one with settings, which an arm does not pass on."""
    found = find_library(peer)
    if found.settings:
        raise BadInput(f"{peer}: it is a malloc with settings; expected a peer without")
    return found


def _runs(
    what: str, one: Experiment, arms: Sequence[Arm], rounds: int, measure: "Measure", progress: Progress
) -> list[list[Measured]]:
    turns = [in_turn(arm.libraries, f"{what} {arm.name}") for arm in arms]
    return interleaved(
        what,
        [arm.name for arm in arms],
        Stop(rounds, enough=partial(is_known, one.claim.quantity)),
        lambda entry: measure(Library(arms[entry].name, next(turns[entry]))),
        progress,
        resident=lambda run: int(run.rss),
    ).runs


def in_turn(libraries: Sequence[Path | None], seed: str) -> Iterator[Path | None]:
    """Yield the layouts of an arm without end, each as often as any other, in an order drawn from `seed`.

    The arms of a round have different layouts. So an interval over the rounds holds what layouts change.
    """
    order = random.Random(seed).sample(libraries, len(libraries))
    return itertools.cycle(order)


Measure = Callable[[Library], Measured]


def _prepared(workload: Workload, name: str, folder: Path, quick: bool) -> tuple[Path, Measure]:
    """Return a trace of the workload, and what measures it under a library, both in this folder."""
    folder.mkdir()
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
        times = (loop.cpu_ns, loop.wall_ns, done.used.peak_rss_bytes, done.used.minor_faults, loop.operations)
        return Measured(*times, library_counts(counts))

    return trace, measure


def library_counts(report: Path) -> dict[str, float]:
    """Return the counts of a library's report that an experiment asks for; none of a library that writes none."""
    if not report.exists():
        return {}
    found = read_report(report)
    report.unlink()
    counts: dict[str, float] = {one.name: one.count for one in found.counts if one.name in (*COUNTED, *TOLD)}
    return {**counts, "refills": sum(row.refill for row in found.layers)}


def _recorded(name: str, folder: Path, quick: bool) -> tuple[Path, Measure]:
    """Return the trace of a real program, and its replay."""
    scale = RECORDED_SCALE / (QUICK if quick else 1)
    real = next(one for one in programs(folder / "inputs", scale=scale) if one.name == name)
    if lacks := real.lacks():
        raise Missing(f"the program {name} needs {', '.join(lacks)}")
    trace = trace_of(real, folder / "recorded")
    script, counts = folder / "script", folder / "counts.json"
    write_script(trace, script)

    def measure(library: Library) -> Measured:
        asked = {**os.environ, "HEAPSMITH": f"stats={counts}"}
        run = replay_once(script, library, env=asked, limit_s=LIMIT_S)
        times = (run.cpu_ns, run.wall_ns, run.peak_rss_bytes, run.minor_faults, run.operations)
        return Measured(*times, library_counts(counts))

    return trace, measure
