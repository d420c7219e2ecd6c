"""Malloc-lab text (.rep), as docs/other-tools.md, 'malloc-lab text', has it."""

from typing import IO

import numpy as np

from heapsmith.model.trace.events import BIRTHS, DEATHS, WITH_BLOCK, Chunk, Op, op_mask
from heapsmith.model.trace.exports.format import Followed, Target, metadata
from heapsmith.model.trace.reader import TraceReader

_BLOCK = op_mask(WITH_BLOCK)
_LETTER = ["a" if op in BIRTHS else "f" if op in DEATHS else "r" for op in sorted(WITH_BLOCK)]


def write(source: Followed, file: IO[bytes]) -> tuple[int, list[str], list[str]]:
    """Write the operations; the head needs their number, so that the trace is read once before."""
    reader = source.reader
    operations = _operations(reader)
    heap, weight = (int(reader.footer.extra.get(name, other)) for name, other in _HEAD)
    file.write(f"{heap}\n{reader.footer.max_blocks}\n{operations}\n{weight}\n".encode())
    for chunk in source:
        file.write(_lines(chunk))
    plain = {
        "that {} allocations are callocs": source.number_of(Op.CALLOC),
        "the alignments of {} aligned allocations": source.number_of(Op.ALIGNED),
        "the sizes that {} sized frees say": source.number_of(Op.FREE_SIZED),
    }
    lacks = [what.format(f"{count:,}") for what, count in plain.items() if count]
    return operations, [*source.plain_calls(), *lacks, *metadata(reader)], []


_HEAD = (("suggested_heap_bytes", 0), ("weight", 1))
"""The numbers of the head that only an imported trace has, in the footer's `extra`; and otherwise."""


def _operations(reader: TraceReader) -> int:
    return sum(int(np.count_nonzero(_BLOCK[chunk.op])) for chunk in reader.part(0, reader.footer.events))


def _lines(chunk: Chunk) -> bytes:
    kept = _BLOCK[chunk.op]
    rows = zip(chunk.op[kept].tolist(), chunk.block[kept].tolist(), chunk.size[kept].tolist(), strict=True)
    lines = [f"f {block}" if _LETTER[op] == "f" else f"{_LETTER[op]} {block} {size}" for op, block, size in rows]
    return "\n".join([*lines, ""]).encode()


TARGET = Target("rep", "malloc-lab text (.rep)", (".rep",), write)
