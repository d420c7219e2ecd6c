"""The rooms of a design's library: the rows in use, their files of C, and the moments that they answer.

A file of the runtime takes in the header of a room's row by `#include ROOM_ROW`: plan.h says which file that is. Where
a row has several headers, of which a design's numbers choose, `#include ROOM_ROLE` takes in the one that the row's
`files(design)` gives for that role.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

from heapsmith.codegen.layers import HEAP, INCLUDED, layers, parts
from heapsmith.model import policy
from heapsmith.model.design.plan import Plan

ASKED = re.compile(r"^#include ([A-Z_]+)\b", re.MULTILINE)
"""An include of a file that a row gives."""


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
    """By the name under which the runtime asks for a file of a row, the file."""
    return {asked: _name(_given(asked, plan)) for asked in _asked()}


@cache
def _asked() -> tuple[str, ...]:
    files = [file for suffix in "ch" for file in HEAP.rglob(f"*.{suffix}")]
    return tuple(sorted({name for file in files for name in ASKED.findall(file.read_text())}))


def _given(asked: str, plan: Plan) -> Path:
    """The header of the row that a name asks for. Raises KeyError for a role that the row does not have."""
    used = rows(plan)
    room = max((room for room in used if asked.startswith(f"{room.upper()}_")), key=len)
    role = asked[len(room) + 1 :].lower()
    stem = used[room][0].NAME if role == "row" else used[room][0].files(plan.design)[role]
    return _file(f"{room}/{stem}.h")


def _file(name: str) -> Path:
    """A file by its room and name, in whichever layer; one that is not there lies in none."""
    return next(HEAP.glob(f"*/{name}"), HEAP / name)


def _name(file: Path) -> str:
    return str(file.relative_to(HEAP))


def answers(plan: Plan) -> dict[str, list[str]]:
    """By moment, the functions of the rows that answer it, in the order of the tables."""
    found: dict[str, list[str]] = {}
    for row in _each(plan):
        for moment in getattr(row, "MOMENTS", ()):
            found.setdefault(moment, []).append(f"{room_of(row)}_{moment}")
    return found


def answering(plan: Plan) -> list[str]:
    """The headers of the rows that answer moments, in the order of the tables."""
    return [_name(_file(f"{room_of(row)}/{row.NAME}.h")) for row in _each(plan) if hasattr(row, "MOMENTS")]


def sources(plan: Plan) -> list[Path]:
    """The runtime's C files that this design needs, in the order of the layers and of their parts.

    They are those of its rows, those that no header announces, and those whose header one of these includes.
    """
    roots = _roots(plan)
    wanted = roots | {header.with_suffix(".c") for header in included(roots, plan)} - _of_others(plan)
    found = (part.with_suffix(".c") for layer in layers() for part in _single_parts(layer))
    return [source for source in found if source in wanted and source.exists()]


def _single_parts(layer: Path) -> Iterator[Path]:
    """The parts of a layer, those of its rooms each in the room's place."""
    for part in parts(layer):
        yield from parts(part) if part.is_dir() else [part]


def _roots(plan: Plan) -> set[Path]:
    lone = (part.with_suffix(".c") for layer in layers() for part in parts(layer) if not part.is_dir())
    own = {_file(f"{room_of(row)}/{row.NAME}.c") for row in _each(plan)}
    more = {_file(f"{name}.c") for row in _each(plan) for name in getattr(row, "WITH", ())}
    unannounced = {source for source in lone if not source.with_suffix(".h").exists()}
    return {source for source in unannounced | own | more if source.exists()}


def _of_others(plan: Plan) -> set[Path]:
    """The files of rows that are not in use."""
    used = [row.__name__ for row in _each(plan)]
    every = (row for table in policy.TABLES.values() for row in table)
    return {_file(f"{room_of(row)}/{row.NAME}.c") for row in every if row.__name__ not in used}


def included(files: Iterable[Path], plan: Plan) -> set[Path]:
    """The headers of the runtime that these files include, directly or not, and those that the moments call."""
    given = headers(plan)
    others = _of_others(plan)
    found = {HEAP / name for name in answering(plan)}
    waiting = [*files, *found]
    while waiting:
        text = waiting.pop().read_text()
        named = [*INCLUDED.findall(text), *(given[asked] for asked in ASKED.findall(text))]
        new = {header for name in named if (header := HEAP / name).exists()} - found
        found |= new
        waiting += [*new, *(source for header in new if (source := header.with_suffix(".c")).exists() and source not in others)]
    return found
