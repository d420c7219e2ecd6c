"""A census of a heap: which blocks the program has at one moment. What is read then is copied, and looked at later."""

from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heapsmith.model.errors import CheckFailed
from heapsmith.tools.common.process_memory import Gone, Memory, ProcessMemory
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
    """What is read of a process, until `freeze`; then only what was read before.

    room: bytes that may be copied without a request for memory, which takes more time than the copy.
    """

    def __init__(self, memory: ProcessMemory, room: int = 0) -> None:
        self._memory: ProcessMemory | None = memory
        self._room = memoryview(bytearray(b"\1") * room)  # written, so that its pages are there
        self._parts: dict[int, bytes | memoryview] = {}
        self._begins: list[int] = []

    @property
    def size(self) -> int:
        """How many bytes were read."""
        return sum(map(len, self._parts.values()))

    def some(self, address: int, count: int) -> bytes:
        """The bytes from an address on, fewer where the memory, or what was read of it, ends."""
        if self._memory is not None:
            found = self._memory.some(address, count)
            self._parts[address] = found
            return found
        for at in range(bisect_right(self._begins, address) - 1, -1, -1):
            begin = self._begins[at]
            if address + count <= begin + len(self._parts[begin]):
                return bytes(self._parts[begin][address - begin : address - begin + count])
        return b""

    def keep(self, address: int, count: int) -> None:
        """Copy bytes to be read later; Gone if they are not mapped."""
        if count > len(self._room) or self._memory is None:
            self.read(address, count)
            return
        part, self._room = self._room[:count], self._room[count:]
        if self._memory.fill(part, address) != count:
            raise Gone(f"{count} bytes at {address:#x}")
        self._parts[address] = part

    def objects(self) -> Iterator[int]:
        """Nothing: the view is known."""
        return iter(())

    def freeze(self) -> None:
        """From now on the memory is that of the copy."""
        self._memory = None
        self._begins = sorted(self._parts)


def copy_heap(view: View, memory: Copied, library: tuple[int, int]) -> None:
    """Read all that tells live blocks from others: in a few long pieces, as the process stands still meanwhile.

    library: the span of its file and its variables.
    """
    at = view.at
    begin, end = library
    memory.keep(begin, end - begin)
    for first, count in view.slab_spans(memory):
        memory.keep(first, count)
    numbers = view.slab_numbers(memory)
    if len(numbers):
        wide, first = 8 * at["BITMAP_WORDS"], int(numbers.min())
        memory.keep(memory.word(at["marks"]) + wide * first, wide * (1 + int(numbers.max()) - first))
    for heap in view.heaps(memory):
        memory.keep(heap, at["heap_bytes"])
    memory.keep(memory.word(at["runs"] + at["run_span.page"]), at["page"] * view.run_top(memory))
    table, slots = (memory.word(memory.word(at["huge_table"] + 8 * part)) for part in (0, 1))
    memory.keep(table, slots * at["huge"])
    if "transferred" in at:
        memory.keep(at["transferred"], 8 * at["SHARD_TRANSFERS"] * at["TRANSFER_SLOTS"])


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
    if "guarded" in at:
        rows = view.records(memory.read(at["guarded"], at["SAMPLE_GUARDS"] * at["guarded_slot"]), "guarded_slot")
        rows = rows[column(rows, at["guarded_slot.state"], "u1") == at["GUARDED_LIVE"]]
        for of, name in ((starts, "block"), (sizes, "bytes")):
            of.append(column(rows, at[f"guarded_slot.{name}"], "<u8").astype(np.int64))
    every, size = np.concatenate(starts), np.concatenate(sizes)
    order = np.argsort(every)
    return Census(every[order], size[order], view.picture(memory).counters["committed"])
