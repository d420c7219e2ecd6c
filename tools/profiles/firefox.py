"""Firefox Profiler's processed format: a track per quantity in bytes, each of balanced native allocations."""

from itertools import pairwise
from typing import IO, Any

from heapsmith.model.files import json_text
from heapsmith.tools.profiles.format import Format
from heapsmith.tools.profiles.numbers import Numbers
from heapsmith.tools.profiles.table import Frame, StackTable

GECKO_VERSION, VERSION = 36, 70
"""Of the formats' changelogs (docs-developer/CHANGELOG-formats.md of firefox-devtools/profiler)."""
_CATEGORIES = [{"name": "Other", "color": "grey", "subcategories": ["Other"]}]
_PARENT_OF = tuple[int, Frame]


class _Shared:
    """The tables of strings, sources, functions, frames and stacks that all tracks share."""

    def __init__(self) -> None:
        self.strings, self.sources = Numbers[str](), Numbers[str]()
        self.functions, self.frames = Numbers[tuple[str, str]](), Numbers[Frame]()
        self.stacks = Numbers[_PARENT_OF]()

    def stack(self, frames: tuple[Frame, ...]) -> int:
        """The number of a stack, whose frames begin with the innermost."""
        at = -1
        for frame in reversed(frames):
            at = self.stacks[at, frame]
            self.functions[frame.function, frame.file or frame.module]
            self.frames[frame]
        return at

    def tables(self) -> dict[str, Any]:
        """All tables, once all stacks are known."""
        frames, functions = list(self.frames), list(self.functions)
        made = {
            "stackTable": _table(
                frame=[self.frames[frame] for _, frame in self.stacks],
                prefixOffset=[number - parent if parent >= 0 else 0 for (parent, _), number in self.stacks.items()],
            ),
            "frameTable": _table(
                **{name: [-1] * len(frames) for name in ("address", "lib")},
                **{name: [0] * len(frames) for name in ("inlineDepth", "category", "subcategory", "innerWindowID")},
                **{name: [None] * len(frames) for name in ("nativeSymbol", "column", "originalLocation")},
                func=[self.functions[frame.function, frame.file or frame.module] for frame in frames],
                line=[frame.line or None for frame in frames],
            ),
            "funcTable": _table(
                name=[self.strings[name] for name, _ in functions],
                **{name: [False] * len(functions) for name in ("isJS", "relevantForJS")},
                resource=[-1] * len(functions),
                source=[self.sources[file] for _, file in functions],
                **{name: [None] * len(functions) for name in ("lineNumber", "columnNumber", "originalLocation")},
            ),
            "resourceTable": _table(name=[], host=[], type=[]),
            "nativeSymbols": _table(libIndex=[], address=[], name=[], functionSize=[]),
            "sources": _table(
                filename=[self.strings[file] for file in self.sources],
                **{name: [None] * len(self.sources) for name in ("id", "sourceMapURL", "content")},
                **{name: [1] * len(self.sources) for name in ("startLine", "startColumn")},
            ),
            "sourceLocationTable": _table(source=[], line=[], column=[]),
        }
        return made | {"stringArray": list(self.strings)}


def _table(**columns: list[Any]) -> dict[str, Any]:
    """Columns of one length, and it."""
    assert all(len(one) == len(other) for one, other in pairwise(columns.values()))
    return {**columns, "length": len(next(iter(columns.values())))}


def write(table: StackTable, file: IO[bytes], usual: int) -> None:
    """Write a track per quantity in bytes, the usual one first."""
    shared = _Shared()
    places = sorted(table.in_bytes, key=lambda place: place != usual)
    tracks = [_track(table, place, number, shared) for number, place in enumerate(places)]
    meta = {
        **{"interval": 1, "startTime": 0, "processType": 0, "categories": _CATEGORIES, "product": table.title},
        **{"stackwalk": 0, "version": GECKO_VERSION, "preprocessedProfileVersion": VERSION, "markerSchema": []},
        **{"symbolicated": True, "importedFrom": "heapsmith", "initialSelectedThreads": [0]},
        **{"initialVisibleThreads": list(range(len(tracks))), "keepProfileThreadOrder": True},
    }
    found = {"meta": meta, "libs": [], "pages": [], "shared": shared.tables(), "threads": tracks}
    file.write(json_text(found, indent=None).encode() + b"\n")


def _track(table: StackTable, place: int, number: int, shared: _Shared) -> dict[str, Any]:
    """A track, in which the retained bytes are the quantity; of live bytes, those freed come and go."""
    rows: list[tuple[float, int, int, int]] = []  # time, weight, stack, address
    end = max(1.0, table.duration_ns / 1e6)
    for address, (stack, values) in enumerate(table.rows.items(), 1):
        at, freed = shared.stack(stack), table.freed(values, place)[1]
        rows += [(0.0, values[place], at, 2 * address)] if values[place] else []
        rows += [(0.0, freed, at, 2 * address + 1), (end, -freed, at, 2 * address + 1)] if freed else []
    time, weight, stacks, addresses = (list(column) for column in zip(*sorted(rows), strict=True)) if rows else [[]] * 4
    allocations = _table(time=time, weight=weight, stack=stacks, memoryAddress=addresses, threadId=[number] * len(rows))
    quantity = table.quantities[place]
    return {
        **{"name": f"{quantity.name}: {quantity.about}", "processName": table.title, "pid": "0", "tid": number},
        **{"processType": "default", "processStartupTime": 0, "processShutdownTime": None, "registerTime": 0},
        **{"unregisterTime": None, "pausedRanges": [], "isMainThread": number == 0},
        "samples": _table(stack=[], time=[], eventDelay=[]) | {"weight": None, "weightType": "samples"},
        "markers": _table(data=[], name=[], startTime=[], endTime=[], phase=[], category=[]),
        "nativeAllocations": allocations | {"weightType": "bytes"},
    }


FORMAT = Format("firefox", write, unit="bytes", is_text=True)
