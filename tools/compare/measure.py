"""A real program under several mallocs: CPU and wall time, peak and average RSS, its output."""

import hashlib
import os
import shlex
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from heapsmith.model.constants import BENCHFAST
from heapsmith.model.errors import CheckFailed, HeapsmithError
from heapsmith.model.files import scratch
from heapsmith.tools.common.host_memory import resident
from heapsmith.tools.common.obstacles import find_program
from heapsmith.tools.common.other_memory import OTHER_BYTES, OtherMemory
from heapsmith.tools.common.preload import folder_for_all
from heapsmith.tools.common.preload_everywhere import preloading
from heapsmith.tools.common.process_watch import Watch
from heapsmith.tools.common.program_start import Start
from heapsmith.tools.common.ratios import Ratio, are_known, ratio
from heapsmith.tools.common.rounds import Ended, Figure, Progress, Stop, interleaved, quiet
from heapsmith.tools.common.served_share import Image, beside_malloc
from heapsmith.tools.compare.launched import Launched, launch
from heapsmith.tools.compare.own_malloc import OwnMalloc, own_malloc
from heapsmith.tools.compare.served import Served
from heapsmith.tools.peers.peers import (
    GLIBC,
    Library,
    find_libraries,
    find_library,
    names,
    placed_anew,
    require_malloc_of,
)

if TYPE_CHECKING:
    from heapsmith.model.design.design import Design

KEPT_ERRORS = 4096
"""Bytes of standard error to keep of a run."""


_KNOWING = "default"
"""A design whose library tells what memory it gave."""

LEAST_LIMIT_S, TIMES_FIRST = 10.0, 20.0
"""The limit of a run: this many seconds, or this many times the first run if that is longer."""


def limit_of(wall_ns: float) -> float:
    """The seconds after which a run is killed where another took `wall_ns`."""
    return max(LEAST_LIMIT_S, TIMES_FIRST * wall_ns / 1e9)


class Run(msgspec.Struct, frozen=True):
    """One run of a command: its resources and its output."""

    used: Launched
    output: str
    """Hash of standard output, and the program's end."""
    errors: str
    """The end of standard error."""


class Given(NamedTuple):
    """What a command is run with: `env` replaces the environment.

    everywhere: a library is preloaded also to programs that the command starts with another environment.
    """

    env: Mapping[str, str] | None = None
    everywhere: bool = False


AS_GIVEN = Given()


class Ratios(msgspec.Struct, frozen=True):
    """One library's rounds to another's, quantity by quantity."""

    cpu: Ratio
    wall: Ratio
    peak_rss: Ratio
    average_rss: Ratio

    def items(self) -> list[tuple[str, Ratio]]:
        """The quantities by their names in tables."""
        return [("CPU", self.cpu), ("time", self.wall), ("peak RSS", self.peak_rss), ("average RSS", self.average_rss)]


class MeasureRow(msgspec.Struct, frozen=True):
    """One library. `ratios` are to the table's first library, round by round.

    `runs`: the report of each counted run, of which the figures are. `same_output`: whether
    standard output and exit status equal those of the table's `output_of` in every round; None if
    these vary there already.
    """

    library: str
    path: str | None
    cpu_ns: Figure
    wall_ns: Figure
    peak_rss_bytes: Figure
    average_rss_bytes: Figure
    minor_faults: Figure
    ratios: Ratios
    exit_status: int
    signal: int
    same_output: bool | None
    note: str
    runs: list[Launched]


class MeasureTable(msgspec.Struct, frozen=True):
    """A command that ran `rounds` times under each library, interleaved; `ended` says why no more.

    `own`: paths of the shared objects of the command's own malloc, without the C library; known if
    glibc was requested. `output_of`: the row whose output the command ought to have: its own
    malloc's if there is one, else the first. `other_memory`: programs with much memory that malloc
    did not give them.
    """

    command: list[str]
    rounds: int
    ended: Ended
    own: list[str]
    output_of: str
    rows: list[MeasureRow]
    other_memory: list[OtherMemory] = []

    def differing(self) -> list[str]:
        """The libraries under which the command behaves in another way."""
        return [row.library for row in self.rows if row.same_output is False]


