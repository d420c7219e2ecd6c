"""The columns of the benchmark: glibc, peers, own and tuned libraries, ceilings."""

import re
from pathlib import Path
from typing import Literal, NamedTuple

from heapsmith.bench.programs.micro_programs import ceiling
from heapsmith.bench.programs.micro_rows import CEILINGS
from heapsmith.model.errors import BadInput
from heapsmith.tools.peers.peers import (
    AS_SET,
    GLIBC,
    PEERS,
    Library,
    find_library,
    find_peer,
    require_malloc_of,
    why_no_malloc,
)

DEFAULT = "default"

ALL_PEERS = "peers"
"""As a library to compare with: every installed peer."""

NOT_FOR_SPEED = frozenset({"hardened_malloc"})
"""Peers that are columns only where they are named."""

TUNED = "tuned"
"""The column whose library is built for each row (bench/suite/training.py)."""

Kind = Literal["peer", "library", "tuned", "ceiling"]
"""`peer` includes glibc; `library` is any other library, usually of a design."""


class Column(NamedTuple):
    """A malloc under which rows run."""

    library: Library
    """Its `version` is a peer's release, the hash of a design built here, or empty."""
    kind: Kind
    tuned_on: str = ""
    unusable: str = ""
    """Why it cannot replace malloc although it was found; else empty."""

    is_by_row: bool = False
    """Each row has its own library (bench/suite/training.py); until then `library` has no path."""

    @property
    def name(self) -> str:
        return self.library.name


def _column(spec: str) -> Column:
    """A built-in design, glibc, a peer, one of these with settings, or a path of a library or design."""
    found = find_library(spec)
    if spec == GLIBC or spec in PEERS or spec in AS_SET:
        return Column(found, "peer")
    if found.version:  # a design
        return Column(found, "library")
    short = re.sub(r"^lib|\.so.*$", "", found.name) or found.name
    return Column(Library(short, found.path), "library")


def _tuned(spec: str) -> Column:
    """A column from PATH[=TUNED_ON]."""
    path, _, tuned_on = spec.partition("=")
    column = _column(path)
    if column.kind == "peer":
        raise BadInput(f"{spec}: expected a tuned library's or design's path, not a peer")
    return Column(column.library, "tuned", tuned_on or "an unnamed input")


def _installed_peers() -> list[str]:
    """Names of the installed peers that are made for speed; if two names have the same file, only the first."""
    found: dict[Path, str] = {}
    for name in (name for name in PEERS if name not in NOT_FOR_SPEED):
        path = find_peer(name)
        if path is not None:
            found.setdefault(path.resolve(), name)
    return list(found.values())


def columns(libs: list[str], tuned: list[str], *, tune: bool = False) -> list[Column]:
    """The columns: glibc, `libs`, `tuned` (PATH[=TUNED_ON]), TUNED if `tune`, and the ceilings.

    Empty `libs` means every installed peer and the default design; ALL_PEERS among them means the
    installed peers that they do not name. Raises BadInput for unknown
    libraries, for two columns with the same name and for a named library that cannot replace
    malloc, and the errors of builds. A peer that was not named is marked as unusable instead.
    """
    specs = [spec for spec in libs or [ALL_PEERS, DEFAULT] if spec not in (GLIBC, ALL_PEERS)]
    asked = [*map(_column, [GLIBC, *specs]), *map(_tuned, tuned)]
    require_malloc_of(*(column.library for column in asked))
    wanted = _installed_peers() if not libs or ALL_PEERS in libs else []
    installed = [_column(name) for name in wanted if name not in specs]
    peers = [column._replace(unusable=why_no_malloc(column.library)) for column in installed]
    by_row = [Column(Library(TUNED, None), "tuned", "another input of each row's work", is_by_row=True)] if tune else []
    found = [asked[0], *peers, *asked[1:], *by_row, *(Column(ceiling(name), "ceiling") for name in CEILINGS)]
    names = [column.name for column in found]
    for name in names:
        if names.count(name) > 1:
            raise BadInput(f"{name}: two columns have this name: rename one of the files")
    return found
