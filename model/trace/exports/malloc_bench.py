"""malloc-bench's protobuf message, with the class that reads it (docs/other-tools.md, 'malloc-bench')."""

from typing import IO, Any

import numpy as np

from heapsmith.model.trace.events import WITH_BLOCK, Chunk, Op, op_mask
from heapsmith.model.trace.exports.format import Followed, Target, metadata
from heapsmith.model.trace.imports.malloc_bench import tracefile

_BLOCK = op_mask(WITH_BLOCK)


def write(source: Followed, file: IO[bytes]) -> tuple[int, list[str], list[str]]:
    """Write the message in pieces: messages one behind the other are one message, whose lists are joined."""
    make, lines = tracefile(), 0
    for chunk in source:
        piece = make()
        lines += _add(piece.lines, chunk)
        file.write(piece.SerializeToString())
    file.write(make(max_simultaneous_allocs=source.reader.footer.max_blocks).SerializeToString())
    return lines, [*source.plain_calls(), *metadata(source.reader)], []


def _add(lines: Any, chunk: Chunk) -> int:
    """Add a line per event that has a block; return the number of lines."""
    kept = _BLOCK[chunk.op]
    alignments = (np.int64(1) << chunk.align_log2[kept].astype(np.int64)).tolist()
    columns = (column[kept].tolist() for column in (chunk.op, chunk.block, chunk.size))
    for op, block, size, alignment in zip(*columns, alignments, strict=True):
        line = lines.add()
        if op == Op.MALLOC:
            _set(line.malloc, result_id=block, size=size)
        elif op == Op.ALIGNED:
            _set(line.malloc, result_id=block, size=size, alignment=alignment)
        elif op == Op.CALLOC:
            _set(line.calloc, result_id=block, count=1, size=size)
        elif op == Op.REALLOC:
            _set(line.realloc, result_id=block, input_id=block, size=size)
        elif op == Op.FREE:
            _set(line.free, input_id=block)
        elif alignment == 1:
            _set(line.free, input_id=block, size_hint=size)
        else:
            _set(line.free, input_id=block, size_hint=size, alignment_hint=alignment)
    return len(alignments)


def _set(call: Any, **fields: int) -> None:
    for name, value in fields.items():
        setattr(call, name, value)


TARGET = Target("malloc-bench", "malloc-bench's protobuf message", (".trace", ".trace.gz", ".pb", ".pb.gz"), write)
