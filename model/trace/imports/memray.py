"""memray's files with all allocations, read by memray itself."""

import pickle
import signal
import subprocess
import sys
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import chain, islice
from operator import attrgetter
from os import SEEK_END
from typing import Any

import numpy as np

from heapsmith.model.compile.kernel import Ints
from heapsmith.model.errors import BadInput, Missing
from heapsmith.model.trace.events import CHUNK_EVENTS, Op
from heapsmith.model.trace.imports.builder import Calls
from heapsmith.model.trace.imports.format import NO_TIMES, About, Format
from heapsmith.model.trace.imports.source import Source, first_line

_LZ4 = b"\x04\x22\x4d\x18"
_OPS = {
    **{"MALLOC": Op.MALLOC, "REALLOC": Op.MALLOC, "CALLOC": Op.CALLOC, "FREE": Op.FREE},
    **dict.fromkeys(("POSIX_MEMALIGN", "ALIGNED_ALLOC", "MEMALIGN", "VALLOC", "PVALLOC"), Op.ALIGNED),
}
"""The operation of an allocator; the others are mmap and Python's own, whose memory malloc gave."""

_PASSED = -1  # for the others
_FIELDS = ("allocator", "tid", "address", "size")


def read(source: Source, about: About) -> Iterator[Calls]:
    """Yield the calls of the file; memray opens it by its path, in a process of its own, which damage may end."""
    if find_spec("memray") is None:
        raise Missing("memray's files need the package memray: pip install 'heapsmith[imports]'")
    if str(source.path) == "-":
        raise BadInput("-: memray's files cannot be read from a pipe")
    command = [sys.executable, "-c", f"from {__name__} import send; send()", str(source.path.absolute())]
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    ours = child.stdout
    try:
        about.command = _received(source, ours)
        while (message := _received(source, ours)) is not None:
            yield message
        records, passed = _received(source, ours)
    finally:
        child.kill()
        child.communicate()
    if _cut_off(source):
        source.bad(f"record {records + 1}", "expected the end of the compressed records, the file is cut off")
    if passed:
        about.inexact.append(f"{passed:,} records of mmap and of Python's own allocator were passed over")


def _received(source: Source, ours: Any) -> Any:
    """Return what the child sends next. Raises BadInput if that is an error, or if memray has ended the child."""
    try:
        message = pickle.load(ours)
    except (EOFError, pickle.UnpicklingError):
        message = BadInput("it is damaged, and memray's reader crashed")
    if isinstance(message, BadInput):
        raise BadInput(f"{source.path}: {message}")
    return message


def send() -> None:
    """Write the command, the calls, None, and the numbers of records and of those passed over; or a BadInput."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends this process
    import memray

    counts = [0, 0]
    try:
        with _naming():
            reader = memray.FileReader(sys.argv[1])
            if reader.metadata.file_format != memray.FileFormat.ALL_ALLOCATIONS:
                sums = "a file of `memray run --aggregate` has sums, not single allocations"
                raise BadInput(f"its header: {sums}")
            _put(reader.metadata.command_line.split())
        for calls in _calls(memray, reader, counts):
            _put(calls)
        _put(None)
        _put(counts)
    except BadInput as error:
        _put(error)


def _put(message: Any) -> None:
    pickle.dump(message, sys.stdout.buffer, pickle.HIGHEST_PROTOCOL)
    sys.stdout.buffer.flush()


@contextmanager
def _naming() -> Iterator[None]:
    try:
        yield
    except (OSError, RuntimeError, ValueError, TypeError) as error:
        raise BadInput(f"memray cannot read the file: {first_line(error)}") from None


def _calls(memray: Any, reader: Any, counts: list[int]) -> Iterator[Calls]:
    """Yield the calls, those before damage too; `counts` becomes the number of records and of those passed over."""
    op_of = np.full(1 + max(kind.value for kind in memray.AllocatorType), _PASSED, np.int64)
    for kind in memray.AllocatorType:
        op_of[kind.value] = _OPS.get(kind.name, _PASSED)
    with _naming():
        fields = chain.from_iterable(map(attrgetter(*_FIELDS), reader.get_allocation_records()))
    numbers, bad = array("q", [0]), None
    while numbers and bad is None:
        numbers = array("q")
        try:
            with _naming():
                numbers.extend(islice(fields, len(_FIELDS) * CHUNK_EVENTS))
        except BadInput as error:
            bad = error
        yield _calls_of(np.array(numbers, np.int64).reshape(-1, len(_FIELDS)).T, op_of, counts)
    if bad is not None:
        raise bad


def _calls_of(fields: Any, op_of: Ints, counts: list[int]) -> Calls:
    """Return the calls of records: a row for each of _FIELDS."""
    op = op_of[fields[0]]
    kept = op != _PASSED
    record = np.arange(counts[0] + 1, counts[0] + 1 + op.size)
    counts[0] += op.size
    counts[1] += op.size - int(np.count_nonzero(kept))
    op, thread, address, size, record = (column[kept] for column in (op, *fields[1:], record))
    is_free, none = op == Op.FREE, np.zeros_like(op)
    old, new = np.where(is_free, address, 0), np.where(is_free, 0, address)
    return Calls(op.astype(np.uint8), thread, old, new, np.where(is_free, 0, size), none, none, record)


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