def run_once(
    start: Start,
    library: Library,
    folder: Path,
    *,
    limit_s: float | None = None,
    images: list[Image] | None = None,
) -> Run:
    """One run under a library with /dev/null as standard input; its output passes through files in `folder`.

    `images` gets what looks at its processes see. Raises as `launch` does.
    """
    output, errors = folder / "output", folder / "errors"
    start = start._replace(added={**start.added, **BENCHFAST, **library.settings})
    with (
        folder_for_all(folder) as place,
        placed_anew(library, place) as placed,
        preloading(start, names(placed, place)) as (whole, files),
        output.open("wb") as stdout,
        errors.open("wb") as stderr,
    ):
        watch = Watch(files[0], start.command[0], *files[1:]) if images is not None and files else None
        used = launch(whole, folder / "report", limit_s, stdout=stdout, stderr=stderr, watch=watch)
        if images is not None and watch is not None:
            images += watch.images()
    with output.open("rb") as written:
        digest = hashlib.file_digest(written, "sha256").hexdigest()
    with errors.open("rb") as written:
        written.seek(max(0, written.seek(0, os.SEEK_END) - KEPT_ERRORS))
        said = written.read().decode(errors="replace")
    return Run(used, f"{digest} {used.exit_status} {used.signal}", said)


QUANTITIES = ("cpu_ns", "wall_ns", "peak_rss_bytes", "average_rss_bytes")


def ratios(its: Sequence[Launched], first: Sequence[Launched]) -> Ratios:
    """The ratios of two libraries' runs of the same rounds."""
    return Ratios(*(ratio(*([getattr(run, name) for run in runs] for runs in (its, first))) for name in QUANTITIES))


def is_known(runs: Sequence[Sequence[Run]], *, pivot: int) -> bool:
    """Whether the intervals of CPU time and peak RSS to the entry `pivot` are all narrow."""
    series = [[[getattr(run.used, name) for run in its] for its in runs] for name in ("cpu_ns", "peak_rss_bytes")]
    pairs = ((its, of[pivot]) for of in series for entry, its in enumerate(of) if entry != pivot)
    return are_known(len(runs[0]), pairs)


def same_output(runs: Sequence[Run], wanted: Sequence[Run]) -> bool | None:
    """Whether outputs and ends of runs are those wanted; None if the outputs wanted vary.

    A run that ends as no wanted run does is different even then.
    """
    ends = {(run.used.exit_status, run.used.signal) for run in wanted}
    if any((run.used.exit_status, run.used.signal) not in ends for run in runs):
        return False
    outputs = {run.output for run in wanted}
    return None if len(outputs) > 1 else all(run.output in outputs for run in runs)


def measured_row(
    library: Library, runs: Sequence[Run], first: Sequence[Run], same: bool | None, note: str
) -> MeasureRow:
    """A row from the runs of a library and of the first library; see MeasureRow for `same`."""
    used = [run.used for run in runs]
    killed = next((u.signal for u in used if u.signal), 0)
    left = max(u.left for u in used)
    many = f"{left} process{'es' * (left > 1)}"
    notes = [
        note,
        f"killed by {signal.Signals(killed).name}" if killed else "",
        f"{many} went on after the command's end: what came then is in no figure, and may slow the next run"
        if left
        else "",
    ]
    cpu, wall, peak, average = (Figure.of([getattr(u, name) for u in used]) for name in QUANTITIES)
    return MeasureRow(
        library=library.name,
        path=str(library.path) if library.path is not None else None,
        cpu_ns=cpu,
        wall_ns=wall,
        peak_rss_bytes=peak,
        average_rss_bytes=average,
        minor_faults=Figure.of([u.minor_faults for u in used]),
        ratios=ratios(used, [run.used for run in first]),
        exit_status=next((u.exit_status for u in used if u.exit_status), 0),
        signal=killed,
        same_output=same,
        note="; ".join(note for note in notes if note),
        runs=used,
    )


Variants = Callable[[Library], list[Library]]
"""The rows that a library becomes: itself, and itself with settings."""


def as_it_is(library: Library) -> list[Library]:
    """The library alone."""
    return [library]


def _rows_of(library: Library, own: OwnMalloc, variants: Variants) -> list[Library]:
    """The rows of a library of `measure`."""
    found = own.baselines() if library.name == GLIBC else [own.of_glibc(library)]
    return [row for one in found for row in ([one] if one.is_own else variants(one))]


