"""Traces of other tools, from the file to the measurement: import, simulate, tune, generate, verify, replay.

python -m heapsmith.bench.gates.public_traces FOLDER [--keep DIR] [--rounds N] [--json], or
make public-traces TRACES=FOLDER
"""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec
import typer

from heapsmith.bench.common.command import exit_with
from heapsmith.model.errors import BadInput, CheckFailed
from heapsmith.model.files import scratch
from heapsmith.tools.common.tables import Words, draw
from heapsmith.tools.common.units import amount

GLIBC, DEFAULT = "glibc", "default"
NO_TRACE = ".md"
"""How the names of files end that tell about the traces of their folder."""


class Library(msgspec.Struct, frozen=True):
    """What a replay measured; parts of glibc's in the same rounds."""

    library: str
    ns_per_op: float
    time: float
    time_low: float
    time_high: float
    peak_rss: float
    average_rss: float


class Trace(msgspec.Struct, frozen=True):
    """What became of a file; predictions for the tuned design are parts of the default's."""

    name: str
    format: str
    events: int
    threads: int
    peak_live_bytes: int
    default_peak: float  # its committed bytes at the peak, as simulated, as a part of the peak live bytes
    predicted_time: float
    predicted_peak: float
    predicted_average: float
    kept_default: bool
    verified: bool  # both libraries did what the model does
    measured: list[Library]


class _Median(msgspec.Struct):
    median: float
    low: float = 0
    high: float = 0


class _Info(msgspec.Struct):
    source: str
    events: int
    threads: int
    peak_live_bytes: int


class _OfDesign(msgspec.Struct):
    peak_ratio: float


class _Simulated(msgspec.Struct):
    rows: list[_OfDesign]


class _OnTrace(msgspec.Struct):
    ratios: dict[str, float]


class _Tuned(msgspec.Struct):
    kept_base: bool
    traces: list[_OnTrace]


class _Verified(msgspec.Struct):
    ok: bool


class _OfLibrary(msgspec.Struct):
    library: str
    ns_per_op: _Median
    time_ratio: _Median
    rss_ratio: _Median
    average_ratio: _Median


class _Replayed(msgspec.Struct):
    rows: list[_OfLibrary]


Result = TypeVar("Result")


def heapsmith(kind: type[Result], *words: str | Path) -> Result:
    """Return what a command prints with --json, also if a check failed in it. Raises CheckFailed for other failures."""
    command = [sys.executable, "-m", "heapsmith", *map(str, words), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, CheckFailed.exit_code) or not done.stdout:
        said = done.stderr.strip().splitlines() or [f"it ended with status {done.returncode}"]
        raise CheckFailed(f"heapsmith {' '.join(map(str, words))}: {said[-1]}")
    return msgspec.json.decode(done.stdout, type=kind)


def kept(file: Path, kind: type[Result], make: Callable[[], Result]) -> Result:
    """Return the result in a file, or else make it and write it there."""
    if file.exists():
        return msgspec.json.decode(file.read_bytes(), type=kind)
    made = make()
    file.write_bytes(msgspec.json.encode(made))
    return made


def done_with(source: Path, folder: Path, rounds: int, simulations: int | None) -> Trace:
    """Take a file from the import to the measurement. The folder keeps what a second run need not do again."""
    name = source.name.partition(".")[0]
    trace, design = folder / f"{name}.hst", folder / f"{name}.toml"
    if not trace.exists():
        heapsmith(dict, "trace", "import", source, "-o", trace)
    info = heapsmith(_Info, "trace", "info", trace)
    simulated = heapsmith(_Simulated, "simulate", trace, "--design", DEFAULT).rows[0]
    limit = () if simulations is None else ("--simulations", str(simulations))
    tuned = kept(folder / f"{name}.tuned.json", _Tuned, lambda: heapsmith(_Tuned, "tune", trace, "-o", design, *limit))
    heapsmith(dict, "generate", design, "-o", folder / f"{name}.c")
    verified = kept(
        folder / f"{name}.verified.json",
        _Verified,
        lambda: _Verified(all(heapsmith(_Verified, "verify", one, trace).ok for one in (DEFAULT, design))),
    )
    libraries = [word for library in (GLIBC, DEFAULT, design) for word in ("--lib", library)]
    replayed = heapsmith(_Replayed, "replay", trace, "--rounds", str(rounds), *libraries)
    ratios = tuned.traces[0].ratios
    return Trace(
        name=name,
        format=info.source,
        events=info.events,
        threads=info.threads,
        peak_live_bytes=info.peak_live_bytes,
        default_peak=simulated.peak_ratio,
        predicted_time=ratios["time"],
        predicted_peak=ratios["peak"],
        predicted_average=ratios["average"],
        kept_default=tuned.kept_base,
        verified=verified.ok,
        measured=[_library(row) for row in replayed.rows],
    )


def _library(row: _OfLibrary) -> Library:
    time = row.time_ratio
    ratios = (time.median, time.low, time.high, row.rss_ratio.median, row.average_ratio.median)
    return Library(row.library, row.ns_per_op.median, *ratios)


def tables(rows: list[Trace]) -> list[Words]:
    """Return what was predicted and checked, and what was measured."""
    predicted = [
        (
            *(row.name, row.format, f"{row.events:,}", str(row.threads), amount(row.peak_live_bytes)),
            *(f"{row.default_peak:.2f}", f"{row.predicted_time:.3f}", f"{row.predicted_peak:.3f}"),
            *(f"{row.predicted_average:.3f}", "yes" if row.verified else "NO"),
        )
        for row in rows
    ]
    measured = []
    for row in rows:
        glibc, *others = row.measured
        for of, what in zip(others, ("default", "default, kept" if row.kept_default else "tuned"), strict=True):
            times = f"{of.time:.2f} ({of.time_low:.2f} to {of.time_high:.2f})"
            cells = (f"{glibc.ns_per_op:.1f} ns", times, f"{of.peak_rss:.2f}", f"{of.average_rss:.2f}")
            measured.append((row.name if of is others[0] else "", what, *cells))
    first = ("trace", "<format", "events", "threads", "peak live", "default's peak", "tuned: time", "peak", "average")
    second = ("trace", "<design", "glibc's time", "time", "peak RSS", "average RSS")
    return [
        Words("predicted: committed peak to live, then parts of the default's", (*first, "verified"), predicted),
        Words("measured: time per operation, then parts of glibc's", second, measured),
    ]


def main(
    traces: Annotated[Path, typer.Argument(metavar="FOLDER", help="The files, of formats that import knows.")],
    keep: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep traces and designs here, and use them.")
    ] = None,
    rounds: Annotated[int, typer.Option(min=2, help="Rounds of the replays.")] = 7,
    simulations: Annotated[int | None, typer.Option(min=1, help="Of a search. Default: as long as tune takes.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> int:
    """Take each file of a folder from the import to the measurement; status 1 if library and model differ."""
    files = sorted(file for file in traces.rglob("*") if file.is_file() and file.suffix != NO_TRACE)
    if not files:
        raise BadInput(f"{traces}: expected a folder with traces of other tools")
    with scratch() as folder:
        if keep is not None:
            keep.mkdir(parents=True, exist_ok=True)
        rows = [done_with(file, keep or folder, rounds, simulations) for file in files]
    if json:
        print(msgspec.json.encode(rows).decode())
    else:
        for table in tables(rows):
            draw(table)
    return 0 if all(row.verified for row in rows) else 1


if __name__ == "__main__":
    exit_with(main)
