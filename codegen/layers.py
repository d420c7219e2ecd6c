"""The layers of the library's C, as the folders of runtime/heap say them, and the order of the parts inside a layer."""

import re
from collections.abc import Mapping, Set
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

RUNTIME = Path(__file__).resolve().parent.parent / "runtime"

HEAP = RUNTIME / "heap"
"""Where the names in the C's includes begin."""

ABOUT_PROCESSORS = (HEAP, HEAP / "1_base" / "arch")
"""The folders of headers for tools whose C includes `1_base/arch/arch.h`; the second for the key of their cache."""

INCLUDED = re.compile(r'^#include "(.+)"$', re.MULTILINE)


def layers(heap: Path = HEAP) -> list[Path]:
    """The folders of the layers, lowest first: a file includes and calls nothing of a layer above its own."""
    return sorted(folder for folder in heap.iterdir() if folder.is_dir())


@cache
def parts(folder: Path, heap: Path = HEAP) -> tuple[Path, ...]:
    """The parts of a layer or of a room, each behind those whose headers it includes.

    A part is a room's folder, or a .h and a .c of one name, without suffix. Raises CycleError for a circle of parts.
    """
    files = [file for file in sorted(folder.rglob("*")) if file.suffix in (".c", ".h")]
    uses: dict[Path, set[Path]] = {_part(file, folder): set() for file in files}
    for file in files:
        headers = [heap / name for name in INCLUDED.findall(file.read_text())]
        uses[_part(file, folder)] |= {_part(header, folder) for header in headers if header.is_relative_to(folder)}
    return tuple(ordered({part: used - {part} for part, used in uses.items()}))


def ordered(uses: Mapping[Path, Set[Path]]) -> list[Path]:
    """All parts, each behind those that it uses; of those that may be next, the first by name."""
    sorter = TopologicalSorter(uses)
    sorter.prepare()
    ready: list[Path] = []
    found: list[Path] = []
    while sorter.is_active():
        ready = sorted([*ready, *sorter.get_ready()])
        found.append(ready.pop(0))
        sorter.done(found[-1])
    return found


def _part(file: Path, folder: Path) -> Path:
    """The part of a layer or a room that a file of it belongs to."""
    inside = file.relative_to(folder)
    return folder / inside.parts[0] if len(inside.parts) > 1 else file.with_suffix("")
