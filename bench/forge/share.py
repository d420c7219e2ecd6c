"""The share of a program's CPU time that its malloc takes: replays without the program's work."""

import os
from collections.abc import Callable
from pathlib import Path
from statistics import median

import msgspec

from heapsmith.bench.common.rounds import Progress, Stop, interleaved
from heapsmith.bench.peers.peers import GLIBC, find_library
from heapsmith.bench.programs.measure import find_program, run_once
from heapsmith.bench.programs.micro_programs import ceiling
from heapsmith.bench.replay.replay import replay_once
from heapsmith.bench.replay.script import write_script
from heapsmith.model.files import scratch


class Share(msgspec.Struct, frozen=True):
    """CPU times in ns: of glibc's malloc and free on the trace, and of the program as it is.

    `malloc_ns` is a replay of the trace that touches no block, less the same replay under a malloc
    that returns one static buffer (the ceiling `empty`), which leaves the replay's own loop. Such a
    malloc has the caches to itself. `touched_ns` is a replay that touches each line of each block,
    less the same loop: page faults and misses are in it, of which the program has some with any
    malloc. The two bound what malloc takes in the program. All are medians of the same rounds.
    """

    malloc_ns: float
    touched_ns: float
    program_ns: float

    def parts(self) -> tuple[float, float]:
        """The bounds as shares of the program's time, from 0 to 1."""
        shares = [ns / max(1.0, self.program_ns) for ns in (self.malloc_ns, self.touched_ns)]
        low, high = sorted(min(1.0, max(0.0, share)) for share in shares)
        return low, high

    def sentence(self) -> str:
        """What to expect of any malloc at most."""
        low, high = (f"{part:.0%}" for part in self.parts())
        touched = "" if low == high else f", {high} with the first touch of each block"
        return (
            f"glibc's malloc and free take about {low} of the program's CPU time{touched}. "
            "Expect no malloc to save more than that."
        )


def malloc_share(command: list[str], trace: Path, stop: Stop, progress: Progress) -> Share:
    """Interleave runs of the command with replays of its trace.

    The replays are under glibc, untouched and touched, and under no malloc. Raises what run_once
    and replay_once raise.
    """
    glibc, nothing = find_library(GLIBC), ceiling("empty")
    program = find_program(command)
    with scratch() as folder:
        script = folder / "script"
        write_script(trace, script, progress)
        runs: dict[str, Callable[[], int]] = {
            "itself": lambda: run_once(program, command, glibc, os.environ, folder).used.cpu_ns,
            "glibc": lambda: replay_once(script, glibc, touch="none").cpu_ns,
            "glibc, touched": lambda: replay_once(script, glibc).cpu_ns,
            "no malloc": lambda: replay_once(script, nothing, touch="none").cpu_ns,
        }
        calls = list(runs.values())
        taken = interleaved("malloc's share", list(runs), stop, lambda entry: calls[entry](), progress).runs
    own, alone, touched, loop = taken
    return Share(
        malloc_ns=_median_less(alone, loop), touched_ns=_median_less(touched, loop), program_ns=float(median(own))
    )


def _median_less(values: list[int], less: list[int]) -> float:
    """The median of the differences, round by round."""
    return float(median(value - other for value, other in zip(values, less, strict=True)))
