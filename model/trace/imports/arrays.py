"""Arrays of events in memory, one for each column, as a trace file (docs/python.md)."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from heapsmith.model.compile.kernel import Ints
from heapsmith.model.errors import BadInput
from heapsmith.model.trace.events import (
    BIRTHS,
    MAX_ALIGN_LOG2,
    MAX_PROCESSORS,
    SIZED,
    UNKNOWN,
    WITH_ALIGNMENT,
    Op,
    op_mask,
)
from heapsmith.model.trace.imports.builder import MAX, Builder, Calls, WrongCall
from heapsmith.model.trace.writer import TraceWriter

OPTIONAL = ("thread", "align_log2", "time_ns", "processor")
_BATCH = 1 << 20


def write_arrays(
    path: Path, columns: Mapping[str, npt.ArrayLike], operations: Sequence[str], command: list[str]
) -> None:
    """Write the trace of 1-D columns of one length: op, block and size, and any of OPTIONAL, 0 or unknown without.

    op: names or places of `operations`. block: any number from 0 on, which names a block while it
    lives. Sizes and alignments of operations that have none do not count. Raises BadInput for other
    columns, numbers below 0 or too large, times that go back, and events that no program can have made.
    """
    if unknown := columns.keys() - {"op", "block", "size", *OPTIONAL}:
        raise BadInput(f"{path}: not written: no column {min(unknown)}; expected any of {', '.join(OPTIONAL)}")
    op = _operations(path, columns["op"], operations)
    rest = {name: _numbers(path, name, columns.get(name, 0), op.size) for name in ("block", "size", *OPTIONAL)}
    if (back := np.flatnonzero(np.diff(rest["time_ns"]) < 0)).size:
        raise BadInput(f"{path}: not written: event {back[0] + 1}: its time is before that of the event before it")
    if (rest["align_log2"] > MAX_ALIGN_LOG2).any():
        raise BadInput(f"{path}: not written: align_log2: expected at most {MAX_ALIGN_LOG2}")
    if (rest["processor"] >= MAX_PROCESSORS).any():
        raise BadInput(f"{path}: not written: processor: expected at most {MAX_PROCESSORS - 1}")
    if "processor" not in columns:
        rest["processor"] = np.full(op.size, UNKNOWN)
    builder = Builder(strict=True)
    with TraceWriter(path, command=command, source="arrays", processors="processor" in columns) as writer:
        for calls in _calls(op, rest):
            try:
                for chunk, _ in builder.feed(calls):
                    writer.append(chunk)
            except WrongCall as wrong:
                raise BadInput(f"{path}: not written: event {wrong.record}: {wrong}") from None


def _operations(path: Path, op: npt.ArrayLike, operations: Sequence[str]) -> npt.NDArray[np.uint8]:
    given = np.asarray(op)
    if given.dtype.kind in "UO":
        places = {name: place for place, name in enumerate(operations)}
        if unknown := set(given.ravel().tolist()) - places.keys():
            raise BadInput(f"{path}: not written: op: {min(map(str, unknown))!r}; expected {', '.join(operations)}")
        given = np.array([places[name] for name in given.ravel().tolist()], np.int64).reshape(given.shape)
    numbers = _numbers(path, "op", given, given.size)
    if (numbers >= len(operations)).any():
        raise BadInput(f"{path}: not written: op: {numbers.max()}; expected 0 to {len(operations) - 1}, or names")
    return numbers.astype(np.uint8)


def _numbers(path: Path, name: str, column: npt.ArrayLike, events: int) -> Ints:
    """Return a column of whole numbers from 0 on; a single number is that of all events."""
    given = np.asarray(column)
    if given.ndim == 0:
        given = np.broadcast_to(given, (events,))
    if given.shape != (events,) or (given.size and given.dtype.kind not in "iu"):
        raise BadInput(
            f"{path}: not written: {name}: expected {events} whole numbers, got {given.dtype} of shape {given.shape}"
        )
    if given.size and (given.min() < 0 or given.max() >= MAX):
        raise BadInput(f"{path}: not written: {name}: expected numbers from 0 to {MAX - 1}")
    return given.astype(np.int64)


def _calls(op: npt.NDArray[np.uint8], columns: Mapping[str, Ints]) -> Iterator[Calls]:
    """Yield the calls of the events, which name a block by its number + 1."""
    births, sized, aligned = (op_mask(ops)[op] for ops in (BIRTHS, SIZED, WITH_ALIGNMENT))
    name = columns["block"] + 1
    rows: list[Any] = [
        *(op, columns["thread"], np.where(births, 0, name), np.where(births | (op == Op.REALLOC), name, 0)),
        *(np.where(sized, columns["size"], 0), np.where(aligned, columns["align_log2"], 0), columns["time_ns"]),
        *(np.arange(op.size), columns["processor"]),
    ]
    for first in range(0, op.size, _BATCH):
        yield Calls(*(row[first : first + _BATCH] for row in rows))
