"""Designs and plans for systems whose pages have 4, 16 or 64 KiB: one library serves all of them."""

from heapsmith.model.constants import MOST_PAGE, PAGE_SIZES
from heapsmith.model.design.design import Design, changed
from heapsmith.model.design.plan import Plan, make_plan

PAGE_NAMES = dict(zip(("4K", "16K", "64K"), PAGE_SIZES, strict=True))
SLABS = 4
"""A superslab keeps at least this number of slabs, or all that it had if that is fewer."""


def fitted(design: Design) -> Design:
    """Return the design with slabs of whole pages, whatever their length; raises BadInput where it cannot have them."""
    if design.slab_bytes >= MOST_PAGE:
        return design
    slabs = min(SLABS, design.superslab_bytes // design.slab_bytes)
    superslab = max(design.superslab_bytes, slabs * MOST_PAGE)
    return changed(design, design.name, {"slab_bytes": MOST_PAGE, "superslab_bytes": superslab})


def plan_for(design: Design, page_bytes: int | None) -> Plan:
    """Return the plan on a system whose pages vary and have this length; None: on x86-64."""
    return make_plan(design) if page_bytes is None else make_plan(fitted(design), page_bytes)
