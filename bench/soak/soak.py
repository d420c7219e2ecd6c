"""The soak: a load of repeating phases, under designs and glibc; fragmentation must not grow.

python -m heapsmith.bench.soak.soak [--minutes 30] [--design default]... [--json FILE], or make soak

Fragmentation is RSS / live bytes: RSS beyond the program's own tables, and requested live bytes. It
is compared at the ends of phases, when the load is the same as in other cycles and the program is
at rest. For each kind of phase, the median of the last third of the cycles must not exceed GROWTH
times that of the second third. The first third is ignored: a heap may need time to reach its size.
"""

import subprocess
import tempfile
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Annotated

import msgspec
import typer

from heapsmith.bench.common.command import exit_with
from heapsmith.codegen.built import library_of
from heapsmith.codegen.toolchain import build_tool
from heapsmith.model.design.design import load
from heapsmith.model.errors import BadInput, CheckFailed
from heapsmith.model.files import scratch, write_json
from heapsmith.tools.common.preload import preloadable
from heapsmith.tools.common.tables import Words, draw
from heapsmith.tools.common.units import amount

PROGRAM = Path(__file__).with_name("soak.c")
FLAGS = ["-std=gnu17", "-O2", "-g", "-Wall", "-Wextra", "-pthread"]
GLIBC = "glibc"
GROWTH = 1.15
PHASES = ("steady", "growth", "shrink", "shift", "churn")
LEAST_CYCLES = 6  # two cycles in each third
ROWS = 15  # of the table over time


class Sample(msgspec.Struct, frozen=True):
    """The program at one moment. `at_rest`: at the end of the phase, while no thread allocates."""

    elapsed_ms: int
    cycle: int
    phase: str
    live_bytes: int
    live_blocks: int
    rss_bytes: int
    fragmentation: float
    at_rest: bool


class Verdict(msgspec.Struct, frozen=True):
    """One kind of phase: the median fragmentation of each third of the cycles, and the verdict."""

    phase: str
    first_third: float
    second_third: float
    last_third: float
    grows: bool


class Soak(msgspec.Struct, frozen=True):
    """One allocator; its samples' RSS includes `base_bytes`, the RSS before the first block."""

    allocator: str
    base_bytes: int
    cycles: int
    verdicts: list[Verdict]
    samples: list[Sample]


class Load(msgspec.Struct, frozen=True):
    """The program's arguments in their order; its threads work `duty_percent` of the time and sleep the rest."""

    seconds: int
    threads: int
    live_mib: int
    duty_percent: int
    sample_ms: int


def soak(designs: list[str], how: Load) -> list[Soak]:
    """Run the load under each design and under glibc at once, so that all see the same machine.

    Raises BadInput for an unknown design, Missing and CheckFailed as `build` does, and CheckFailed
    if the program fails under an allocator or runs too few cycles to judge.
    """
    program = build_tool("soak", [PROGRAM], FLAGS)
    libraries = {name: library_of(load(name)) for name in designs}
    with scratch() as folder:
        running: dict[str, subprocess.Popen[bytes]] = {}
        try:
            for name in [*libraries, GLIBC]:
                running[name] = _start(program, how, libraries.get(name), folder / str(len(running)))
            return [_finished(name, run, folder / str(place)) for place, (name, run) in enumerate(running.items())]
        finally:
            for run in running.values():
                run.kill()
                run.wait()


def _start(program: Path, how: Load, library: Path | None, out: Path) -> subprocess.Popen[bytes]:
    options = map(str, msgspec.structs.astuple(how))
    preload = [f"LD_PRELOAD={preloadable(library)}"] if library is not None else []
    with out.open("wb") as stdout, out.with_suffix(".err").open("wb") as stderr:
        return subprocess.Popen(["env", *preload, str(program), *options], stdout=stdout, stderr=stderr)


def _finished(name: str, run: subprocess.Popen[bytes], out: Path) -> Soak:
    status = run.wait()
    said = out.with_suffix(".err").read_text(errors="replace").strip().splitlines()
    if status != 0 or said:
        raise CheckFailed(f"{name}: the soak program ends with status {status}: {said[0] if said else 'no message'}")
    return parse(name, out.read_text())


def parse(name: str, text: str) -> Soak:
    """Parse the soak program's output. Raises CheckFailed for fewer than LEAST_CYCLES cycles."""
    head, *lines = text.splitlines()
    base = int(head.removeprefix("base "))
    samples = [_sample(line.split(), base) for line in lines]
    cycles = sum(sample.at_rest and sample.phase == PHASES[-1] for sample in samples)
    if cycles < LEAST_CYCLES:
        raise CheckFailed(f"{name}: {cycles} whole cycles are too few to judge; expected {LEAST_CYCLES}: run it longer")
    verdicts = [_verdict(phase, [s for s in samples if s.at_rest and s.cycle < cycles]) for phase in PHASES]
    return Soak(name, base, cycles, verdicts, samples)


