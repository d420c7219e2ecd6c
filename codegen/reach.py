"""Reach: which functions of a design's C ran on traces, by the counters that they raise."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import NamedTuple

import msgspec

from heapsmith.codegen.annotated import COUNTING, OF_CLASS
from heapsmith.model.design.plan import Plan
from heapsmith.model.heap.simulator import Counters
from heapsmith.model.parts.counters import COUNTS, TOTALS

LEVELS = frozenset({"committed", "committed_peak"})
"""Counters that are no counts of events."""

ATTRIBUTE = re.compile(r"__attribute__\(\(.*?\)\)\s*")
FUNCTION = re.compile(r"[A-Za-z_][\w *]*?\b(\w+)\(")


class Reached(msgspec.Struct, frozen=True):
    """A function of the emitted C, and how often it raised each of its counters on all traces.

    A counter that several functions raise has its sum at each of them. own: the counters that no other function raises.
    """

    function: str
    file: str
    counts: dict[str, int]
    own: list[str]

    @property
    def ran(self) -> bool | None:
        """Whether it ran; None: others raise the same counters, so that nobody knows."""
        if any(self.counts[name] for name in self.own):
            return True
        return None if any(self.counts.values()) else False


class Reach:
    """The model's counters of all traces so far, which the library's equal where nothing differs."""

    def __init__(self, plan: Plan) -> None:
        self._names = [row.name for row in plan.classes]
        self._counts: Counter[str] = Counter()

    def add(self, found: Counters) -> None:
        """Add a trace."""
        self._counts.update(found.totals)
        for name, of in found.classes.items():
            self._counts[name] += sum(of)
            self._counts.update({f"{name} of {row}": count for row, count in zip(self._names, of, strict=True)})

    def functions(self, files: Mapping[str, bytes]) -> list[Reached]:
        """Return the functions of emitted files that raise counters, in the order of the files."""
        raised = [
            _Raise((function, PurePath(file).name), name, f" of {of[1]}" if of and name in COUNTS else "")
            for file, content in files.items()
            if file.endswith((".c", ".h"))
            for function, name, owner in _raised(content.decode())
            for of in [OF_CLASS.search(owner)]
        ]
        found: dict[tuple[str, str], tuple[dict[str, int], list[str]]] = {}
        for one in raised:
            counts, own = found.setdefault(one.place, ({}, []))
            counts[one.name] = self._counts[one.name + one.of]
            if all(one.place == other.place for other in raised if one.may_be(other)) and one.name not in own:
                own.append(one.name)
        return [Reached(*place, counts, own) for place, (counts, own) in found.items()]


class _Raise(NamedTuple):
    """A line that raises a counter. place: the function and the file. of: the class, empty where it is any."""

    place: tuple[str, str]
    name: str
    of: str

    def may_be(self, other: "_Raise") -> bool:
        """Whether both may raise the same counter."""
        return self.name == other.name and (not self.of or not other.of or self.of == other.of)


def _raised(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield the function, the counter and its owner of each line that raises a counter."""
    function = ""
    for line in text.splitlines():
        if (head := FUNCTION.match(ATTRIBUTE.sub("", line))) and not line.endswith(";"):
            function = head[1]
        raised = COUNTING.match(line)
        if raised and raised["name"] in {*COUNTS, *TOTALS} - LEVELS:
            yield function, raised["name"], raised["owner"]
