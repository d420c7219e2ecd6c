"""Audit of the numbers in the emitted C: every enumerator and table row must equal the Plan's."""

from typing import Any

from heapsmith.codegen.claims import Row, drains, entries, judged
from heapsmith.codegen.emitted import Numbers, Unit
from heapsmith.model import policy
from heapsmith.model.design.class_plan import ClassPlan
from heapsmith.model.design.plan import Plan
from heapsmith.model.memory.layout import BELOW_BYTES
from heapsmith.model.parts.levels import DEEPEST

ENUMERATORS = {
    field.upper(): field
    for field in (
        *(
            "class_count",
            "grain",
            "small_limit",
            "direct_limit",
            "huge_bytes",
            "least_page_bytes",
            "slab_bytes",
        ),
        *("slab_shift", "superslab_bytes", "bitmap_words", "reciprocal_shift", "run_bins", "run_best_of"),
        *("slab_budget_bytes", "run_budget_bytes", "most_budget_bytes"),
        *("share_percent", "share_slab_bytes", "share_run_bytes", "share_wait_bytes", "peak_percent"),
        *("share_wait_percent", "share_wait_parts"),
        *("share_miss_bytes", "share_drawn_bytes", "share_lesson_bytes", "remap_bytes", "room_share"),
        *("budget_growth", "shrunk", "release_lazily", "huge_page_bytes"),
        *("tail_bytes", "guard_bytes", "quarantine"),
        *(
            "quarantine_slots",
            "front_records",
            "store_records",
            "stops",
            "check_given",
            "encode_links",
            "zero_freed",
            "slab_span_bytes",
            "span_slabs",
        ),
        *(
            "regions",
            "region_bytes",
            "region_shift",
            "slab_classes_bytes",
            "class_map_bytes",
            "numbered_locks",
            "live_map",
            "run_span_bytes",
            "run_step_bytes",
        ),
    )
} | {
    "SIZE_BIAS": "bias",
    "SLOT_COUNT": "slots_per_heap",
}
"""By enumerator of plan.h: the field of the Plan with its value."""


def audit_figures(plan: Plan, unit: Unit) -> list[Row]:
    """One row for the enumerators and one row per table."""
    rows = [_row("enumerators", _enumerators(plan), unit.enums)]
    return rows + [_row(name, wanted, unit.tables.get(name)) for name, wanted in _tables(plan).items()]


def _row(name: str, wanted: Any, found: Any) -> Row:
    entries = f"{len(wanted)} entries, " if isinstance(wanted, dict) else ""
    difference = first_difference(name, wanted, found)
    return judged("numbers", name, f"{entries}all the plan's", [difference] if difference else [])


def first_difference(path: str, wanted: Any, found: Any) -> str:
    """Describe the first place where two tables differ; empty if they are equal."""
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
    if plan.size_table:
        table["SIZE_CLASS_COUNT"] = len(plan.size_table)
    table["GUARD_SLOTS"] = max(row.front.guard_slots for row in plan.classes)
    if plan.has_levels:
        table |= {"DEEPEST": DEEPEST, "LEVELS_TABLE": int(plan.has_levels_table), "BELOW_BYTES": BELOW_BYTES}
        table["LEVELS_BUMP"] = int(plan.has_stretches_below)
    table |= {name.upper(): number for name, number in (plan.numbers | plan.bounds).items()}
    table |= {f"{room.upper()}_FIRST_LOCK": first for room, first in plan.first_locks.items()}
    table |= {f"CLASS_{row.name}": row.index for row in plan.classes}
    return table | {f"SLOT_{row.name}": row.slot_base for row in plan.classes}


def _tables(plan: Plan) -> dict[str, Any]:
    """Every table of plan.c and fast.c."""
    rows = plan.classes
    return {
        "hs_design": f"{plan.design.name} {plan.hash}",
        "hs_class": {row.index: _class_row(row, drains(plan)) for row in rows},
        **{f"hs_{name}": {row.index: row.numbers[name] for row in rows} for name in rows[0].numbers},
        **({"hs_below": {row.index: _below(row) for row in rows}} if plan.has_levels else {}),
        **({"hs_lend": {row.index: _function(row, "lend") for row in rows}} if plan.design.rounding else {}),
        **({"hs_resize": {row.index: _function(row, "resize") for row in rows}} if plan.design.learner else {}),
        **({"hs_size_class": dict(enumerate(plan.size_table))} if plan.size_table else {}),
        **(_sites(plan) if plan.design.segregation else {}),
        "hs_no_heap": {
            "top": dict.fromkeys(range(1 + len(rows)), None if plan.has_guards else "nothing + 1"),
            "end": dict.fromkeys(range(1 + len(rows)), None if plan.has_guards else "nothing + 1"),
            **({"front": {row.index: {"held": row.front.capacity + 1} for row in rows}} if _has_records(plan) else {}),
        },
        **(_of_classes(plan) if plan.by_table else {}),
    }


def _has_records(plan: Plan) -> bool:
    """Whether a heap has a record of each front."""
    return plan.front_records == plan.class_count


def _of_classes(plan: Plan) -> dict[str, Any]:
    """The tables of what classes do."""
    allocates, frees = zip(*entries(plan), strict=True)
    no_class = ["hs_free_large"] if plan.dispatch == "table" else []
    return {"alloc_of": dict(enumerate(allocates)), "free_of": dict(enumerate([*no_class, *frees]))}


def _sites(plan: Plan) -> dict[str, Any]:
    """The tables of groups of call sites."""
    row, groups = plan.design.row("segregation"), plan.design.segregation
    return {
        "hs_group_class": {number: dict(enumerate(classes)) for number, classes in enumerate(plan.group_classes)},
        "hs_module": dict(enumerate(row.modules(groups))),
        "hs_site": {number: dict(enumerate(place)) for number, place in enumerate(row.places(groups))},
    }


def _below(row: ClassPlan) -> Numbers:
    return {"levels": len(row.below), "level": dict(enumerate(row.below))}


def _function(row: ClassPlan, of: str) -> str | None:
    name = str(getattr(policy.row("front", row.front.kind).CODE, of))
    return None if name == "NULL" else name


def _class_row(row: ClassPlan, numbered: dict[str, int]) -> Numbers:
    numbers: Numbers = {name: getattr(row, name) for name in ("usable", "stride", "first", "blocks", "reciprocal")}
    moved = ("capacity", "list_capacity", "refill", "flush", "spill", "promote")
    numbers |= {name: getattr(row.front, name) for name in moved}
    numbers |= {"slot": row.slot_base, "stack": row.stack}
    return numbers | row.fields | {"drain": numbered.get(policy.row("front", row.front.kind).CODE.drain, 0)}