def _sample(words: list[str], base: int) -> Sample:
    elapsed, cycle, live, blocks, rss = (int(words[place]) for place in (0, 1, 3, 4, 5))
    used = max(rss - base, 0)
    return Sample(elapsed, cycle, words[2], live, blocks, used, round(used / max(live, 1), 4), words[6] == "1")


def _verdict(phase: str, at_rest: list[Sample]) -> Verdict:
    found = [sample.fragmentation for sample in at_rest if sample.phase == phase]
    cuts = [len(found) * third // 3 for third in range(4)]
    first, second, last = (round(median(found[a:b]), 4) for a, b in pairwise(cuts))
    return Verdict(phase, first, second, last, last > GROWTH * second)


def show(found: list[Soak]) -> None:
    """Print two tables: RSS and fragmentation over time, and the verdicts."""
    heads = [f"{soak.allocator} {what}" for soak in found for what in ("RSS", "RSS/live")]
    over_time = []
    end_ms = max(soak.samples[-1].elapsed_ms for soak in found) + 1
    for row in range(ROWS):
        slice_ms = range(end_ms * row // ROWS, end_ms * (row + 1) // ROWS)
        cells = [cell for soak in found for cell in _slice(soak, slice_ms)]
        over_time.append([f"{slice_ms.start / 1000:.0f}-{slice_ms.stop / 1000:.0f}", *cells])
    judged = []
    for soak in found:
        for verdict in soak.verdicts:
            thirds = [f"{value:.3f}" for value in (verdict.first_third, verdict.second_third, verdict.last_third)]
            ratio = verdict.last_third / verdict.second_third if verdict.second_third > 0 else 1.0
            mark = "grows" if verdict.grows else ""
            judged.append([soak.allocator, str(soak.cycles), verdict.phase, *thirds, f"{ratio:.3f}", mark])
    draw(Words("over time", ("seconds", *heads), over_time))
    heads = ["allocator", "cycles", "<phase", "1st third", "2nd third", "last third", "last/2nd", "<"]
    draw(Words("RSS over live bytes at rest", heads, judged))


def _slice(soak: Soak, slice_ms: range) -> tuple[str, str]:
    """Medians of the samples in that time, one per row of the table; dashes without samples."""
    within = [sample for sample in soak.samples if sample.elapsed_ms in slice_ms]
    if not within:
        return "-", "-"
    return amount(median(s.rss_bytes for s in within)), f"{median(s.fragmentation for s in within):.3f}"


def _check_writable(out: Path) -> None:
    """Raise BadInput before the long run if the file cannot be written."""
    try:
        with tempfile.TemporaryFile(dir=out.absolute().parent):
            pass
    except OSError as error:
        raise BadInput(f"{out}: cannot be written: {error.strerror}") from None


def main(
    minutes: Annotated[float, typer.Option(metavar="N", min=0.1, max=1e6, help="Duration.")] = 30.0,
    threads: Annotated[int, typer.Option(metavar="N", min=1, max=64, help="Worker threads.")] = 4,
    live: Annotated[int, typer.Option(metavar="MIB", min=1, max=1 << 20, help="Most live bytes.")] = 256,
    duty: Annotated[int, typer.Option(metavar="PERCENT", min=1, max=100, help="Share of time that they work.")] = 100,
    sample_ms: Annotated[int, typer.Option(metavar="N", min=1, help="Time between samples.")] = 1000,
    design: Annotated[list[str], typer.Option(metavar="D", help="A design besides glibc; repeat it.")] = ["default"],  # noqa: B006
    json: Annotated[Path | None, typer.Option(metavar="FILE", dir_okay=False, help="Write every sample to it.")] = None,
) -> int:
    """The soak: exits with 1 if fragmentation grows under a design."""
    if GLIBC in design or len(set(design)) < len(design):
        raise BadInput("--design: expected designs, each once; glibc is always run")
    if live < threads:
        raise BadInput(f"--live: {live} MiB for {threads} threads; expected at least 1 MiB for each")
    if json is not None:
        _check_writable(json)
    how = Load(round(minutes * 60), threads, live, duty, sample_ms)
    found = soak(design, how)
    show(found)
    if json is not None:
        write_json(json, {"load": how, "growth_allowed": GROWTH, "soaks": found})
    return int(any(verdict.grows for soak in found if soak.allocator != GLIBC for verdict in soak.verdicts))


if __name__ == "__main__":
    exit_with(main)
