"""Replays of a search's finalists beside its base: what each takes more of CPU time and of peak RSS."""

import math
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from heapsmith.codegen.built import library_of
from heapsmith.codegen.toolchain import find_gcc
from heapsmith.model.compile.wait import slowness
from heapsmith.model.design.design import Design
from heapsmith.model.errors import Missing
from heapsmith.model.files import scratch
from heapsmith.model.memory.application import program_of
from heapsmith.model.search.confirm import Replays, Shift, base_runs
from heapsmith.model.search.outcome import PROCESS_BYTES
from heapsmith.tools.common.host_memory import resident
from heapsmith.tools.common.parallel import in_parallel
from heapsmith.tools.common.ratios import LEAST_ROUNDS, RESAMPLES, SEED
from heapsmith.tools.common.rounds import Progress, Stop, interleaved, quiet
from heapsmith.tools.peers.peers import Library
from heapsmith.tools.replay.replay import Replayed, replay_once
from heapsmith.tools.replay.script import write_script

NARROW = 0.0025
"""The standard error of CPU time, in parts of the base's, from which on further rounds would tell little."""

MOST_ROUNDS = 25

TOGETHER = 2
"""Libraries that are built at once: after these the clock is looked at."""

BUILD_S = 1.5
"""What a library takes to build on an idle core, about."""


def replays(wanted: bool | None, *, usual: bool = True, progress: Progress | None = None) -> Replays | None:
    """What replays finalists for a search, if that is wanted; None: if it is usual, and a library can be built here.

    Raises Missing if it is wanted where no library can be built.
    """
    if wanted is False or (wanted is None and not usual):
        return None
    try:
        find_gcc()
    except Missing:
        if wanted:
            raise
        return None
    return partial(replay_finalists, progress=progress or quiet)


def replay_finalists(
    traces: Sequence[Path],
    designs: Sequence[Design],
    seconds: float,
    *,
    progress: Progress = quiet,
    clock: Callable[[], float] = time.monotonic,
) -> list[list[Shift]] | None:
    """Of each trace, how much more each design but the first takes than the first, by interleaved rounds of replays.

    Blocks are touched as far as the recorded program touched them. `seconds` are those of the builds and the replays;
    of the others as many are built as half of it allows. None where it is too short for LEAST_ROUNDS. Raises as
    `replay` does.
    """
    begun = clock()
    if build_s(TOGETHER) > seconds:
        return None
    base, *others = _built(designs, lambda took: clock() - begun + took <= seconds / 2, progress)
    seconds -= clock() - begun
    if seconds <= 0:
        return None
    libraries = [*[base] * base_runs(len(others)), *others]
    with scratch() as folder:
        scripts = [folder / f"script-{number}" for number in range(len(traces))]
        for trace, script in zip(traces, scripts, strict=True):
            write_script(trace, script, progress)
        shares = [program_of(trace).shares() for trace in traces]
        entries = [(trace, library) for trace in range(len(traces)) for library in libraries]

        def run(entry: int) -> Replayed:
            trace, library = entries[entry]
            return replay_once(scripts[trace], library, touched=shares[trace])

        def rows(runs: list[list[Replayed]]) -> list[list[list[Replayed]]]:
            return [runs[first : first + len(libraries)] for first in range(0, len(runs), len(libraries))]

        def is_known(runs: list[list[Replayed]]) -> bool:
            return len(runs[0]) >= LEAST_ROUNDS and all(
                shift.error_ns <= NARROW * _ns(row[0])[0] for row in rows(runs) for shift in _shifts(row, len(others))
            )

        names = [library.name for _, library in entries]
        stop = Stop(MOST_ROUNDS, seconds, is_known, clock=clock)
        groups = [trace for trace, _ in entries]
        runs, _ = interleaved("replay finalists", names, stop, run, progress, groups, resident)
    return [_shifts(row, len(others)) for row in rows(runs)] if len(runs[0]) >= LEAST_ROUNDS else None


def build_s(count: int) -> float:
    """The seconds that `count` builds take, about, on these cores and with the load that they have."""
    return BUILD_S * slowness(count)


def _built(designs: Sequence[Design], may_go_on: Callable[[float], bool], progress: Progress) -> list[Library]:
    """The libraries of the first designs, at least of two; the next come while these may, by what the last took."""
    found: list[Path] = []
    took = 0.0
    while len(found) < len(designs) and (len(found) < TOGETHER or may_go_on(took)):
        begun = time.monotonic()
        some = designs[len(found) : len(found) + TOGETHER]
        found += in_parallel("build finalists", library_of, some, progress)
        took = time.monotonic() - begun
    return [Library(one.hash(), path, one.hash()) for one, path in zip(designs, found, strict=False)]


def _ns(runs: Sequence[Replayed]) -> list[float]:
    return [run.cpu_ns / max(1, run.operations) for run in runs]


def _shifts(row: Sequence[Sequence[Replayed]], others: int) -> list[Shift]:
    """The shifts of the `others` to the base, from medians over the rounds, and their standard errors."""
    times = _differences([_ns(runs) for runs in row], others)
    peaks = _differences([[math.log(PROCESS_BYTES + run.peak_rss_bytes) for run in runs] for runs in row], others)
    return [Shift(*time, peak - error) for time, (peak, error) in zip(times, peaks, strict=True)]


def _differences(figures: Sequence[Sequence[float]], others: int) -> list[tuple[float, float]]:
    """The median over the rounds of each other's difference to the mean of the bases, and its standard error.

    The error is that of the bootstrap: Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 6.
    """
    every = np.array(figures)
    bases = len(every) - others
    differences = every[bases:] - every[:bases].mean(axis=0)
    rounds = differences.shape[1]
    drawn = np.random.default_rng(SEED).integers(0, rounds, (RESAMPLES, rounds))
    return [(float(np.median(one)), float(np.median(one[drawn], axis=1).std())) for one in differences]
