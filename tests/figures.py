"""What mallinfo2, mallinfo, malloc_stats and malloc_info say of a heap, held against its counters and live blocks."""

import ctypes
import os
import signal
import tempfile
from pathlib import Path

from loaded import LIBC, MALLINFO, Loaded, mallinfo

from heapsmith.model.design.plan import Plan
from heapsmith.model.parts.counters import COUNTS, TOTALS

TIMEOUT_S = 120
BLOCKS = 90
"""Of each class; a half of them is freed, and then two thirds of the rest."""


def wrong_figures(library: Path, plan: Plan) -> str | None:
    """The first figure of a checked library at level full that is not what it has to be, in a process of its own."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(TIMEOUT_S)
        try:
            _crowd(library, plan)
            found = ""
        except BaseException as error:
            found = f"figures: {type(error).__name__} {error}"
        os.write(writing, found.encode()[:4000])
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        found = pipe.read().decode()
    status = os.waitpid(child, 0)[1]
    return found or (f"ended with status {status}" if status else None)


def _crowd(library: Path, plan: Plan) -> None:
    """Small blocks, runs and huge blocks, some of them freed: figures before, between and after."""
    heap, handle = Loaded(library), ctypes.CDLL(str(library))
    live = [(heap.malloc(row.usable), row.usable) for row in plan.classes for _ in range(BLOCKS)]
    live += [(heap.malloc(size), size) for size in (plan.small_limit + 1, 100_000, 100_000, plan.huge_bytes)]
    live += [(heap.malloc(size), size) for size in (plan.huge_bytes + 1, 2 * plan.huge_bytes)]
    for step in (2, 3):
        _hold(heap, handle, plan, [size for _, size in live])
        for address, _ in [block for index, block in enumerate(live) if index % step]:
            heap.free(address)
        live = live[::step]
    _hold(heap, handle, plan, [size for _, size in live])
    assert handle.malloc_trim(0) == 1
    assert mallinfo(handle, "mallinfo2", ctypes.c_size_t)()["smblks"] == plan.quarantine
    assert [handle.mallopt(which, 0) for which in (-9, -8, -1, 0, 1, 4, 5)] == [0, 1, 1, 0, 1, 1, 0]
    assert handle.malloc_info(1, None) != 0
    _whole_pages(heap, handle, plan)
    _keyed(heap, plan)


def _whole_pages(heap: Loaded, handle: ctypes.CDLL, plan: Plan) -> None:
    """pvalloc of whole pages gives no more than valloc."""
    pages = []
    for name in ("valloc", "pvalloc"):
        function = handle[name]
        function.restype, function.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
        pages.append(heap.usable_size(function(3 * plan.page_bytes)))
    assert pages[0] == pages[1], "pvalloc of whole pages is as valloc"


def _keyed(heap: Loaded, plan: Plan) -> None:
    """The canary behind a block cannot be told from its address (runtime/heap/4_blocks/hardening/full.h): key 0."""
    row = plan.classes[-1]
    end = heap.malloc(row.usable) + row.usable
    without_key = (end | 1) * 0x9E3779B97F4A7C15 % (1 << 64)
    assert ctypes.string_at(end, plan.tail_bytes) != without_key.to_bytes(8, "little"), "the process has a key"


def _hold(heap: Loaded, handle: ctypes.CDLL, plan: Plan, live: list[int]) -> None:
    """Every figure is what the counters and the live blocks' sizes make it, and all four functions say the same."""
    row = [int(count) for count in heap.counters()]
    total = dict(zip(TOTALS, row, strict=False))
    starts = range(len(TOTALS), len(row), len(COUNTS))
    of_class = [dict(zip(COUNTS, row[start : start + len(COUNTS)], strict=True)) for start in starts]
    small = [plan.size_class[-(-(size + plan.bias) // plan.grain)] for size in live if size <= plan.small_limit]
    page = plan.page_bytes
    in_runs = [size + plan.tail_bytes for size in live if plan.small_limit < size <= plan.huge_bytes]
    runs = sum(-(-size // page) * page for size in in_runs)
    huge = [-(-size // page) * page for size in live if size > plan.huge_bytes]
    parked = [
        count["refilled"]
        - count["flushed"]
        - count["direct"]
        + count["transfer_in"]
        - count["transfer_out"]
        - count["transfer_back"]
        for count in of_class
    ]
    parked = [count - small.count(index) for index, count in enumerate(parked)]
    fast = sum(count * plan.classes[index].stride for index, count in enumerate(parked))
    used = sum(plan.classes[index].stride for index in small)
    slab, run = _stats(handle, plan, total, used + runs, huge)
    empty = total["slabs"] - sum(count["acquire"] - count["retire"] for count in of_class)
    keep = min(empty * plan.slab_bytes, slab - used - fast) + run - runs
    arena = total["committed"] - sum(huge)
    values = (arena, empty, sum(parked), len(huge), sum(huge), 0, fast, used + runs, arena - used - runs, keep)
    expected = dict(zip(MALLINFO, values, strict=True))
    assert slab + run == arena
    assert mallinfo(handle, "mallinfo2", ctypes.c_size_t)() == expected
    assert mallinfo(handle, "mallinfo", ctypes.c_int)() == expected
    assert _info(handle) == _expected_info(plan, expected, total["committed_peak"], parked)


def _stats(handle: ctypes.CDLL, plan: Plan, total: dict[str, int], used: int, huge: list[int]) -> tuple[int, int]:
    """Slab bytes and run bytes, which malloc_stats alone tells apart; its other lines are as expected."""
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        handle.malloc_stats()
        file.seek(0)
        head, *lines = file.read().decode().splitlines()
    said = {name.strip(): int(value) for name, value in (line.split("=") for line in lines)}
    slab, run = said.pop("slab bytes"), said.pop("run bytes")
    assert head == f"heapsmith {plan.design.name} {plan.hash}"
    assert said == {
        "in use bytes": used,
        "free bytes": slab + run - used,
        "huge blocks": len(huge),
        "huge bytes": sum(huge),
        "max system bytes": total["committed_peak"],
    }
    return slab, run


def _info(handle: ctypes.CDLL) -> list[str]:
    """The lines that malloc_info writes."""
    with tempfile.NamedTemporaryFile() as file:
        LIBC.fopen.restype = ctypes.c_void_p
        stream = ctypes.c_void_p(LIBC.fopen(file.name.encode(), b"w"))
        assert handle.malloc_info(0, stream) == 0
        LIBC.fclose(stream)
        return file.read().decode().splitlines()


def _expected_info(plan: Plan, figures: dict[str, int], peak: int, parked: list[int]) -> list[str]:
    """The document of malloc_info(3): parked blocks by class, and the totals of mallinfo2 twice."""
    arena, fast, blocks = figures["arena"], figures["fsmblks"], figures["smblks"]
    sizes = []
    for row, count in zip(plan.classes, parked, strict=True):
        begin = 0 if row.index == 0 else plan.classes[row.index - 1].usable + 1
        if count:
            sizes.append(f'  <size from="{begin}" to="{row.usable}" total="{count * row.stride}" count="{count}"/>')
    totals = [
        f'<total type="fast" count="{blocks}" size="{fast}"/>',
        f'<total type="rest" count="{figures["ordblks"]}" size="{figures["fordblks"] - fast}"/>',
    ]
    system = [
        f'<system type="current" size="{arena}"/>',
        f'<system type="max" size="{peak}"/>',
        f'<aspace type="total" size="{arena}"/>',
        f'<aspace type="mprotect" size="{arena}"/>',
    ]
    mapped = f'<total type="mmap" count="{figures["hblks"]}" size="{figures["hblkhd"]}"/>'
    heap = ['<heap nr="0">', "<sizes>", *sizes, "</sizes>", *totals, *system, "</heap>"]
    return ['<malloc version="1">', *heap, *totals, mapped, *system, "</malloc>"]
