"""A format that can be imported: how it is recognised, who reads it, and what it does not tell."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from heapsmith.model.trace.imports.builder import Calls
from heapsmith.model.trace.imports.source import Source
from heapsmith.model.trace.stacks import CallTree

NO_TIMES = "no times: all events are at time 0"
SOME_TIMES = "no times in some lines: their events are at the time of the line before, 0 at first"
NO_THREADS = "no threads: all events are by thread 0"


class About:
    """What a reader finds beside the calls: the command before the first call, the rest as it goes."""

    def __init__(self) -> None:
        self.command: list[str] = []
        self.inexact: list[str] = []
        self.processors = False  # the calls tell them
        self.tree: Callable[[], CallTree] | None = None  # of the sites, if the calls tell them; called at the end
        self.salvaged: str | None = None
        self.extra: dict[str, Any] = {}


class Format(NamedTuple):
    """A row of the table in formats.py."""

    name: str
    what: str  # for the list of formats
    recognises: Callable[[bytes], bool]  # by the first bytes of the unpacked file
    read: Callable[[Source, About], Iterator[Calls]]
    inexact: tuple[str, ...]  # what every such file lacks
    record: str = "line"  # what a place in the file is called
    strict: bool = False  # blocks have numbers of their own: a wrong call is a fault of the file
