"""Touches: the memory accesses and branches of a heap and its program, for a listener.

All state of a listener is one array, `listener`, from model/memory/listener.py. SINK selects the
listener; kernel.compiled(entry, SINK=...) and kernel.specialised make simulators with another
listener. With NONE, each function here compiles to nothing. Addresses are bytes below 2^46.
"""

from heapsmith.model.compile.kernel import Ints, hit_path, kernel, large_hit_path
from heapsmith.model.memory import listener_words as words
from heapsmith.model.memory.branches import predict
from heapsmith.model.memory.cache import look, look_through, populate, switch_to
from heapsmith.model.memory.cold_paths import take
from heapsmith.model.memory.distances import measure
from heapsmith.model.memory.resident import PAGE_SHIFT, become_huge, leave_memory, move_memory

NONE, CACHES, LOG, DISTANCES = 0, 1, 2, 3
SINK = NONE
"""The listener: none; caches, TLBs, page tables and branch predictors; a log; reuse distances."""


@large_hit_path
def touch(listener: Ints, address: int, write: int) -> None:
    """Access bytes within a line. write: 1 if the access may change memory, else 0."""
    if SINK == CACHES:
        look(listener, address, write)
    elif SINK == LOG:
        log(listener, address >> listener[words.LINE_SHIFT], write)
    elif SINK == DISTANCES:
        measure(listener, address >> listener[words.LINE_SHIFT])


@hit_path
def touch_bytes(listener: Ints, address: int, size: int, write: int) -> None:
    """Access every line of [address, address + size) in ascending order."""
    if SINK == CACHES:
        if size > 0:
            look_through(listener, address, size, write)
    elif SINK != NONE:
        touch_lines(listener, address, size, write)


@kernel
def touch_lines(listener: Ints, address: int, size: int, write: int) -> None:
    """Do `touch_bytes` line by line."""
    shift = int(listener[words.LINE_SHIFT])
    for line in range(address >> shift, (address + size + (1 << shift) - 1) >> shift if size > 0 else 0):
        touch(listener, line << shift, write)


@hit_path
def branch(listener: Ints, number: int, target: int) -> None:
    """Follow a branch of model/memory/branches.py to its target."""
    if SINK == CACHES:
        predict(listener, number, target)


@hit_path
def takes(listener: Ints, path: int) -> None:
    """Take a slow path of model/memory/cold_paths.py."""
    if SINK == CACHES:
        take(listener, path)


@hit_path
def gone(listener: Ints, address: int, size: int) -> None:
    """Take whole pages out of memory and all TLBs: they went back to the OS (madvise, munmap)."""
    if SINK == CACHES:
        leave_memory(listener, address, size)


@hit_path
def moved(listener: Ints, address: int, to: int, size: int) -> None:
    """Move whole pages with what they hold: mremap."""
    if SINK == CACHES:
        move_memory(listener, address, to, size)


@hit_path
def populated(listener: Ints, address: int, size: int) -> None:
    """Make whole pages resident with one call, each with its fault."""
    if SINK == CACHES:
        populate(listener, address, size)


@hit_path
def on_huge(listener: Ints, address: int, size: int) -> None:
    """Put whole frames of 2 MiB on huge pages: the first touch makes a whole frame resident.

    As in Linux, a frame with resident small pages stays on small pages until all of them are gone.
    """
    if SINK == CACHES:
        become_huge(listener, address, size)


@hit_path
def acts(listener: Ints, number: int) -> None:
    """Let the core of this number, modulo the cores, do the following touches."""
    if SINK == CACHES and listener[words.ACTOR] != number:
        switch_to(listener, number)


@hit_path
def tick(listener: Ints, passed: int) -> None:
    """End an event, behind which so much time passes: add the resident pages to the sum for the average."""
    if SINK == CACHES:
        listener[words.EVENTS] += 1
        listener[words.ELAPSED] += passed
        listener[words.RESIDENT_SUM] += (listener[words.RESIDENT_BYTES] >> PAGE_SHIFT) * passed


@kernel
def resident_bytes(listener: Ints) -> int:
    """Return the resident bytes of the page tables; 0 without page tables."""
    if SINK == CACHES:
        return int(listener[words.RESIDENT_BYTES])
    return 0


@hit_path
def room_for(listener: Ints, size: int) -> bool:
    """Return whether the tables suffice for an event that touches up to `size` new bytes.

    Otherwise the caller must first call Listener.make_room(size, threads). Small scattered pieces
    (slabs, metadata) need not be counted: there is always room for some hundred places.
    """
    if SINK in (NONE, LOG):
        return True
    return bool(size <= listener[words.ROOM])


@kernel
def log(listener: Ints, line: int, write: int) -> None:
    """Add an entry to the log: the address of the line, and the write flag in bit 0."""
    place = int(listener[words.LOG_AT]) + int(listener[words.LOGGED])
    if place == listener[words.LOG_END]:
        listener[words.LOST] += 1
        return
    listener[place] = (line << listener[words.LINE_SHIFT]) | write
    listener[words.LOGGED] += 1
