"""DHAT's JSON, file version 2: valgrind's dh_view.html shows it. A unit of time is an event of the trace."""

from typing import IO

from heapsmith.model.files import json_text
from heapsmith.tools.profiles.format import Format
from heapsmith.tools.profiles.numbers import Numbers
from heapsmith.tools.profiles.table import Frame, StackTable

_FIELDS = {
    **{"tb": "alloc_space", "tbk": "alloc_objects", "tl": "lifetime", "mb": "most_space", "mbk": "most_objects"},
    **{"gb": "inuse_space", "gbk": "inuse_objects", "eb": "end_space", "ebk": "end_objects"},
}
"""The figures of a program point, and what they are here."""
SHORT = 500
"""Blocks that live fewer units on average are short-lived in the viewer, as in valgrind's own files."""


def frame_text(frame: Frame) -> str:
    """A frame in valgrind's words; an address is not known."""
    where = f"{frame.file}:{frame.line}" if frame.line else f"in {frame.file or frame.module or '?'}"
    return f"0x0: {frame.function} ({where})"


def write(table: StackTable, file: IO[bytes], usual: int) -> None:
    """Write a program point per stack that made requests."""
    places = {field: table.place(name) for field, name in _FIELDS.items()}
    frames = Numbers[str]()
    frames["[root]"]
    points = [
        {**{field: values[place] for field, place in places.items()}, "fs": [frames[frame_text(one)] for one in stack]}
        for stack, values in table.rows.items()
        if values[places["tbk"]]
    ]
    found = {
        **{"dhatFileVersion": 2, "mode": "heap", "verb": "Allocated", "bklt": True, "bkacc": False},
        **{"tu": "events", "Mtu": "Mevents", "tuth": SHORT, "cmd": table.title, "pid": 0},
        **{"tg": table.peak_event, "te": table.events, "pps": points, "ftbl": list(frames)},
    }
    file.write(json_text(found, indent=None).encode() + b"\n")


FORMAT = Format("dhat", write, needs=tuple(_FIELDS.values()), is_text=True)
