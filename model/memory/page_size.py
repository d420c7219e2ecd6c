"""Pages of a system: the constants of kernels where a page has another length than 4 KiB."""

from functools import cache

from heapsmith.model.compile.kernel import Kernel, specialised, used
from heapsmith.model.constants import HUGE_PAGE, PAGE


def page_constants(page_bytes: int) -> dict[str, int]:
    """Return the constants of kernels that follow the length of a page; none for that of their modules."""
    if page_bytes == PAGE:
        return {}
    pages = HUGE_PAGE // page_bytes
    return {
        "PAGE": page_bytes,
        "PAGE_SHIFT": page_bytes.bit_length() - 1,
        "FRAME_SHIFT": pages.bit_length() - 1,
        "FRAME_PAGES": pages,
        "HUGE_PAGES": pages,
        "HUGE_SLOT_BYTES": (1 << 33) - 37 * page_bytes,
    }


@cache
def plain(entry: Kernel, page_bytes: int) -> Kernel:
    """Return a kernel as plain Python for pages of this length."""
    constants = used(entry, page_constants(page_bytes))
    return specialised(entry, **constants) if constants else entry