class _Runs:
    """The runs of a command, looked at until it is known what a library serves.

    Without `limit_s` the limit of the other runs follows from the first.
    """

    def __init__(
        self, start: Start, libraries: Sequence[Library], folder: Path, must_succeed: bool, limit_s: float | None
    ) -> None:
        self._start, self._libraries, self._folder = start, libraries, folder
        self._must_succeed, self._limit_s = must_succeed, limit_s
        self.served = [Served(library, start.command[0]) for library in libraries]

    def run(self, entry: int) -> Run:
        """One run under the library of that number."""
        library, served, command = self._libraries[entry], self.served[entry], list(self._start.command)
        try:
            done = run_once(self._start, library, self._folder, limit_s=self._limit_s, images=served.images())
        except CheckFailed as error:
            raise CheckFailed(f"{command[0]} under {library.name}: {error}") from error
        if self._must_succeed:
            _require_success(done.used, command, library)
        served.ran(done.used.cpu_ns)
        self._limit_s = self._limit_s or limit_of(done.used.wall_ns)
        return done

    def other_memory(self, first: Sequence[Run]) -> list[OtherMemory]:
        """The programs with memory that malloc did not give, and that matter beside runs of the command."""
        if max(run.used.peak_rss_bytes for run in first) <= OTHER_BYTES:
            return []
        images = [image for one in self.served for image in one.seen()]
        if not any(image.beside[0] for image in images):
            with suppress(HeapsmithError):
                run_once(self._start, find_library(_KNOWING), self._folder, limit_s=self._limit_s, images=images)
        return beside_malloc(images)


def measure(
    command: list[str],
    libs: "Sequence[str | Design]",
    *,
    stop: Stop,
    pivot: int = 0,
    given: Given = AS_GIVEN,
    variants: Variants = as_it_is,
    must_succeed: bool = False,
    progress: Progress = quiet,
) -> MeasureTable:
    """Run `command` under each library in interleaved rounds, after a warm-up round.

    `libs`: see find_library. Without a number of rounds, `stop` also ends them once the intervals
    of CPU time and peak RSS to the library `pivot` are narrow (is_known). Standard input is
    /dev/null; standard output and error do not reach the terminal. LD_PRELOAD of the environment
    stays, behind the library. `variants` makes the rows of a library of `libs`: by
    default it alone. Wall time is from fork to the command's end, with loading. For `glibc`, one
    more run finds the command's own malloc. If this is not the C library's, `glibc` is the C
    library's malloc preloaded, and another row `own (...)`, with nothing preloaded, stands behind
    it. Where no library is a generated one, one more run of a command that is not small, under
    `default`, finds out what memory malloc gives it. Without `stop.run_limit_s` the limit of a run
    follows from the first. Raises BadInput for a missing command or library, or a command that
    LD_PRELOAD does not reach, and CheckFailed for a library that does not serve the processes that
    do the work (Served), for a run that exceeds the limit, or that fails where it `must_succeed`.
    """
    stop.check()
    libraries = find_libraries(libs)
    paths = [] if any(library.path is None for library in libraries) else [one.path for one in libraries if one.path]
    program = find_program(command, given.env, everywhere=given.everywhere, libraries=paths)
    start = Start(command, program, given.env, everywhere=given.everywhere)
    require_malloc_of(*libraries)
    with scratch() as folder:
        own = OwnMalloc([], [], operators=False)
        if any(library.path is None for library in libraries):
            progress(f"{command[0]}: whose malloc it uses", 0, 1)
            own = own_malloc(start, folder, limit_s=stop.run_limit_s)
        libraries = [row for each in libraries for row in _rows_of(each, own, variants)]
        runs = _Runs(start, libraries, folder, must_succeed, stop.run_limit_s)
        known = stop if stop.rounds is not None else stop._replace(enough=partial(is_known, pivot=pivot))
        called = [library.name for library in libraries]
        taken = interleaved(command[0], called, known, runs.run, progress, resident=lambda run: resident(run.used))
        for one in runs.served:
            one.require()
        other = runs.other_memory(taken.runs[0])
        truth = next((place for place, one in enumerate(libraries) if one.is_own), 0)
        wanted = [*taken.runs[truth]]
        if len(wanted) == 1 and not all(same_output(its, wanted) for its in taken.runs):  # perhaps it varies anyway
            wanted.append(runs.run(truth))
    rows = [
        measured_row(
            one, its, taken.runs[0], same_output(its, wanted), own.note() if one.path is None else looked.note()
        )
        for one, its, looked in zip(libraries, taken.runs, runs.served, strict=True)
    ]
    name = libraries[truth].name
    return MeasureTable(list(command), len(taken.runs[0]), taken.ended, own.objects, name, rows, other)


def _require_success(used: Launched, command: list[str], library: Library) -> None:
    """Raise CheckFailed if the run has failed."""
    if used.signal or used.exit_status:
        how = f"killed by {signal.Signals(used.signal).name}" if used.signal else f"exit status {used.exit_status}"
        raise CheckFailed(f"{shlex.join(command)}: {how} under {library.name}; expected exit status 0")
