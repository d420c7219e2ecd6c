"""Groups of a trace's sites by site, path, function or module, with names for people."""

import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np

from heapsmith.model.errors import BadInput
from heapsmith.model.policy.segregation.sites import NO_SITES
from heapsmith.model.predict.pins_at_moments import Grouped
from heapsmith.model.trace.reader import TraceReader
from heapsmith.model.trace.site_lives import I64, call_tree
from heapsmith.model.trace.stacks import CallTree
from heapsmith.tools.common.perf_map import Generated, covering, of_footer
from heapsmith.tools.common.symbols import frame_names
from heapsmith.tools.sites.functions import WRAPPERS, plain

By = Literal["site", "path", "function", "module"]


class Spot(msgspec.Struct, frozen=True, cache_hash=True):
    """A place in a function. `line` is file:line, or module+offset without debug information; `file`: with folders."""

    function: str
    line: str
    module: str
    file: str = ""

    @property
    def name(self) -> str:
        """The spot for people."""
        return self.function if self.function == self.line else f"{self.function} ({self.line})"

    @property
    def is_named(self) -> bool:
        """Whether the function is known."""
        return self.function != self.line or self.module == GENERATED


class Place(msgspec.Struct, frozen=True, order=True):
    """An instruction in a file of code, by which other tools find its names. build_id: None where the file has none.

    file: its path as it was mapped; empty: none is known, and the offset is an address. offset: of a byte of the
    instruction that called.
    """

    file: str
    build_id: str | None
    offset: int


GENERATED = "generated code"
"""The module of functions that a program generated."""

PYTHON = "py::"
"""How CPython's names begin."""

INTERPRETER = "_PyEval_EvalFrameDefault"
"""The function that runs those of Python."""

NOT_OF_PYTHON = (
    "Python functions have no names: the recorder knows those of CPython 3.8 to 3.11, and "
    "later versions name theirs with PYTHONPERFSUPPORT=1"
)

UNKNOWN = Spot("unknown", "unknown", "")
"""The spot of events without a site."""


class Groups(msgspec.Struct, frozen=True):
    """The sites of a trace in groups. stacks: how many stacks each group has. reasons: why names are missing.

    frames: of each group, for each spot of its path, the frames of `tree` that are there. spots: of each frame, the
    innermost first. wrappers, library: which functions allocate for their caller, as `callers` takes them.
    """

    by: By
    grouped: Grouped
    paths: list[tuple[Spot, ...]]  # of each group, the innermost spot first
    stacks: list[int]
    reasons: list[str]
    tree: CallTree
    frames: list[list[set[int]]]
    spots: list[list[Spot]]
    wrappers: Sequence["re.Pattern[str]"]
    library: Collection[Spot]

    def places(self, group: int) -> list[list[Place]]:
        """The instructions of each spot of a group's path."""
        return [sorted({place_of(self.tree, frame) for frame in frames}, key=str) for frames in self.frames[group]]

    def why_no_design(self, groups: Collection[int]) -> str | None:
        """Why no design tells the calls of these groups from others, or None: it sees the innermost frame alone."""
        calls = [place_of(self.tree, frame) for frame in self.tree.innermost.tolist()]
        is_own = np.isin(self.grouped.group_of_site[1:], list(groups))
        own = {calls[site] for site in np.flatnonzero(is_own)}
        if any(one.build_id is None for one in own):
            return "the file of a call has no build id"
        if any(Path(one.file).name.startswith(NO_SITES) for one in own):
            return "a design tells calls by who calls malloc, here the C++ library"
        shared = own & {calls[site] for site in np.flatnonzero(~is_own)}
        return "other rows allocate by the same call" if shared else None

    def name(self, group: int) -> str:
        """The group for people."""
        return " < ".join(shown(self.by, spot) for spot in self.paths[group])

    def innermost(self, depth: int) -> tuple["Groups", I64]:
        """The sites in groups that `depth` frames tell apart, 0: all; and of each group here its number there."""
        numbers: dict[tuple[Spot, ...], int] = {}
        number = np.array([numbers.setdefault(path[: depth or None], len(numbers)) for path in self.paths])
        stacks = np.zeros(len(numbers), np.int64)
        np.add.at(stacks, number, self.stacks)
        frames: list[list[set[int]]] = [[set() for _ in path] for path in numbers]
        for own, group in zip(self.frames, number.tolist(), strict=True):
            for here, more in zip(frames[group], own, strict=False):
                here.update(more)
        grouped = Grouped(self.grouped.trace, number[self.grouped.group_of_site], len(numbers))
        rest = self.reasons, self.tree, frames, self.spots, self.wrappers, self.library
        return Groups(self.by, grouped, list(numbers), stacks.tolist(), *rest), number


