"""Weather: replays timed on a shared machine, whose speed varies."""

import os
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from statistics import fmean, median
from typing import NamedTuple

import msgspec

from heapsmith.tools.calibrate.micro_traces import PROGRAMS, write_programs
from heapsmith.tools.common.host_memory import resident
from heapsmith.tools.common.rounds import Figure, Progress, Stop, interleaved
from heapsmith.tools.peers.peers import Library, find_library
from heapsmith.tools.replay.replay import Replayed, replay_once
from heapsmith.tools.replay.script import write_script

YARDSTICK_EVENTS = 600_000
FIRST_TOUCHES = {"GLIBC_TUNABLES": "glibc.malloc.mmap_threshold=131072"}
"""With this, each large block is a new mapping; by default glibc soon reuses its own memory."""
MANY = 3
"""Replays of a script that suffice to show a round's effect on all of them."""
BETWEEN = 12
"""Replays between two pairs of yardsticks."""


class Replay(NamedTuple):
    """A timed replay; `memory` is the share of its time that follows the memory yardstick."""

    script: Path
    library: Library
    memory: float


class Timed(NamedTuple):
    """One replay over the counted rounds."""

    ns: Figure
    runs: list[Replayed]


class Yards(msgspec.Struct, frozen=True):
    """Processor time of both in nanoseconds, or relative to earlier times."""

    core: float
    memory: float


def yardsticks(folder: Path) -> list[Path]:
    """Write the scripts of two replays under glibc that measure the machine's present speed.

    The first measures the core alone; the other measures first touches of memory, which depend on
    the system and the memory. The two speeds drift separately.
    """
    scripts = []
    for trace in write_programs(folder, {name: PROGRAMS[name] for name in ("pairs", "huge")}, YARDSTICK_EVENTS):
        scripts.append(trace.with_suffix(".yardstick"))
        write_script(trace, scripts[-1])
    return scripts


def times(
    replays: Sequence[Replay], sticks: Sequence[Path], rounds: int, progress: Progress
) -> tuple[list[Timed], Yards]:
    """Time each replay in interleaved rounds, with yardsticks after every few replays.

    Also returns the yardsticks' medians. Each replay's time is scaled to these medians by the
    yardsticks before and after it. Then replays of one script, which run one after the other, are
    scaled round by round to their times over all rounds, by the median of their ratios (median
    polish), if there are MANY.
    """
    plain = find_library("glibc")
    yards: list[Yards] = []
    calls = count()

    def run(entry: int) -> tuple[Replayed, int]:
        if next(calls) % BETWEEN == 0:
            yards.append(_measured(sticks, plain))
        return replay_once(replays[entry].script, replays[entry].library), len(yards)

    names, scripts = [replay.library.name for replay in replays], [replay.script for replay in replays]
    taken = interleaved(
        "time replays", names, Stop(rounds), run, progress, scripts, lambda found: resident(found[0])
    ).runs
    yards.append(_measured(sticks, plain))
    middle = Yards(median(yard.core for yard in yards), median(yard.memory for yard in yards))

    def scaled_ns(replayed: Replayed, place: int, share: float) -> float:
        near = yards[place - 1 : place + 1]
        core = fmean(yard.core for yard in near) / middle.core
        memory = fmean(yard.memory for yard in near) / middle.memory
        return replayed.cpu_ns / ((1 - share) * core + share * memory)

    scaled = [[scaled_ns(*one, replay.memory) for one in own] for replay, own in zip(replays, taken, strict=True)]
    for script in {replay.script for replay in replays}:
        polish([values for replay, values in zip(replays, scaled, strict=True) if replay.script == script])
    timed = [Timed(Figure.of(ns), [run for run, _ in own]) for ns, own in zip(scaled, taken, strict=True)]
    return timed, middle


def _measured(sticks: Sequence[Path], plain: Library) -> Yards:
    core, memory = sticks
    touched = replay_once(memory, plain, env=os.environ | FIRST_TOUCHES)
    return Yards(replay_once(core, plain).cpu_ns, touched.cpu_ns)


def polish(rows: Sequence[list[float]]) -> None:
    """Remove each round's effect on all rows (a value per round), if there are MANY rows."""
    if len(rows) < MANY:
        return
    medians = [median(row) for row in rows]
    for number in range(len(rows[0])):
        weather = median(row[number] / middle for row, middle in zip(rows, medians, strict=True))
        for row in rows:
            row[number] /= weather
