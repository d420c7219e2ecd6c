"""Nodes: processors and the memory that is near them, in the words of Linux; docs/machine-rooms.md, 'shards'."""

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from heapsmith.model.compile.kernel import Ints
from heapsmith.model.trace.events import MAX_PROCESSORS

SYSTEM = Path("/sys/devices/system/node")
MOST_NODES = 1024
_LIST = re.compile(r"[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*\n?")


def numbers_in(text: str, most: int = MAX_PROCESSORS) -> list[int]:
    """Return the numbers of a list such as 0-3,8; none if it is no list of numbers below `most`."""
    found: list[int] = []
    if _LIST.fullmatch(text) is None:
        return []
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        if not int(first) <= int(last or first) < most:
            return []
        found += range(int(first), int(last or first) + 1)
    return found


def why_no_nodes(nodes: Sequence[str], processors: int = MAX_PROCESSORS) -> str | None:
    """Return why these are not the processors of nodes, or None."""
    wrong = next((text for text in nodes if not numbers_in(text, processors)), None)
    return None if wrong is None else f"{wrong}: expected processors below {processors}, such as 0-3,8"


def node_of(nodes: Sequence[str]) -> Ints:
    """Return the node of each processor; 0 for one that no node lists."""
    table = np.zeros(MAX_PROCESSORS, np.int64)
    for node, text in enumerate(nodes):
        table[numbers_in(text)] = node
    return table


def system_nodes(folder: Path = SYSTEM) -> tuple[str, ...]:
    """Return the processors of each node that has some, as Linux tells them in files of a folder."""
    lists = (_text(folder / f"node{node}/cpulist") for node in sorted(numbers_in(_text(folder / "online"), MOST_NODES)))
    return tuple(text.strip() for text in lists if numbers_in(text))


def write_nodes(folder: Path, nodes: Sequence[str]) -> None:
    """Write files into a folder as Linux would for these nodes."""
    (folder / "online").write_text(f"0-{len(nodes) - 1}\n")
    for node, text in enumerate(nodes):
        (folder / f"node{node}").mkdir()
        (folder / f"node{node}/cpulist").write_text(f"{text}\n")


def _text(file: Path) -> str:
    try:
        return file.read_text()
    except (OSError, UnicodeDecodeError):
        return ""