def place_of(tree: CallTree, frame: int) -> Place:
    """The place of a frame."""
    module, offset = int(tree.module[frame]), int(tree.offset[frame])
    if module < 0:
        return Place("", None, offset)
    return Place(tree.modules[module].path, tree.modules[module].build_id, offset)


def shown(by: By, spot: Spot) -> str:
    """The spot for people, as far as groups tell spots apart."""
    if spot == UNKNOWN:
        return "unknown"
    return {"function": spot.function, "module": spot.module}.get(by, spot.name)


def group_sites(
    trace: Path, by: By = "site", depth: int = 1, skip: Sequence[str] = (), only: Collection[int] | None = None
) -> Groups:
    """Group the sites of a trace; BadInput if it has no stacks, or for a `skip` that is no regular expression.

    depth: the frames of a stack that tell groups apart, behind the functions that allocate for
    their caller; 0: all. skip: more such functions. only: these sites; the others are unknown.
    """
    wrappers = [WRAPPERS, *map(pattern, skip)]
    with TraceReader(trace) as reader:
        tree = call_tree(reader)
    sites = range(1, tree.innermost.size + 1) if only is None else only
    spots, library, reasons = spots_of(trace, sites)
    numbers: dict[tuple[Spot, ...], int] = {(UNKNOWN,): 0}
    frames_of: list[list[set[int]]] = [[set()]]
    group_of_site = np.zeros(tree.innermost.size + 1, np.int64)
    for site in sites:
        frames = [frame for frame in tree.path(site) for _ in spots[frame]]
        path = [spot for frame in tree.path(site) for spot in spots[frame]]
        key = tuple(told_apart(by, spot) for spot in callers(path, wrappers, library))
        number = group_of_site[site] = numbers.setdefault(key or (UNKNOWN,), len(numbers))
        if number == len(frames_of):
            frames_of.append([set() for _ in key])
        for here, frame in zip(frames_of[number], frames[len(frames) - len(key) :], strict=False):
            here.add(frame)
    stacks = np.bincount(group_of_site[1:], minlength=len(numbers)).tolist()
    grouped = Grouped(trace, group_of_site, len(numbers))
    rest = reasons, tree, frames_of, spots, wrappers, library
    whole = Groups(by, grouped, list(numbers), stacks, *rest)
    return whole.innermost(depth)[0] if depth else whole


def pattern(text: str) -> "re.Pattern[str]":
    try:
        return re.compile(text)
    except re.error as error:
        raise BadInput(f"--skip {text}: no regular expression: {error}") from None


def spots_of(trace: Path, sites: Iterable[int] | None = None) -> tuple[list[list[Spot]], set[Spot], list[str]]:
    """The spots of each frame of a trace, the innermost inlined function first; those of the compiler's libraries; and
    why names are missing.

    sites: whose frames get names; by default all. Raises BadInput if the trace has no stacks.
    """
    with TraceReader(trace) as reader:
        tree = call_tree(reader)
        if sites is not None:
            asked = np.zeros(tree.parent.size, bool)
            at = tree.innermost[np.fromiter(sites, np.int64) - 1]
            while at.size:
                asked[at] = True
                at = np.unique(tree.parent[at])
                at = at[at >= 0]
            tree = tree._replace(module=np.where(asked, tree.module, -1), offset=np.where(asked, tree.offset, 0))
        generated = of_footer(reader.footer.extra.get("perf_map", []))
    return spots_in(tree, generated)


