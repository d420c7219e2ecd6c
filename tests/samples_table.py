"""The table of samples (runtime/heap/9_api/sampling/samples.c) as a library of its own, driven from Python."""

import ctypes
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from preloaded import PROGRAMS

from heapsmith.codegen.generate import generate
from heapsmith.codegen.layers import HEAP
from heapsmith.codegen.toolchain import build_tool
from heapsmith.model.design.design import load
from heapsmith.model.files import scratch
from heapsmith.tools.sampled.process import HEAD
from heapsmith.tools.sampled.snapshot import SAMPLE, SITE

FILES = (
    *("9_api/sampling/samples.c", "9_api/sampling/profile.c", "9_api/whole_file.c"),
    *("1_base/text.c", "1_base/unwind.c", "1_base/call_stack.c", "1_base/definitions.c"),
    *("2_system/lock.c", "2_system/locks.c", "2_system/over_fork.c"),
)
FLAGS = (
    *("-std=gnu17", "-O1", "-g", "-pthread", "-Wall", "-Wextra", "-Wno-unused-parameter", "-ftls-model=initial-exec"),
    *("-static-libgcc", "-Wl,--exclude-libs,ALL", "-DHEAPSMITH_ARCHIVE=1"),  # whose own frames are shown
)
MOST_SAMPLES, PLACES, MOST_SITES = 1 << 14, 1 << 15, 1 << 13
COPY = np.dtype([("head", HEAD), ("sample", SAMPLE, PLACES), ("site", SITE, MOST_SITES)])


@cache
def table() -> ctypes.CDLL:
    """The table, in this process."""
    made = ctypes.CDLL(str(built("samples.so", "-shared", "-fPIC")), use_errno=True)
    made.hs_samples_copy.restype = ctypes.c_void_p
    made.sample_below.argtypes = [ctypes.c_size_t, ctypes.c_uint, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint64]
    made.hs_sample_freed.argtypes = made.hs_samples_drop.argtypes = [ctypes.c_void_p]
    made.hs_sample_moved.argtypes = [ctypes.c_void_p, ctypes.c_uint64]
    made.hs_sample_number.argtypes, made.hs_sample_number.restype = [ctypes.c_void_p], ctypes.c_uint64
    return made


def built(name: str, *flags: str, sources: Sequence[Path] = ()) -> Path:
    """The table and its program, compiled with these flags too."""
    with scratch() as emitted:
        generate(load("sampled"), emitted)
        files = [PROGRAMS / "samples.c", *(HEAP / file for file in FILES), *sources]
        return build_tool(name, files, [*FLAGS, *flags], include=[emitted, HEAP])


def taken(block: int, size: int, mean: int = 1000, path: int = 0, bits: int = 4) -> None:
    """A sample by one of 2**bits call stacks."""
    table().sample_below(path, bits, block, size, mean)


def freed(block: int) -> None:
    table().hs_sample_freed(block)


def seen() -> Any:
    """A copy of the tables: the head, all places of samples, and all sites."""
    at = table().hs_samples_copy()
    assert at
    raw = ctypes.string_at(at, COPY.itemsize)
    table().hs_samples_drop(at)
    return np.frombuffer(raw, COPY)[0]


def live(copy: Any) -> dict[int, int]:
    """The bytes of each live block."""
    rows: NDArray[Any] = copy["sample"]
    rows = rows[rows["block"] != 0]
    return dict(zip(rows["block"].tolist(), rows["bytes"].tolist(), strict=True))


def home(block: int) -> int:
    """Where the search for a block begins."""
    group, inside = divmod(block >> 12, 64)
    return ((group * 0x9E3779B97F4A7C15 & (1 << 64) - 1) >> 32 << 6 | inside) & PLACES - 1
