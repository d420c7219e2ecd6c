"""Transparent huge pages: which memory lies on them (docs/machine-rooms.md), by madvise(2).

Each row has `huge_runs(design, fills)`, whether pages of the run span lie on huge pages where the
program fills what it asks for, or not, and `beyond_small_pages(plan, superslabs, run_span_bytes,
fills)`, the bytes of slabs and of runs that may lie there. WHOLE: each superslab does, so that none
has guard slabs. BY_PLACE: it depends on the place of memory.
"""

from heapsmith.model.compile.dispatch import rows_of

ROWS = rows_of(__name__, __path__)
NEEDED = ("huge_runs", "beyond_small_pages")
"""What each row has."""
