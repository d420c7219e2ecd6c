"""memray's files with all allocations, read by memray itself."""

from collections.abc import Iterator
from contextlib import contextmanager
from os import SEEK_END
from typing import Any

from heapsmith.model.errors import BadInput, Missing
from heapsmith.model.trace.events import Op
from heapsmith.model.trace.imports.builder import Calls, batches
from heapsmith.model.trace.imports.format import NO_TIMES, About, Format
from heapsmith.model.trace.imports.source import Source

_LZ4 = b"\x04\x22\x4d\x18"
_OPS = {
    **{"MALLOC": Op.MALLOC, "REALLOC": Op.MALLOC, "CALLOC": Op.CALLOC, "FREE": Op.FREE},
    **dict.fromkeys(("POSIX_MEMALIGN", "ALIGNED_ALLOC", "MEMALIGN", "VALLOC", "PVALLOC"), Op.ALIGNED),
}
"""The operation of an allocator; the others are mmap and Python's own, whose memory malloc gave."""


def read(source: Source, about: About) -> Iterator[Calls]:
    """Yield the calls of the file; memray opens it by its path."""
    try:
        import memray
    except ImportError:
        raise Missing("memray's files need the package memray: pip install 'heapsmith[imports]'") from None
    if str(source.path) == "-":
        raise BadInput("-: memray's files cannot be read from a pipe")
    with _naming(source):
        reader = memray.FileReader(source.path)
        if reader.metadata.file_format != memray.FileFormat.ALL_ALLOCATIONS:
            source.bad("its header", "a file of `memray run --aggregate` has sums, not single allocations")
        about.command = reader.metadata.command_line.split()
    return batches(_rows(source, about, memray, reader))


@contextmanager
def _naming(source: Source) -> Iterator[None]:
    try:
        yield
    except (OSError, RuntimeError, ValueError, TypeError) as error:
        raise BadInput(
            f"{source.path}: memray cannot read the file: {str(error).strip().partition(chr(10))[0]}"
        ) from None


def _rows(source: Source, about: About, memray: Any, reader: Any) -> Iterator[tuple[int, ...]]:
    ops = {kind.value: _OPS.get(kind.name) for kind in memray.AllocatorType}
    number, passed = 0, 0
    with _naming(source):
        for number, record in enumerate(reader.get_allocation_records(), 1):
            op = ops.get(record.allocator)
            if op is None:
                passed += 1
            elif op is Op.FREE:
                yield op, record.tid, record.address, 0, 0, 0, 0, number
            else:
                yield op, record.tid, 0, record.address, record.size, 0, 0, number
    if _cut_off(source):
        source.bad(f"record {number + 1}", "expected the end of the compressed records, the file is cut off")
    if passed:
        about.inexact.append(f"{passed:,} records of mmap and of Python's own allocator were passed over")


def _cut_off(source: Source) -> bool:
    """Whether a compressed file lacks the mark at its end, which memray does not miss; LZ4 frames end with 0."""
    if not source.head.startswith(_LZ4):
        return False
    with source.naming(), source.path.open("rb") as file:
        file.seek(-4, SEEK_END)
        return file.read() != bytes(4)


FORMAT = Format(
    name="memray",
    what="memray's file with all allocations",
    recognises=lambda head: head[:64].find(b"memray\0") >= 0,
    read=read,
    inexact=(NO_TIMES, "a realloc is a free and a malloc", "alignments are not known"),
    record="record",
)
