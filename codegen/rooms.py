"""The rooms of a design's library: the rows in use, their files of C, and the moments that they answer.

A file of the runtime takes in the header of a room's row by `#include ROOM_ROW`: plan.h says which file that is. Where
a row has several headers, of which a design's numbers choose, `#include ROOM_ROLE` takes in the one that the row's
`files(design)` gives for that role.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType

from heapsmith.codegen.layers import HEAP, INCLUDED, layers, parts
from heapsmith.model import policy
from heapsmith.model.design.plan import Plan

ASKED = re.compile(r"^#include ([A-Z_]+)\b", re.MULTILINE)
"""An include of a file that a row gives."""

TOLD = re.compile(r'\{\{ (?:tell|ask|sum)\("(\w+)"')
"""A moment, where the template of moments tells the rows of it."""


def room_of(row: ModuleType) -> str:
    """The room of a row: the folder of its files."""
    return row.__name__.split(".")[-2]


def rows(plan: Plan) -> dict[str, list[ModuleType]]:
    """The rows in use by room, in the order of the tables."""
    fronts = sorted({row.front.kind for row in plan.classes})
    used = {
        field: [policy.row(field, kind) for kind in fronts] if field == "front" else [plan.design.row(field)]
        for field in policy.TABLES
    }
    return {room_of(found[0]): found for found in used.values()}


def _each(plan: Plan) -> Iterator[ModuleType]:
    return (row for found in rows(plan).values() for row in found)


def headers(plan: Plan) -> dict[str, str]:
    """By the name under which the runtime asks for a file of a row, the file; not those that only other rows have."""
    given = ((asked, _given(asked, plan)) for asked in _asked())
    return {asked: _name(file) for asked, file in given if file is not None}


@cache
def _asked() -> tuple[str, ...]:
    files = [file for suffix in "ch" for file in HEAP.rglob(f"*.{suffix}")]
    return tuple(sorted({name for file in files for name in ASKED.findall(file.read_text())}))


def _given(asked: str, plan: Plan) -> Path | None:
    """The header of the row that a name asks for; None if the row has none of that role."""
    used = rows(plan)
    room = max((room for room in used if asked.startswith(f"{room.upper()}_")), key=len)
    role = asked[len(room) + 1 :].lower()
    stem = ({"row": used[room][0].NAME} | _files(used[room][0], plan)).get(role)
    return None if stem is None else _file(f"{room}/{stem}.h")


@cache
def _file(name: str) -> Path:
    """A file by its room and name, in whichever layer; one that is not there lies in none."""
    return next(HEAP.glob(f"*/{name}"), HEAP / name)


def _name(file: Path) -> str:
    return str(file.relative_to(HEAP))


def answers(plan: Plan, told: str) -> dict[str, list[str]]:
    """By moment, the functions of the rows that answer it, in the order of the tables.

    told: the template that calls them. Raises TypeError if it calls none for a moment: the row would do nothing there.
    """
    found: dict[str, list[str]] = {}
    known = TOLD.findall(told)
    for row in _each(plan):
        for moment in _moments(row, plan):
            if moment not in known:
                raise TypeError(f"{row.NAME}: {moment}: expected a moment of templates/moments.h.j2")
            found.setdefault(moment, []).append(f"{room_of(row)}_{moment}")
    return found


def answering(plan: Plan) -> list[str]:
    """The headers of the rows that answer moments, in the order of the tables."""
    found = []
    for row in _each(plan):
        stems = [row.NAME, _files(row, plan).get("moments")] if _moments(row, plan) else []
        files = (_file(f"{room_of(row)}/{stem}.h") for stem in stems if stem)
        found += [_name(file) for file in files if file.exists()]
    return found


def _moments(row: ModuleType, plan: Plan) -> tuple[str, ...]:
    """The moments that a row answers: all that it states, or those of the design."""
    found: tuple[str, ...] = row.moments(plan.design) if hasattr(row, "moments") else getattr(row, "MOMENTS", ())
    return found


def _files(row: ModuleType, plan: Plan) -> dict[str, str]:
    found: dict[str, str] = row.files(plan.design) if hasattr(row, "files") else {}
    return found


def sources(plan: Plan) -> list[Path]:
    """The runtime's C files that this design needs, in the order of the layers and of their parts.

    They are those of its rows, those that no header announces, and those whose header one of these includes.
    """
    roots = _roots(plan)
    wanted = roots | {header.with_suffix(".c") for header in included(roots, plan)} - _of_others(plan)
    found = (part.with_suffix(".c") for layer in layers() for part in _single_parts(layer))
    return [source for source in found if source in wanted and source.exists()]


def _single_parts(layer: Path) -> Iterator[Path]:
    """The parts of a layer or a room, those of a folder in the folder's place."""
    for part in parts(layer):
        yield from _single_parts(part) if part.is_dir() else [part]


def _roots(plan: Plan) -> set[Path]:
    lone = (part.with_suffix(".c") for layer in layers() for part in parts(layer) if not part.is_dir())
    more = {_file(f"{name}.c") for row in _each(plan) for name in getattr(row, "WITH", ())}
    unannounced = {source for source in lone if not source.with_suffix(".h").exists()}
    return {source for source in unannounced | _own(plan) | more if source.exists()}


def _own(plan: Plan) -> set[Path]:
    """The files of the rows in use; the slow paths of fronts are in the room that the row of heaps names."""
    fronts = plan.design.row("heaps").FRONTS
    return {_file(f"{fronts if hasattr(row, 'LEVELS') else room_of(row)}/{row.NAME}.c") for row in _each(plan)}


def _of_others(plan: Plan) -> set[Path]:
    """The files of rows that are not in use."""
    every = (row for table in policy.TABLES.values() for row in table)
    return {_file(f"{room_of(row)}/{row.NAME}.c") for row in every} - _own(plan)


def interfaces(plan: Plan, room: str, c_files: Iterable[Path]) -> list[str]:
    """The headers by which emitted functions use a room: the room's own, then those of its rows and of its C.

    c_files: what `sources` says of the plan.
    """
    own = [_file(f"{room}/{room}.h"), *(_file(f"{room}/{row.NAME}.h") for row in rows(plan)[room])]
    more = [source.with_suffix(".h") for source in c_files if source.parent.name == room]
    return [_name(file) for file in dict.fromkeys([*own, *more]) if file.exists()]


def included_names(text: str, given: Mapping[str, str]) -> list[str]:
    """The files that a text of C includes; given: what `headers` says."""
    return [*INCLUDED.findall(text), *(given[asked] for asked in ASKED.findall(text))]


def included(files: Iterable[Path], plan: Plan) -> set[Path]:
    """The headers of the runtime that these files include, directly or not, and those that the moments call."""
    given, others = headers(plan), _of_others(plan)
    found = {HEAP / name for name in answering(plan)}
    waiting = [*files, *found]
    while waiting:
        named = included_names(waiting.pop().read_text(), given)
        new = {header for name in named if (header := HEAP / name).exists()} - found
        found |= new
        sources_of = {source for header in new if (source := header.with_suffix(".c")).exists()}
        waiting += [*new, *(sources_of - others)]
    return found
