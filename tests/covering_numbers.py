"""Numbers of the covering designs (covering.py): tiny slabs, fronts, budgets and delays, in turns."""

from typing import Any

GEOMETRIES: tuple[dict[str, Any], ...] = (
    {"sizes": [16, 48, 256, 512, 1024, 1360, 2048], "slab_bytes": 4096, "superslab_bytes": 8192, "huge_bytes": 65_536},
    {
        "sizes": [16, 32, 144, 1024, 2032, 2720, 4096],
        "slab_bytes": 8192,
        "superslab_bytes": 8192,
        "huge_bytes": 1 << 20,
    },
    {"sizes": [48, 80, 336, 800, 1360, 4080], "slab_bytes": 4096, "superslab_bytes": 16_384, "huge_bytes": 8192},
)
TINY_SIZES = [8, 16, 32, 48, 64, 80, 800, 816, 1360, 2032]
"""Block sizes where the grain may be 8."""

POWERS = [32, 64, 128, 256, 512, 1024, 2048]
"""Block sizes where blocks are numbered by a shift."""


def _level(kind: str, capacity: int, spill: int | None = None) -> dict[str, Any]:
    """Return a level of a front as a design file has it."""
    return {"kind": kind, "capacity": capacity} | ({} if spill is None else {"spill": spill})


NUMBERS: tuple[dict[str, Any], ...] = (
    {"capacity": 4, "list_capacity": 5, "refill": 3, "flush": 2, "spill": 2, "promote": 2}
    | {
        "levels": [
            *(_level(*one) for one in (("array_stack", 4, 2), ("fifo_ring", 4), ("linked_list", 5), ("bump", 6)))
        ]
    },
    {"capacity": 1, "list_capacity": 2, "refill": 1, "flush": 1, "spill": 1, "promote": 1}
    | {"levels": [_level("bump", 2), _level("fifo_ring", 1), _level("array_stack", 2)]},
    {"capacity": 8, "list_capacity": 9, "refill": 8, "flush": 8, "spill": 3, "promote": 7}
    | {
        "levels": [
            _level(*one) for one in (("array_stack", 2), ("array_stack", 8, 3), ("fifo_ring", 8), ("linked_list", 9))
        ]
    }
    | {"hot": True},
    {"capacity": 5, "list_capacity": 6, "refill": "never", "flush": 3, "spill": 2, "promote": 3}
    | {"levels": [_level("linked_list", 5), _level("linked_list", 6), _level("array_stack", 6)]},
)
"""For the fronts' parameters of those names, whichever front has them."""

BUDGETS: tuple[dict[str, Any], ...] = (
    {"slab_budget_bytes": 20_000, "run_budget_bytes": 16_384, "most_budget_bytes": 1 << 20, "advice": "dontneed"}
    | {"limit_percent": 75, "limit_bytes": 2_000_000},
    {"slab_budget_bytes": 8192, "run_budget_bytes": 65_536, "most_budget_bytes": 0, "advice": "free"}
    | {"limit_percent": 50},
    {"slab_budget_bytes": 0, "run_budget_bytes": 0, "most_budget_bytes": 24_000, "advice": "dontneed"},
)
DELAYS: tuple[dict[str, Any], ...] = (
    {"delay": 3, "most": 1},
    {"delay": 1, "most": 4, "advice": "free"},
    {"delay": 30_000, "unit": "bytes", "most": 2},
    {"delay": 2, "unit": "milliseconds", "most": 1},
)
EVEN_STEPS = [32, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048]
"""Block sizes with two steps per doubling, for a lookup that computes the class."""

QUARANTINES = (3, 0, 8)
RUN_CACHES = (65_536, 8192)
TRANSFERS = (4096, 65_536)
OPENINGS: tuple[dict[str, Any], ...] = (
    {"misses": 2, "first_blocks": 0, "idle_percent": 0, "compact_blocks": 0, "frees": 0},
    {"misses": 3, "first_blocks": 1, "idle_percent": 10, "compact_blocks": 2, "frees": 3},
    {"misses": 2, "first_blocks": 2, "idle_percent": 50, "compact_blocks": 5, "frees": 1},
)
