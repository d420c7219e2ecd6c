"""A generated library in this process, called on real threads: what tests of libraries share."""

import ctypes
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from queue import SimpleQueue

import numpy as np
from numpy.typing import NDArray

from heapsmith.codegen.build import FLAGS
from heapsmith.codegen.built import library_of
from heapsmith.codegen.difference import LOCK_NAMES, counted
from heapsmith.codegen.driver import LOCK_COUNTS
from heapsmith.codegen.verify import CHECK_EVERY, Library, Run, replay
from heapsmith.model.design.design import Design
from heapsmith.model.design.plan import make_plan
from heapsmith.model.trace.reader import Op

FAST_TO_BUILD = [*(flag for flag in FLAGS if flag not in ("-O2", "-g")), "-O0"]
"""Flags for a library that takes a quarter of the time to build; programs of tests run as long under it."""

WHOLE_SPANS = 1 << 62
"""As many bytes of each span as there are."""

LIBC = ctypes.CDLL(None)
THREAD_MAIN = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)


def checked_library(design: Design) -> Path:
    """The checked library of a design, built fast, and once for all tests.

    What gcc's -O2 makes of the C is asked of the release build, by the audit and of both by `verify`.
    """
    return library_of(design, checked=True, flags=_flags(design))


def library_to_load(design: Design) -> Path:
    """The same to be loaded with many others: a process has static TLS for some fifty libraries."""
    flags = _flags(design)
    if flags is FAST_TO_BUILD:  # in libraries with guards a fault may come at each instruction
        flags = [flag for flag in flags if flag != "-ftls-model=initial-exec"]
    return library_of(design, checked=True, flags=flags)


def unchecked_library(design: Design) -> Path:
    """The same without checks: what the C of the release build does, whatever gcc's -O2 makes of it."""
    return library_of(design, flags=_flags(design))


def _flags(design: Design) -> list[str]:
    """Those that are fast to build, but for fronts whose functions a fault may leave at any instruction."""
    return FLAGS if make_plan(design).has_guards else FAST_TO_BUILD


def agreement(design: Design, trace: Path, nodes: Sequence[str] = ()) -> list[Run]:
    """What `verify` finds without its audit, of libraries that are built fast: the checked one and the other."""
    plan = make_plan(design)
    libraries = [
        Library("checked", checked_library(design), CHECK_EVERY, counted(plan, checked=True)),
        Library("release", unchecked_library(design), 0, counted(plan, checked=False)),
    ]
    return replay(plan, libraries, trace, lambda *_: None, nodes)


MALLINFO = ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")


def mallinfo(
    handle: ctypes.CDLL, name: str, number: type[ctypes.c_size_t] | type[ctypes.c_int]
) -> Callable[[], dict[str, int]]:
    """A library's mallinfo2 or mallinfo, whose structure has that many numbers; it returns them by name."""
    structure = type(name, (ctypes.Structure,), {"_fields_": [(field, number) for field in MALLINFO]})
    function = handle[name]
    function.restype = structure

    def said() -> dict[str, int]:
        found = function()
        return {field: getattr(found, field) for field in MALLINFO}

    return said


