"""Deliberately bad designs: each does one thing as nobody should, so that a prediction has something to tell apart."""

from typing import Any

from msgspec.structs import replace

from heapsmith.model.design.design import Design, load
from heapsmith.model.policy.front import array_stack as front_array_stack
from heapsmith.model.policy.front import fifo_ring as front_fifo_ring
from heapsmith.model.policy.front import linked_list as front_linked_list
from heapsmith.model.policy.front import none as front_none
from heapsmith.model.policy.front import two_level as front_two_level
from heapsmith.model.policy.release import budget

POWERS = [16 << doubling for doubling in range(12)]


def bad_designs() -> list[Design]:
    """They are valid, and named for what is bad about them."""
    base = load("default")
    two_level = front_two_level.Params(capacity=2, list_capacity=4, refill=1)
    eager = budget.Params(slab_budget_bytes=0, run_budget_bytes=0, most_budget_bytes=0)
    small = [size for size in base.sizes if size <= 2048]
    changes: dict[str, dict[str, Any]] = {
        "bad-one-block": {"front": front_array_stack.Params(capacity=1, refill=1), "transfer_bytes": 0},
        "bad-two-listed": {"front": front_linked_list.Params(capacity=2, refill=1)},
        "bad-two-ringed": {"front": front_fifo_ring.Params(capacity=2, refill=1)},
        "bad-two-levels": {"front": two_level, "remote": "owner_list", "transfer_bytes": 0},
        "bad-powers": {"sizes": POWERS},
        "bad-no-front": {"front": front_none.Params()},
        "bad-tiny-slabs": {
            "sizes": small,
            "slab_bytes": 4096,
            "superslab_bytes": 16384,
            "slab_span_bytes": 1 << 36,
            "thp": "system",
            "slab_choice": "address_ordered",
        },
        "bad-runs": {"sizes": [16, 32, 48, 64, 80, 96, 112, 128], "run_cache_bytes": 0},
        "bad-mapped": {"huge_bytes": 65536},
        "bad-eager": {"release": eager, "front": front_array_stack.Params(capacity=8), "run_cache_bytes": 0},
    }
    return [replace(base, name=name, about="", **fields) for name, fields in changes.items()]
