"""From the stacks of a spool to a tree: addresses become modules and offsets, equal paths one stack."""

import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from heapsmith.model.compile.kernel import Ints
from heapsmith.model.trace.elf import build_id
from heapsmith.model.trace.imports.python_code import python_name
from heapsmith.model.trace.stacks import CallTree, Module
from heapsmith.tools.common.perf_map import Generated
from heapsmith.tools.record.spool_merge import WINDOW_WORDS

FRAMES, MAPPING, PYTHON = 1, 2, 3  # kinds of records, in runtime/heap/1_base/spool/spool.h
PLACES = 1 << 52
"""Above all addresses of code: frames from here on are of Python, by the number of their place."""
_KIND_MASK, _COUNT_SHIFT, _COUNT_MASK, _NUMBER_SHIFT = 255, 8, 0xFFFFFF, 32


class Mapping(NamedTuple):
    """A mapping of code."""

    start: int
    end: int
    offset: int  # in the file
    path: str


class _Placed(NamedTuple):
    """Stacks whose addresses have modules: a row per stack, the outermost frame first, -1 behind the innermost."""

    numbers: list[int]
    frames: Ints  # numbers of places


class Forest(NamedTuple):
    """The tree of a spool's stacks, and for each number in its records the site; 0: there is no such stack.

    python: names of frames of Python.
    """

    tree: CallTree
    sites: Ints
    python: list[Generated]


def forest(words: Ints, windows: Ints) -> Forest | None:
    """The stacks of `windows`, in the order in which they were written; None if there are none."""
    names: dict[int, str] = {}
    found = forest_of(_batches(words, windows, names))
    if found is None:
        return None
    addresses = np.unique(found.tree.offset[found.tree.module < 0])  # of the byte before, as those of calls
    numbers = (addresses[addresses >= PLACES] - PLACES + 1).tolist()
    python = [Generated(PLACES + number - 1, 1, names[number]) for number in numbers if number in names]
    return found._replace(python=python)


def forest_of(batches: Iterable[tuple[list[tuple[int, Ints]], list[Mapping]]]) -> Forest | None:
    """The same of stacks (number, return addresses, the innermost first) with the mappings of their time."""
    places: dict[tuple[str, int], int] = {}
    placed = [_place(batch, mappings, places) for batch, mappings in batches]
    if not placed:
        return None
    depth = max(one.frames.shape[1] for one in placed)
    rows = [np.pad(one.frames, ((0, 0), (0, depth - one.frames.shape[1])), constant_values=-1) for one in placed]
    numbers = np.array([number for one in placed for number in one.numbers])
    return _tree(numbers, np.concatenate(rows), list(places))


def _batches(
    words: Ints, windows: Ints, names: dict[int, str]
) -> Iterator[tuple[list[tuple[int, Ints]], list[Mapping]]]:
    """Stacks (number, return addresses) that were written under the same mappings, with these.

    names: gets those of places in Python code by number.
    """
    mappings: list[Mapping] = []
    batch: list[tuple[int, Ints]] = []
    for kind, number, content in _records(words, windows):
        if kind == FRAMES:
            batch.append((number, content))
            continue
        if kind == PYTHON:
            file, function = (text.decode(errors="replace") for text in content[1:].tobytes().split(b"\0", 2)[:2])
            names[number] = python_name(function, file, int(content[0]))
            continue
        if batch:
            yield batch, mappings
            batch = []
        start, end, offset = content[:3].tolist()
        path = os.fsdecode(content[3:].tobytes().partition(b"\0")[0])
        mappings = [one for one in mappings if one.end <= start or one.start >= end]
        mappings.append(Mapping(start, end, offset, path))
    if batch:
        yield batch, mappings


def _records(words: Ints, windows: Ints) -> Iterator[tuple[int, int, Ints]]:
    """Kind, number and content of each record."""
    for first in windows.tolist():
        at = first
        while at < first + WINDOW_WORDS and words[at] != 0:
            head = int(words[at])
            count = (head >> _COUNT_SHIFT) & _COUNT_MASK
            length = 1 + count if head & _KIND_MASK == FRAMES else count
            yield head & _KIND_MASK, head >> _NUMBER_SHIFT, words[at + 1 : at + length]
            at += length


def _place(batch: list[tuple[int, Ints]], mappings: list[Mapping], places: dict[tuple[str, int], int]) -> _Placed:
    """Replace the return addresses by numbers of places (path, offset), of which new ones join `places`."""
    lengths = np.array([content.size for _, content in batch])
    addresses, index = np.unique(np.concatenate([content for _, content in batch]) - 1, return_inverse=True)
    ordered = sorted(mappings)
    among = np.searchsorted([one.start for one in ordered], addresses, "right") - 1
    numbers = np.zeros(addresses.size, np.int64)
    for i, (address, mapping) in enumerate(zip(addresses.tolist(), among.tolist(), strict=True)):
        found = ordered[mapping] if mapping >= 0 and address < ordered[mapping].end else None
        place = (found.path, address - found.start + found.offset) if found and found.path else ("", address)
        numbers[i] = places.setdefault(place, len(places))
    frames = np.full((lengths.size, lengths.max()), -1)
    row = np.repeat(np.arange(lengths.size), lengths)
    back = np.repeat(np.cumsum(lengths), lengths) - 1 - np.arange(index.size)
    frames[row, back] = numbers[index]
    return _Placed([number for number, _ in batch], frames)


def _tree(numbers: Ints, rows: Ints, places: list[tuple[str, int]]) -> Forest:
    """Number the frames level by level, from the outermost, so that parents come before their children."""
    at = np.full(len(rows), -1)
    parents: list[Ints] = []
    placed: list[Ints] = []
    made = 0
    for level in rows.T:
        inside = level >= 0
        pairs, index = np.unique((at[inside] + 1) * len(places) + level[inside], return_inverse=True)
        parents.append(pairs // len(places) - 1)
        placed.append(pairs % len(places))
        at[inside] = made + index
        made += pairs.size
    innermost, first, index = np.unique(at, return_index=True, return_inverse=True)
    order = np.argsort(numbers[first])  # about the order of first use: what is used much has a small number
    rank = np.empty(order.size, np.int64)
    rank[order] = np.arange(order.size)
    sites = np.zeros(int(numbers.max()) + 1, np.int64)
    sites[numbers] = rank[index] + 1
    paths = list(dict.fromkeys(path for path, _ in places if path))
    module = {path: number for number, path in enumerate(paths)}
    place = np.concatenate(placed)
    tree = CallTree(
        [Module(path, build_id(path)) for path in paths],
        np.concatenate(parents),
        np.array([module.get(path, -1) for path, _ in places])[place],
        np.array([offset for _, offset in places])[place],
        innermost[order],
    )
    return Forest(tree, sites, [])