class Loaded:
    """The functions of a library whose malloc is not this process's: dlopen with RTLD_LOCAL, called by address."""

    def __init__(self, path: Path, nodes: Path | str = "") -> None:
        """Nodes: a folder that describes them, in place of the system's; by default there is one node."""
        os.environ["HEAPSMITH"] = f"nodes={nodes}"  # the library reads it when it is loaded
        handle = ctypes.CDLL(str(path))  # RTLD_LOCAL | RTLD_NOW
        del os.environ["HEAPSMITH"]
        pointer, word = ctypes.c_void_p, ctypes.c_size_t
        self.malloc = self._function(handle, "malloc", pointer, word)
        self.calloc = self._function(handle, "calloc", pointer, word, word)
        self.realloc = self._function(handle, "realloc", pointer, pointer, word)
        self.aligned_alloc = self._function(handle, "aligned_alloc", pointer, word, word)
        self.free = self._function(handle, "free", None, pointer)
        self.free_sized = self._function(handle, "free_sized", None, pointer, word)
        self.usable_size = self._function(handle, "malloc_usable_size", word, pointer)
        self.locate = self._function(handle, "heapsmith_locate", ctypes.c_int64, pointer)
        self.check = self._function(handle, "heapsmith_check", None)
        self.reset = partial(self._function(handle, "heapsmith_reset", None, word), WHOLE_SPANS)
        self._counters = self._function(handle, "heapsmith_counters", None, pointer)
        self.mallinfo2 = mallinfo(handle, "mallinfo2", ctypes.c_size_t)
        self.background: Callable[..., int | None] = lambda events: None
        if hasattr(handle, "heapsmith_background"):
            self.background = self._function(handle, "heapsmith_background", None, word)
            self.background(0)
        self.clock: Callable[..., int | None] = lambda milliseconds: None
        if hasattr(handle, "heapsmith_clock"):
            self.clock = self._function(handle, "heapsmith_clock", None, ctypes.c_uint64)
            self.clock(0)
        self.processor: Callable[..., int | None] = lambda number: None
        for name in ("heapsmith_processor", "heapsmith_runs_on"):
            if hasattr(handle, name):
                self.processor = self._function(handle, name, None, ctypes.c_int32)
                self.processor(0)
        self._row = np.zeros(self._function(handle, "heapsmith_counter_count", word)(), np.int64)
        self._locks: Callable[..., int | None] = lambda counts: None  # a library that does not count them
        if hasattr(handle, "heapsmith_locks"):
            self._locks = self._function(handle, "heapsmith_locks", word, pointer)
        self._lock_row = np.zeros(LOCK_COUNTS, np.int64)

    @staticmethod
    def _function(handle: ctypes.CDLL, name: str, result: object, *arguments: object) -> Callable[..., int]:
        function = handle[name]
        function.restype = result
        function.argtypes = arguments
        return function

    def counters(self) -> NDArray[np.int64]:
        """All counters; the array is overwritten by the next call."""
        self._counters(self._row.ctypes.data)
        return self._row

    def locks(self) -> NDArray[np.int64]:
        """The counts of locks that the model tells too; the array is overwritten by the next call."""
        assert self._locks(None) == LOCK_COUNTS
        self._locks(self._lock_row.ctypes.data)
        return self._lock_row[: len(LOCK_NAMES)]

    def perform(self, op: int, block: int, size: int, align_log2: int) -> int:
        """One operation on the block at address `block` (0: none); the address of the block it returns, else 0."""
        match op:
            case Op.MALLOC:
                return self.malloc(size) or 0
            case Op.CALLOC:
                return self.calloc(1, size) or 0
            case Op.ALIGNED:
                return self.aligned_alloc(1 << align_log2, size) or 0
            case Op.REALLOC:
                return self.realloc(block, size) or 0
            case Op.FREE:
                self.free(block)
            case Op.FREE_SIZED:
                self.free_sized(block, size)
        return 0


class RealThread:
    """A POSIX thread that does what it is given, one job at a time. `join` returns after the thread's destructors ran.

    threading.Thread.join does not wait for those, and they are where a library drains a heap.
    """

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Callable[[], int] | None] = SimpleQueue()
        self._results: SimpleQueue[int | BaseException] = SimpleQueue()
        self._main = THREAD_MAIN(self._work)
        self._id = ctypes.c_ulong()
        assert LIBC.pthread_create(ctypes.byref(self._id), None, self._main, None) == 0

    def _work(self, _: object) -> None:
        while job := self._jobs.get():
            try:
                self._results.put(job())
            except BaseException as error:
                self._results.put(error)

    def do(self, job: Callable[[], int]) -> int:
        """Have the thread call `job`; what it returned."""
        self._jobs.put(job)
        result = self._results.get()
        if isinstance(result, BaseException):
            raise result
        return result

    def join(self) -> None:
        """End the thread and wait until nothing of it is left."""
        self._jobs.put(None)
        assert LIBC.pthread_join(self._id, None) == 0
