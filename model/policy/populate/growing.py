"""Populate growing: the more slabs a class has, the more of their pages become resident by one call."""

from typing import Any

import msgspec

from heapsmith.model.constants import HUGE_PAGE, PAGE

NAME = "growing"
MOMENTS = ("slab_acquired", "slab_retired", "reset")
NUMBERS = ("populate_most", "populate_share")
MOST_SHARE = 1 << 20


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """Fresh blocks of a class with many slabs bring several pages at once; large blocks bring none.

    pages: most pages of a batch, a power of two; share: a batch is at most this part of the bytes
    of the slabs that the class has. So what nobody touches is a small part of the class, and a
    class with few slabs makes no call.
    """

    pages: int = 16
    share: int = 32


def why_not_valid(params: Params) -> str | None:
    """Return why there is no such batch, or None."""
    most = HUGE_PAGE // PAGE
    if not 1 <= params.pages <= most or params.pages & (params.pages - 1):
        return f"pages: {params.pages}; expected a power of two, 1 to {most}"
    if not 1 <= params.share <= MOST_SHARE:
        return f"share: {params.share}; expected 1 to {MOST_SHARE}"
    return None


def numbers(design: Any) -> dict[str, int]:
    """Return the most pages of a batch, and the part of the class's slabs."""
    return {"populate_most": design.populate.pages, "populate_share": design.populate.share}
