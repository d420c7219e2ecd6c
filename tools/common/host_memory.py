"""Free memory that the host of a virtual machine has taken: fetched before a run that needs it."""

import mmap
from contextlib import suppress
from typing import Protocol

from heapsmith.model.constants import HUGE_PAGE
from heapsmith.model.memory.hardware import SPARE_SHARE, free_bytes

MADV_POPULATE_WRITE = 23
"""madvise(2), from Linux 5.14 on; Python has no name for it."""


class Measured(Protocol):
    """A run that tells its memory."""

    @property
    def peak_rss_bytes(self) -> int: ...


def resident(run: Measured | None) -> int:
    """The bytes that a run had; 0 for a run that failed."""
    return run.peak_rss_bytes if run else 0


def fetch(size: int) -> None:
    """Write to `size` bytes of free memory, in huge pages where the system grants them, and free them.

    A guest may report its free blocks of 2 MiB and more to the host, which takes their memory
    (free page reporting of virtio-balloon). The next process that writes there waits for the host,
    up to 30 times as long as for a huge page that the guest has. Does nothing before Linux 5.14, for
    more than half of the free memory, and where the system refuses.
    """
    if not 0 < size <= SPARE_SHARE * free_bytes():
        return
    with suppress(OSError), mmap.mmap(-1, size + HUGE_PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        with suppress(OSError):  # a system without huge pages
            memory.madvise(mmap.MADV_HUGEPAGE)
        memory.madvise(MADV_POPULATE_WRITE)
