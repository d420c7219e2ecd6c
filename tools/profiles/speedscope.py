"""speedscope's JSON: a profile per quantity over one list of frames."""

from typing import IO, Any

from heapsmith.model.files import json_text
from heapsmith.tools.profiles.format import Format
from heapsmith.tools.profiles.numbers import Numbers
from heapsmith.tools.profiles.table import Frame, Stack, StackTable

SCHEMA = "https://www.speedscope.app/file-format-schema.json"
_UNITS = {"bytes": "bytes", "count": "none", "events": "none"}


def write(table: StackTable, file: IO[bytes], usual: int) -> None:
    """Write the profiles; of a difference two per quantity, as a weight cannot be negative."""
    frames = Numbers[Frame]()
    profiles = []
    sides = {"": table.rows} if table.before is None else {" before": table.before, " after": table.rows}
    for place in table.sums:
        for said, rows in sides.items():
            profiles.append(_profile(table, rows, place, said, frames))
    shown = table.sums.index(usual) * len(sides) + len(sides) - 1
    found = {
        "$schema": SCHEMA,
        "shared": {"frames": [_frame(frame) for frame in frames]},
        "profiles": profiles,
        "name": table.title,
        "activeProfileIndex": shown,
        "exporter": "heapsmith",
    }
    file.write(json_text(found, indent=None).encode() + b"\n")


def _profile(
    table: StackTable, rows: dict[Stack, list[int]], place: int, said: str, frames: Numbers[Frame]
) -> dict[str, Any]:
    quantity = table.quantities[place]
    kept = [(stack, values[place]) for stack, values in rows.items() if values[place]]
    return {
        "type": "sampled",
        "name": f"{quantity.name}{said}: {quantity.about}",
        "unit": _UNITS[quantity.unit],
        "startValue": 0,
        "endValue": sum(weight for _, weight in kept),
        "samples": [[frames[frame] for frame in reversed(stack)] for stack, _ in kept],
        "weights": [weight for _, weight in kept],
    }


def _frame(frame: Frame) -> dict[str, Any]:
    where = {"file": frame.file or frame.module, "line": frame.line}
    return {"name": frame.function, **{name: value for name, value in where.items() if value}}


FORMAT = Format("speedscope", write, has_differences=True, is_text=True)
