"""What it costs a program to be recorded: processor time, instructions, and bytes of the trace beside heaptrack's.

python -m heapsmith.bench.studies.recording [--out FILE] runs programs alone, under the recorder and under the recorder
with call stacks, by turns in random order; without --out it prints the committed figures.
"""

import os
import random
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

import msgspec

from heapsmith.bench.common.command import exit_with
from heapsmith.bench.common.commit import commit, today
from heapsmith.bench.common.study import Measure, Only
from heapsmith.bench.programs.instructions import events
from heapsmith.bench.programs.programs import PERL, job, programs
from heapsmith.bench.programs.recorder_paths import hurried
from heapsmith.model.errors import CheckFailed, Missing
from heapsmith.model.files import write_json
from heapsmith.tools.common.tables import Words, section
from heapsmith.tools.record.record import SPOOL_VARIABLE, build_recorder, record

DATA = Path(__file__).with_suffix(".json")
ROUNDS, FRAMES = 5, 64
SCALES = {"perl": 3.0, "jq": 1.0, "sqlite3": 8.0, "documents": 1.0, "xsltproc": 1.0, "gawk": 1.0, "z3": 1.0}
"""Of programs.py: the inputs' size, for a million events or so; but z3 seldom allocates."""
PART = 0.02
"""Of these jobs, for the counts of instructions: callgrind is slow."""
MOST_LUA, MOST_MEDIAN = 1.25, 1.05
"""What is aimed at: the processor time of lua_tables.lua, and that of the median program, to the program alone."""


class Job(NamedTuple):
    """A command without a program before it that starts it."""

    name: str
    words: list[str]
    variables: dict[str, str]

    def environment(self, **more: str) -> dict[str, str]:
        """The environment of a run."""
        return os.environ | self.variables | more


class Row(msgspec.Struct, frozen=True):
    """A program. Times are of its processor (user and system); a ratio is the median of those of ROUNDS rounds.

    instructions and those that follow are of a fiftieth of the work, in user space; those of the recorder hold for
    events that come fast.
    """

    program: str
    events: int
    alone_s: float
    recorded: float
    with_stacks: float
    instructions: int
    recorded_instructions: int
    stacks_instructions: int
    trace_bytes: int
    stacks_trace_bytes: int
    heaptrack_bytes: int


class Report(msgspec.Struct, frozen=True):
    """All rows, and when and at which commit they were made."""

    date: str
    commit: str
    rows: list[Row]


