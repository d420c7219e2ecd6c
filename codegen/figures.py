"""Audit of the numbers in the emitted C: every enumerator and every table's row is the Plan's."""

from typing import Any

from heapsmith.codegen.claims import Row
from heapsmith.codegen.emitted import Numbers, Unit
from heapsmith.model import policy
from heapsmith.model.design.plan import ClassPlan, Plan

ENUMERATORS = {
    "CLASS_COUNT": "class_count",
    "GRAIN": "grain",
    "SIZE_BIAS": "bias",
    "SMALL_LIMIT": "small_limit",
    "DIRECT_LIMIT": "direct_limit",
    "HUGE_BYTES": "huge_bytes",
    "PAGE_BYTES": "page_bytes",
    "SLAB_BYTES": "slab_bytes",
    "SLAB_SHIFT": "slab_shift",
    "SUPERSLAB_BYTES": "superslab_bytes",
    "BITMAP_WORDS": "bitmap_words",
    "RECIPROCAL_SHIFT": "reciprocal_shift",
    "RUN_BINS": "run_bins",
    "RUN_BEST_OF": "run_best_of",
    "RUN_CACHE_SLOTS": "run_cache_slots",
    "RUN_CACHE_BYTES": "run_cache_bytes",
    "SLAB_BUDGET_BYTES": "slab_budget_bytes",
    "RUN_BUDGET_BYTES": "run_budget_bytes",
    "MOST_BUDGET_BYTES": "most_budget_bytes",
    "BUDGET_GROWTH": "budget_growth",
    "RELEASE_LAZILY": "release_lazily",
    "HUGE_PAGE_BYTES": "huge_page_bytes",
    "THP_ASKED": "thp_asked",
    "THP_SLABS_FROM_BYTES": "thp_slabs_from_bytes",
    "THP_RUNS_FROM_BYTES": "thp_runs_from_bytes",
    "THP_NEVER": "thp_never",
    "TAIL_BYTES": "tail_bytes",
    "GUARD_BYTES": "guard_bytes",
    "QUARANTINE": "quarantine",
    "TRANSFER_SLOTS": "transfer_room",
    "TRANSFER_IDLE": "transfer_idle",
    "QUARANTINE_SLOTS": "quarantine_slots",
    "ENCODE_LINKS": "encode_links",
    "ZERO_FREED": "zero_freed",
    "SLAB_SPAN_BYTES": "slab_span_bytes",
    "SPAN_SLABS": "span_slabs",
    "REGION_BYTES": "region_bytes",
    "REGION_SHIFT": "region_shift",
    "RUN_SPAN_PAGES": "run_span_pages",
    "RUN_STEP_PAGES": "run_step_pages",
    "SMALLEST_SLAB_SPAN": "smallest_slab_span_bytes",
    "SMALLEST_RUN_SPAN": "smallest_run_span_bytes",
    "SLOT_COUNT": "slots_per_heap",
}
"""The field of the Plan that an enumerator of plan.h carries."""


def audit_figures(plan: Plan, unit: Unit) -> list[Row]:
    """One row for the enumerators and one per table."""
    rows = [_row("enumerators", _enumerators(plan), unit.enums)]
    return rows + [_row(name, wanted, unit.tables.get(name)) for name, wanted in _tables(plan).items()]


def _row(name: str, wanted: Any, found: Any) -> Row:
    entries = f"{len(wanted)} entries, " if isinstance(wanted, dict) else ""
    difference = first_difference(name, wanted, found)
    return Row("numbers", name, f"{entries}all the plan's", difference or "as claimed", not difference)


def first_difference(path: str, wanted: Any, found: Any) -> str:
    """The first place where two tables differ, in words; empty if they do not."""
    if not isinstance(wanted, dict) or not isinstance(found, dict):
        return "" if wanted == found else f"{path} is {_word(found)}, the plan says {_word(wanted)}"
    for key in [*wanted, *(key for key in found if key not in wanted)]:
        place = f"{path}[{key}]" if isinstance(key, int) else f"{path}.{key}"
        if key not in wanted:
            return f"{place} is not in the plan"
        if key not in found:
            return f"{place} is missing"
        if difference := first_difference(place, wanted[key], found[key]):
            return difference
    return ""


def _word(value: Any) -> str:
    return "a table" if isinstance(value, dict) else "NULL" if value is None else str(value)


def _enumerators(plan: Plan) -> Numbers:
    table: Numbers = {name: getattr(plan, field) for name, field in ENUMERATORS.items()}
    table["SIZE_CLASS_COUNT"] = len(plan.size_class)
    table |= {f"CLASS_{row.size}": row.index for row in plan.classes}
    return table | {f"SLOT_{row.size}": row.slot_base for row in plan.classes}


def _tables(plan: Plan) -> dict[str, Any]:
    """Every table of plan.c and fast.c."""
    rows = plan.classes
    return {
        "hs_design": f"{plan.design.name} {plan.hash}",
        "hs_class": {row.index: _class_row(row) for row in rows},
        "hs_size_class": dict(enumerate(plan.size_class)),
        "hs_no_heap": {
            "top": dict.fromkeys(range(1 + len(rows)), "nothing + 1"),
            "end": dict.fromkeys(range(1 + len(rows)), "nothing + 1"),
            "front": {row.index: {"held": row.front.capacity + 1} for row in rows},
        },
        "alloc_of": {row.index: f"alloc_{row.size}" for row in rows},
        "free_of": {0: "hs_free_large"} | {1 + row.index: f"free_{row.size}" for row in rows},
    }


def _class_row(row: ClassPlan) -> Numbers:
    front = row.front
    return {
        "usable": row.usable,
        "stride": row.stride,
        "first": row.first,
        "blocks": row.blocks,
        "reciprocal": row.reciprocal,
        "capacity": front.capacity,
        "list_capacity": front.list_capacity,
        "refill": front.refill,
        "flush": front.flush,
        "spill": front.spill,
        "promote": front.promote,
        "slot": row.slot_base,
        "stack": row.stack,
        "transfer": row.transfer,
        "transfer_slot": row.transfer_base,
        "drain": None if (drain := policy.row("front", front.kind).CODE.drain) == "NULL" else drain,
    }
