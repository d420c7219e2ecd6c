"""Touches: the memory that the machine and its program read and write, and branches, told to whatever listens.

All state is one array, `touched` (model/memory/touched.py makes it). SINK says who listens;
kernel.compiled(entry, SINK=...) and kernel.specialised make machines with another listener. With NONE each function
here compiles to nothing.
Addresses are bytes, from 0 to below 2^46.
"""

from heapsmith.model.compile.kernel import Ints, hit_path, kernel, large_hit_path
from heapsmith.model.memory.branches import predict
from heapsmith.model.memory.cache import look, look_through, switch_to
from heapsmith.model.memory.distances import measure
from heapsmith.model.memory.resident import become_huge, leave_memory
from heapsmith.model.memory.words import (
    EVENTS,
    LINE_SHIFT,
    LOG_AT,
    LOG_END,
    LOGGED,
    LOST,
    RESIDENT_BYTES,
    RESIDENT_SUM,
    ROOM,
    THREAD,
)

NONE, CACHES, LOG, DISTANCES = 0, 1, 2, 3
SINK = NONE
"""Who listens: nobody; caches, TLBs, page tables and branch predictors; a log; reuse distances."""


@large_hit_path
def touch(touched: Ints, address: int, write: int) -> None:
    """One access within a line. write: 1 if it may change memory, else 0."""
    if SINK == CACHES:
        look(touched, address, write)
    elif SINK == LOG:
        log(touched, address >> touched[LINE_SHIFT], write)
    elif SINK == DISTANCES:
        measure(touched, address >> touched[LINE_SHIFT])


@hit_path
def touch_bytes(touched: Ints, address: int, size: int, write: int) -> None:
    """Every line of [address, address + size), ascending."""
    if SINK == CACHES:
        if size > 0:
            look_through(touched, address, size, write)
    elif SINK != NONE:
        touch_lines(touched, address, size, write)


@kernel
def touch_lines(touched: Ints, address: int, size: int, write: int) -> None:
    """`touch_bytes` line by line."""
    shift = int(touched[LINE_SHIFT])
    for line in range(address >> shift, (address + size + (1 << shift) - 1) >> shift if size > 0 else 0):
        touch(touched, line << shift, write)


@hit_path
def branch(touched: Ints, number: int, target: int) -> None:
    """A branch of model/memory/branches.py goes to a target."""
    if SINK == CACHES:
        predict(touched, number, target)


@hit_path
def gone(touched: Ints, address: int, size: int) -> None:
    """These whole pages went back to the OS (madvise, munmap): not resident, not in any TLB."""
    if SINK == CACHES:
        leave_memory(touched, address, size)


@hit_path
def on_huge(touched: Ints, address: int, size: int) -> None:
    """From now on these whole frames of 2 MiB lie on huge pages: the first touch of one makes all of it resident.

    As in Linux, a frame of which small pages are resident already stays on small pages until they are gone.
    """
    if SINK == CACHES:
        become_huge(touched, address, size)


@hit_path
def acts(touched: Ints, thread: int) -> None:
    """The following touches are this thread's: they go to what its core has of its own."""
    if SINK == CACHES and touched[THREAD] != thread:
        switch_to(touched, thread)


@hit_path
def tick(touched: Ints) -> None:
    """An event ends: what is resident now counts for the average."""
    if SINK == CACHES:
        touched[EVENTS] += 1
        touched[RESIDENT_SUM] += touched[RESIDENT_BYTES]


@kernel
def resident_bytes(touched: Ints) -> int:
    """The bytes resident now, as the page tables know them; 0 where none listen."""
    if SINK == CACHES:
        return int(touched[RESIDENT_BYTES])
    return 0


@hit_path
def room_for(touched: Ints, size: int) -> bool:
    """Whether the tables do for an event that touches up to `size` bytes for the first time, in a run or a few.

    If not, Touched.make_room(size, threads) must be called before it. What an event touches in small pieces all over
    (its slabs, its metadata) need not be counted: there is always room for some hundred places.
    """
    if SINK == NONE:
        return True
    if SINK == LOG:
        return True
    return bool(size <= touched[ROOM])


@kernel
def log(touched: Ints, line: int, write: int) -> None:
    """One more entry of the log: the address of the line, the write flag in bit 0."""
    place = int(touched[LOG_AT]) + int(touched[LOGGED])
    if place == touched[LOG_END]:
        touched[LOST] += 1
        return
    touched[place] = (line << touched[LINE_SHIFT]) | write
    touched[LOGGED] += 1
