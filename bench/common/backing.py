"""Free memory that the host of a virtual machine has taken: fetched before a run that needs it."""

import mmap
from contextlib import suppress

from heapsmith.model.constants import HUGE_PAGE
from heapsmith.model.memory.hardware import free_bytes

FREE_SHARE = 0.5
"""The most of the free memory that is fetched: more could make the system kill a process."""

MADV_POPULATE_WRITE = 23
"""madvise(2), from Linux 5.14 on; Python has no name for it."""


def fetch(size: int) -> None:
    """Write to `size` bytes of free memory, in huge pages where the system grants them, and free them.

    A guest may report its free blocks of 2 MiB and more to the host, which takes their memory
    (free page reporting of virtio-balloon). The next process that writes there waits for the host,
    up to 30 times as long as for a huge page that the guest has. Does nothing before Linux 5.14, for
    more than half of the free memory, and where the system refuses.
    """
    if not 0 < size <= FREE_SHARE * free_bytes():
        return
    with suppress(OSError), mmap.mmap(-1, size + HUGE_PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        with suppress(OSError):  # a system without huge pages
            memory.madvise(mmap.MADV_HUGEPAGE)
        memory.madvise(MADV_POPULATE_WRITE)
