"""The baseline of `heapsmith check`: a program's figures over several runs, whole and by function."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import msgspec
import numpy as np

from heapsmith.model.errors import BadInput
from heapsmith.model.files import JSON_FAULTS
from heapsmith.model.predict.pins_at_moments import site_lives
from heapsmith.model.predict.simulate import Progress
from heapsmith.model.search.workload import Workload
from heapsmith.model.toml_text import read_text
from heapsmith.tools.ci.verdict import below
from heapsmith.tools.sites.grouping import Spot, group_sites

VERSION = 1
"""The format of a baseline file."""

FIGURES = {
    "allocations": "requests",
    "bytes asked for": "bytes",
    "peak bytes": "peak_bytes",
    "peak blocks": "peak_blocks",
    "bytes at the end": "live_bytes",
    "blocks at the end": "live_blocks",
}
"""The figures of a run, and what the lives of blocks call them."""

LEAST_SHARE = 0.001
"""Functions with less of every figure are left out of a baseline."""


class Range(msgspec.Struct, frozen=True, array_like=True):
    """A figure over several runs."""

    least: int
    most: int

    @property
    def spread(self) -> float:
        """How far the runs lie apart, as a share of the most."""
        return (self.most - self.least) / self.most if self.most else 0.0


NOTHING = Range(0, 0)


class Function(msgspec.Struct, frozen=True):
    """A function that asks for memory. figures: in the order of FIGURES; file: below the root, or ""."""

    name: str
    module: str
    file: str
    line: int
    figures: tuple[Range, ...]


class Baseline(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a program asked for in several runs. figures: of the whole, in the order of FIGURES."""

    version: int
    command: list[str]
    runs: int
    figures: dict[str, Range]
    functions: list[Function]
    workload: Workload


class Counted(msgspec.Struct, frozen=True):
    """The figures of one run by function, and where each function asks for most below the root."""

    of: dict[tuple[str, str], tuple[int, ...]]
    places: dict[tuple[str, str], tuple[str, int]]

    def sums(self) -> list[int]:
        """The figures of the whole."""
        return [sum(column) for column in zip(*self.of.values(), strict=True)]


def counted(trace: Path, root: Path, progress: Progress | None = None) -> Counted:
    """Return the figures of a trace with stacks by function."""
    paths = group_sites(trace, "site", 0)
    lives = site_lives(paths.grouped, progress).groups
    made = np.flatnonzero(lives["requests"])
    rows = np.stack([lives[field][made] for field in FIGURES.values()], axis=1)
    heaviest = np.argsort(-rows[:, 1], kind="stable").tolist()  # first the stacks that ask for most bytes
    of: dict[tuple[str, str], tuple[int, ...]] = {}
    places: dict[tuple[str, str], tuple[str, int]] = {}
    for at in heaviest:
        path = paths.paths[made[at]]
        key, row = (path[0].function, path[0].module), rows[at].tolist()
        of[key] = tuple(sum(pair) for pair in zip(of[key], row, strict=True)) if key in of else tuple(row)
        if key not in places and (place := place_below(root, path)):
            places[key] = place
    return Counted(of, places)


def place_below(root: Path, path: Sequence[Spot]) -> tuple[str, int] | None:
    """The innermost place of a stack whose file lies below the root: its path from there, and its line."""
    for spot in path:
        if file := _source(root, spot.file):
            number = spot.line.rpartition(":")[2]
            return file, max(1, int(number)) if number.isdecimal() else 1
    return None


@cache
def _source(root: Path, file: str) -> str:
    """A source file as seen from the root, or "" if there is none below it: compilers also write relative paths."""
    path = below(root, file)
    return path if path and (root / path).is_file() else ""


def summed(command: list[str], runs: Sequence[Counted], workload: Workload) -> Baseline:
    """Return the figures of several runs as ranges; of functions those with a share of any figure."""
    whole = [ranged(column) for column in zip(*(run.sums() for run in runs), strict=True)]
    places = {key: place for run in reversed(runs) for key, place in run.places.items()}
    nothing, functions = (0,) * len(FIGURES), []
    for name, module in sorted({key for run in runs for key in run.of}):
        ranges = tuple(map(ranged, zip(*(run.of.get((name, module), nothing) for run in runs), strict=True)))
        if any(one.most > LEAST_SHARE * all_.most for one, all_ in zip(ranges, whole, strict=True)):
            functions.append(Function(name, module, *places.get((name, module), ("", 0)), ranges))
    return Baseline(VERSION, command, len(runs), dict(zip(FIGURES, whole, strict=True)), functions, workload)


def ranged(values: Sequence[int]) -> Range:
    """Return the range of some values."""
    return Range(min(values), max(values))


def read_baseline(path: Path) -> Baseline:
    """Return a baseline; BadInput if the file is none of `heapsmith check`."""
    try:
        found = msgspec.json.decode(read_text(path, str(path)), type=Baseline)
    except JSON_FAULTS as error:
        raise BadInput(f"{path}: no baseline that `heapsmith check` wrote: {error}") from None
    if found.version != VERSION or set(found.figures) != set(FIGURES):
        raise BadInput(f"{path}: format {found.version}; expected {VERSION}: write it anew with --update")
    return found