def spots_in(tree: CallTree, generated: list[Generated]) -> tuple[list[list[Spot]], set[Spot], list[str]]:
    """The same of a tree; generated: the functions of code that the program made."""
    places, place_of_frame = _distinct_places(tree)  # a tree has the same place in many frames
    found, reasons = frame_names(places)
    modules = [Path(one.path).name or "?" for one in tree.modules]
    spots, library = [], set[Spot]()
    runs = {
        number for number, row in zip(places.module.tolist(), found, strict=True) if row[-1].function == INTERPRETER
    }
    if not any(one.name.startswith(PYTHON) for one in generated):
        reasons += [f"{tree.modules[number].path}: {NOT_OF_PYTHON}" for number in sorted(runs)]
    for named, number, offset in zip(found, places.module.tolist(), places.offset.tolist(), strict=True):
        made = covering(generated, offset) if number < 0 else None
        if made:
            spots.append([_generated_spot(made.name)])
            continue
        module = modules[number] if number >= 0 else "?"
        line = f"{module}+{offset:#x}"
        row = [Spot(plain(one.function), one.line or line, module, one.file) for one in named]
        library |= {spot for spot, one in zip(row, named, strict=True) if one.is_of_compiler}
        if named[-1].is_of_compiler and not WRAPPERS.fullmatch(row[-1].function):
            # a function of the program, of whose inlined functions DWARF does not tell: the line is of one of these
            row[-1] = Spot(row[-1].function, line, module)
        spots.append(row)
    return [spots[place] for place in place_of_frame], library, reasons


def _distinct_places(tree: CallTree) -> tuple[CallTree, list[int]]:
    """The places of a tree, each as one stack of one frame; and of each frame the number of its place."""
    offsets, at = np.unique(tree.offset, return_inverse=True)
    kinds = len(tree.modules) + 1
    keys, place_of_frame = np.unique(at * kinds + tree.module + 1, return_inverse=True)
    alone, numbers = np.full(keys.size, -1), np.arange(keys.size)
    return CallTree(tree.modules, alone, keys % kinds - 1, offsets[keys // kinds], numbers), place_of_frame.tolist()


def _generated_spot(name: str) -> Spot:
    """The spot of a function of a map: py::NAME:FILE of CPython, or any other name."""
    at = name.find(":", len(PYTHON)) if name.startswith(PYTHON) else -1
    if at <= 0:
        return Spot(name, name, GENERATED)
    return Spot(name[:at], Path(name[at + 1 :]).name, GENERATED, name[at + 1 :])


def callers(path: list[Spot], wrappers: Sequence["re.Pattern[str]"], library: Collection[Spot]) -> list[Spot]:
    """The path without the innermost functions that allocate for their caller; the outermost one stays.

    library: spots of the compiler's libraries, which do so. A function without a name does so for one of Python.
    """
    return path[inner_wrappers(path, wrappers, library) :]


def inner_wrappers(path: list[Spot], wrappers: Sequence["re.Pattern[str]"], library: Collection[Spot]) -> int:
    """How many of the innermost functions of a path work for their caller, as `callers` says."""
    first = 0
    while first < len(path) - 1 and (
        path[first] in library or any(one.fullmatch(path[first].function) for one in wrappers)
    ):
        first += 1
    if path and path[first].function == path[first].line and path[first].module != GENERATED:
        first = next((at for at in range(first, len(path)) if path[at].function.startswith(PYTHON)), first)
    return first


def told_apart(by: By, spot: Spot) -> Spot:
    """What of a spot tells groups apart."""
    if by == "function":
        return Spot(spot.function, "", spot.module)
    return Spot("", "", spot.module) if by == "module" else spot