def jobs(folder: Path, part: float = 1) -> Iterator[Job]:
    """The programs that are installed; part: of the whole work."""
    if shutil.which("lua5.4"):
        yield Job("lua", ["lua5.4", *job("lua_tables.lua", round(250_000 * part))], {})
    for name, scale in SCALES.items():
        (program,) = (one for one in programs(folder / name, scale=scale * part) if one.name == name)
        words = list(program.command)
        pairs = [word.partition("=")[::2] for word in words if words[0] == "env" and "=" in word and " " not in word]
        if name == "perl":  # heaptrack takes no script of several lines as an argument
            script = folder / "count.pl"
            script.write_text(PERL)
            words = ["perl", str(script), words[-1]]
        if not program.lacks():
            yield Job(name, words, dict(pairs))
    python = shutil.which("python3", path="/usr/bin")
    if python:
        own = str(Path(programs.__code__.co_filename).with_name("user_job.py"))
        words = [python, own, "--rounds", "1", "--size", str(round(12_000 * part))]
        yield Job("python3", words, {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"})


def spent_s(words: Sequence[str], environment: dict[str, str]) -> float:
    """The processor time of a command in seconds."""
    void = subprocess.DEVNULL
    with subprocess.Popen(words, env=environment, stdin=void, stdout=void, stderr=void) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise CheckFailed(f"{words[0]}: exit status {process.returncode}, 0 was expected")
    return usage.ru_utime + usage.ru_stime


def times(of: Job, folder: Path) -> tuple[float, float, float]:
    """The time alone, and the ratios of the recorder's without and with stacks."""
    libraries = {"alone": None, "recorded": build_recorder(), "stacks": build_recorder(FRAMES)}
    found: dict[str, list[float]] = {name: [] for name in libraries}
    for _ in range(ROUNDS):
        for name in random.sample(list(libraries), len(libraries)):
            with TemporaryDirectory(dir=folder) as spool:
                preload = {"LD_PRELOAD": str(libraries[name]), SPOOL_VARIABLE: spool} if libraries[name] else {}
                found[name].append(spent_s(of.words, of.environment(**preload)))
    ratios = [median(map(float.__truediv__, found[name], found["alone"])) for name in ("recorded", "stacks")]
    return median(found["alone"]), ratios[0], ratios[1]


def instructions(of: Job, folder: Path) -> list[int]:
    """Alone, recorded, and recorded with stacks; zeros if callgrind does not end in time."""
    tool = Path(shutil.which(of.words[0]) or of.words[0]).resolve()
    found = []
    with TemporaryDirectory(dir=folder) as spool:
        kept = dict(os.environ)
        os.environ.update(of.environment(**{SPOOL_VARIABLE: spool}))
        try:
            for library in (None, hurried(0), hurried(FRAMES)):
                found.append(int(events(library, tool, *of.words[1:])[0]))
        except CheckFailed:
            return [0, 0, 0]
        finally:
            os.environ.clear()
            os.environ.update(kept)
    return found


class Files(NamedTuple):
    """How many events a program has, its traces without and with stacks, and heaptrack's file."""

    events: int
    plain: Path
    stacks: Path
    heaptrack: Path


def recordings(of: Job, folder: Path) -> Files:
    """Record a program in each way."""
    void = subprocess.DEVNULL
    words = ["env", *(f"{name}={value}" for name, value in of.variables.items()), *of.words]
    plain = record(words, folder / "plain.hst", stdin=void, stdout=void, stderr=void).traces[0]
    stacks = record(words, folder / "stacks.hst", stacks=FRAMES, stdin=void, stdout=void, stderr=void).traces[0]
    tracked = ["heaptrack", "-o", str(folder / "heaptrack"), *of.words]
    subprocess.run(tracked, env=of.environment(), stdin=void, stdout=void, stderr=void, check=True)
    (other,) = folder.glob("heaptrack.*")
    return Files(plain.events, Path(plain.path), Path(stacks.path), other)


def row(of: Job, part: Job) -> Row:
    """All figures of a program; its part has the instructions."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        many, *files = recordings(of, folder)
        found = [file.stat().st_size for file in files]
        return Row(of.name, many, *times(of, folder), *instructions(part, folder), *found)


def table(of: Report) -> Words:
    """The rows as a table."""
    columns = [
        *("program", "events", "alone", "recorded", "stacks", "instructions", "stacks'"),
        *("bytes an event", "with stacks", "heaptrack"),
    ]
    cells = [
        [
            *(
                one.program,
                f"{one.events:,}",
                f"{one.alone_s:.2f} s",
                f"{one.recorded:.2f}x",
                f"{one.with_stacks:.2f}x",
            ),
            *(
                f"{count / one.instructions:.2f}x" if one.instructions else "-"
                for count in (one.recorded_instructions, one.stacks_instructions)
            ),
            *(f"{size / one.events:.2f}" for size in (one.trace_bytes, one.stacks_trace_bytes, one.heaptrack_bytes)),
        ]
        for one in of.rows
    ]
    return Words("", columns, cells)


def misses(rows: Sequence[Row]) -> list[str]:
    """Which aims the figures miss."""
    found = [f"{one.program}: {one.recorded:.2f}x" for one in rows if "lua" in one.program and one.recorded > MOST_LUA]
    middle = median(one.recorded for one in rows)
    return found + ([f"the median program: {middle:.2f}x"] if middle > MOST_MEDIAN else [])


def main(out: Measure = None, only: Only = None) -> int:
    """Measure, or take the committed figures, and print them."""
    if out:
        if shutil.which("heaptrack") is None:
            raise Missing("heaptrack not found on PATH (Debian: apt install heaptrack)")
        report = Report(today(), commit(), [])
        with TemporaryDirectory() as folder:
            pairs = zip(jobs(Path(folder) / "whole"), jobs(Path(folder) / "part", PART), strict=True)
            for whole, part in pairs:
                if not only or whole.name in only:
                    report.rows.append(row(whole, part))
                    write_json(out, report)  # the measurement takes long
        if not report.rows:
            raise Missing("none of the programs is installed")
    else:
        report = msgspec.json.decode(DATA.read_bytes(), type=Report)
    print("\n".join(section(table(report))), *misses(report.rows), sep="\n")
    return 0


if __name__ == "__main__":
    exit_with(main)
