"""A census of a heap: which blocks the program has at one moment. What is read then is copied, and looked at later."""

from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heapsmith.model.errors import CheckFailed
from heapsmith.tools.common.process_memory import Memory
from heapsmith.tools.top.blocks import Blocks
from heapsmith.tools.top.view import View, column


class Census(NamedTuple):
    """The live blocks: addresses, and the bytes that the program may use of each.

    heap_bytes: what the heap had of the system.
    """

    addresses: NDArray[np.int64]
    sizes: NDArray[np.int64]
    heap_bytes: int


class Copied(Memory):
    """What was read of a memory, until `freeze`; then only what was read before."""

    def __init__(self, memory: Memory) -> None:
        self._memory: Memory | None = memory
        self._parts: dict[int, bytes] = {}
        self._begins: list[int] = []

    def some(self, address: int, count: int) -> bytes:
        """The bytes from an address on, fewer where the memory, or what was read of it, ends."""
        if self._memory is not None:
            found = self._memory.some(address, count)
            if len(found) > len(self._parts.get(address, b"")):
                self._parts[address] = found
            return found
        for at in range(bisect_right(self._begins, address) - 1, -1, -1):
            begin = self._begins[at]
            part = self._parts[begin]
            if address + count <= begin + len(part):
                return part[address - begin : address - begin + count]
            if at and begin + self._longest < address:
                break
        return b""

    def objects(self) -> Iterator[int]:
        """Nothing: the view is known."""
        return iter(())

    def freeze(self) -> None:
        """From now on the memory is that of the copy."""
        self._memory = None
        self._begins = sorted(self._parts)
        self._longest = max(map(len, self._parts.values()), default=0)


def copy_heap(view: View, memory: Copied, library: tuple[int, int]) -> None:
    """Read all that tells live blocks from others: in a few long pieces, as the process stands still meanwhile.

    library: the span of its file and its variables.
    """
    at = view.at
    begin, end = library
    memory.some(begin, end - begin)
    view.slab_records(memory)
    numbers = view.slab_numbers(memory)
    if len(numbers):
        wide, first = 8 * at["BITMAP_WORDS"], int(numbers.min())
        memory.read(memory.word(at["marks"]) + wide * first, wide * (1 + int(numbers.max()) - first))
    for heap in view.heaps(memory):
        memory.some(heap, at["heap_bytes"])
    view.run_pages(memory)
    table, slots = (memory.word(memory.word(at["huge_table"] + 8 * part)) for part in (0, 1))
    memory.read(table, slots * at["huge"])
    if "transferred" in at:
        memory.read(at["transferred"], 8 * at["SHARD_TRANSFERS"] * at["TRANSFER_SLOTS"])


def census(view: View, memory: Copied) -> Census:
    """The live blocks of a copy, by ascending address. CheckFailed where the heap's records contradict each other."""
    at, blocks = view.at, Blocks(memory, view)
    if blocks.damage or any(blocks.hidden):
        what = blocks.damage[0] if blocks.damage else f"{sum(blocks.hidden)} blocks are neither live nor free"
        raise CheckFailed(f"{view.design}: {what}")
    starts, sizes = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for slab in blocks.slabs.values():
        if not slab.is_empty:
            live = np.flatnonzero(blocks.live(slab))
            starts.append(slab.start + blocks.first(slab.size_class) + live * blocks.stride(slab.size_class))
            sizes.append(np.full(len(live), int(view.usable[slab.size_class])))
    page, tail = view.page_bytes(memory), at["TAIL_BYTES"]
    state, length, _ = view.run_pages(memory)
    heads = np.flatnonzero(state == at["RUN_USED"])
    starts.append(memory.word(at["runs"] + at["run_span.start"]) + heads * page)
    sizes.append(length[heads] * page - tail)
    table, slots = (memory.word(memory.word(at["huge_table"] + 8 * part)) for part in (0, 1))
    rows = view.records(memory.read(table, slots * at["huge"]), "huge")
    huge, pages = (column(rows, at[f"huge.{name}"], "<u8").astype(np.int64) for name in ("start", "pages"))
    starts.append(huge[huge != 0])
    sizes.append(pages[huge != 0] * page)
    every, size = np.concatenate(starts), np.concatenate(sizes)
    order = np.argsort(every)
    return Census(every[order], size[order], view.picture(memory).counters["committed"])
