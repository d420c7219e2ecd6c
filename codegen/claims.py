"""What the emitted comments claim of the hit paths, and the slow paths they may leave for; the audit proves both.

Counted are machine instructions that read memory, write it, or branch on a condition; one that updates memory is a
load and a store. Addresses made without memory (lea), jumps always taken and the return are not counted. These are the
figures of GCC 12 for x86-64 with codegen/build.py's flags; under another compiler the audit says what it found.
"""

from typing import NamedTuple

import msgspec

from heapsmith.model.design.plan import ClassPlan, Plan
from heapsmith.model.memory import layout


class Row(msgspec.Struct, frozen=True):
    """One claim of the emitted C held against what was found: `check` names the kind, `name` the function or table."""

    check: str
    name: str
    claim: str
    found: str
    ok: bool


class Hit(NamedTuple):
    """Machine instructions of one hit path that read memory, write it, and branch on a condition."""

    loads: int
    stores: int
    branches: int

    def __str__(self) -> str:
        """For example: 4 loads, 1 store, 1 branch."""
        return (
            f"{self.loads} load{'s' * (self.loads != 1)}, {self.stores} store{'s' * (self.stores != 1)}, "
            f"{self.branches} branch{'es' * (self.branches != 1)}"
        )


def _sum(*parts: Hit) -> Hit:
    return Hit(*(sum(column) for column in zip(*parts, strict=True)))


SELF = Hit(2, 0, 0)
"""hs_self: where it lies from the thread's base (a word of the global offset table), then itself."""

STACK = (_sum(SELF, Hit(3, 1, 1)), _sum(SELF, Hit(3, 2, 1)))
"""Allocate: top and the slot read, top updated. Free: top and end read, the slot written, top updated."""

RING = (_sum(SELF, Hit(3, 2, 1)), _sum(SELF, Hit(2, 2, 1)))
"""Allocate: held, head and the slot read, held and head written. Free: held and head read, slot and held written."""

RING_OF_ONE = (RING[0], _sum(SELF, Hit(1, 2, 1)))
"""A ring of capacity 1, whose head stays 0: free need not read it."""

LIST = (_sum(SELF, Hit(3, 2, 1)), _sum(SELF, Hit(2, 3, 1)))
"""Allocate: list, the block's link and held read, list and held written. Free: held and list read, all written."""

FRONT_HITS: dict[str, tuple[Hit, Hit]] = {
    "array_stack": STACK,
    "fifo_ring": RING,
    "linked_list": LIST,
    "two_level": STACK,
}
"""Allocate and free per front; `none` has no hit path."""

HEADER_WRITE = Hit(0, 1, 0)

MALLOC_TEST = Hit(0, 0, 1)
"""Is the request small (malloc_above), or even smaller (malloc)?"""

MALLOC_TABLES = Hit(2, 0, 0)
"""The class of the size, then its function."""

MALLOC_ROW = Hit(1, 0, 0)
"""The row of the size."""

CLASSIFIER_HITS: dict[str, Hit] = {
    "slab_map": Hit(3, 0, 1),  # the span's start and end, the slab's byte; is it in the span?
    "class_region": Hit(3, 0, 1),  # the span's start and end, a region's width; is it in the span?
    "header": Hit(3, 0, 2),  # the span's start and end, the header; is it in the span, is there such a class?
}

FREE_TABLE = Hit(1, 0, 0)
"""The class's function."""

REMOTE_HITS: dict[str, Hit] = {
    "local_cache": Hit(0, 0, 0),
    "owner_list": _sum(Hit(2, 0, 1), SELF),  # the slab table's start, the owner; is it this thread's heap?
}

FRONT_EXITS: dict[str, tuple[str, str]] = {
    "none": ("none_alloc", "none_free"),
    "array_stack": ("array_stack_refill", "array_stack_flush"),
    "fifo_ring": ("fifo_ring_refill", "fifo_ring_flush"),
    "linked_list": ("linked_list_refill", "linked_list_flush"),
    "two_level": ("two_level_refill", "two_level_spill"),
}
"""The slow paths that allocate and free leave for."""

CLASSIFIER_EXITS: dict[str, tuple[str, ...]] = {
    "slab_map": ("hs_free_large",),
    "class_region": ("hs_free_large",),
    "header": ("hs_free_large", "free_unknown"),
}

HARDENING_CALLS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "off": ((), ()),
    "checks": (("hs_born",), ("hs_dies",)),
    "full": (("hs_hand_out",), ("in_slab_span", "hs_take_back", "hs_free_small")),
}
"""What stands between the program and the machine: in malloc, and in free."""

REMOTE_EXITS: dict[str, tuple[str, ...]] = {"local_cache": (), "owner_list": ("remote_free",)}


UNCOUNTED = "Hardened: what the checks cost is measured (docs/hardening.md), not counted here."


class Dispatch(NamedTuple):
    """The hit path of malloc or free, and what comes behind the counts in the emitted comment."""

    hit: Hit | None
    tail: str = ""
    instead: str = ""

    def __str__(self) -> str:
        """The sentence of the emitted comment."""
        if self.instead:
            return self.instead
        if self.hit is None:
            return "No hit path: the only class has no front."
        return f"Hit path: {self.hit}{self.tail}."


THEN_CLASS = ", then the class"
ONLY_CLASS = ", the only class included"


def hits(plan: Plan, row: ClassPlan) -> tuple[Hit, Hit] | None:
    """The claimed hit paths (allocate, free) of a class; None for a class without a front."""
    if row.front.kind not in FRONT_HITS:
        return None
    ring_of_one = row.front.kind == "fifo_ring" and row.front.capacity == 1
    allocate, free = RING_OF_ONE if ring_of_one else FRONT_HITS[row.front.kind]
    return _sum(allocate, HEADER_WRITE) if plan.header_bytes else allocate, free


def sentence(plan: Plan, row: ClassPlan) -> str:
    """What the comment above a class's alloc and free says of their hit paths."""
    if not counted(plan, f"alloc_{row.size}"):
        return UNCOUNTED
    found = hits(plan, row)
    return f"Hit path: alloc {found[0]}; free {found[1]}." if found else "No hit path: both calls go to the store."


def counted(plan: Plan, name: str) -> bool:
    """Whether the comment of a hot function counts its hit path: hardened, malloc, free and lists check too much."""
    if plan.hardening == "off":
        return True
    lists = {
        f"{call}_{row.size}" for row in plan.classes if row.front.kind == "linked_list" for call in ("alloc", "free")
    }
    return name not in {"malloc", "malloc_above", "free", *lists}


def dispatches(plan: Plan) -> dict[str, Dispatch]:
    """The claimed hit paths of malloc and free. Hardened, both do more than pop and push: not counted."""
    if plan.hardening != "off":
        return dict.fromkeys(("malloc", "malloc_above", "free"), Dispatch(None, instead=UNCOUNTED))
    return _stack_dispatches(plan) if plan.dispatch == "stack" else _table_dispatches(plan)


def _leave(plan: Plan) -> Hit:
    """What free reads to know the class and the owner."""
    return _sum(CLASSIFIER_HITS[plan.design.classifier], REMOTE_HITS[plan.design.remote])


def _stack_dispatches(plan: Plan) -> dict[str, Dispatch]:
    """malloc and free pop and push the class's stack themselves; free reads hs_self once."""
    pop = _sum(STACK[0], HEADER_WRITE) if plan.header_bytes else STACK[0]
    free = _sum(_leave(plan), STACK[1])
    shared = SELF.loads if plan.design.remote == "owner_list" else 0
    return {
        "malloc": Dispatch(_sum(MALLOC_TEST, MALLOC_ROW, pop)),
        "malloc_above": Dispatch(_sum(MALLOC_TEST, MALLOC_ROW, pop)),
        "free": Dispatch(free._replace(loads=free.loads - shared)),
    }


def _table_dispatches(plan: Plan) -> dict[str, Dispatch]:
    """malloc and free go to the class's function.

    With one class its table rows are constants: malloc, and free unless its row may also be "no class", hold that
    class's own hit path, and read hs_self once.
    """
    classifier, leave = plan.design.classifier, _leave(plan)
    many = Dispatch(_sum(leave, FREE_TABLE), THEN_CLASS)
    if plan.class_count > 1:
        return {"malloc": Dispatch(_sum(MALLOC_TEST, MALLOC_TABLES), THEN_CLASS), "free": many}
    own = hits(plan, plan.classes[0])
    malloc = Dispatch(_sum(MALLOC_TEST, own[0]) if own else None, ONLY_CLASS)
    if classifier != "header":
        return {"malloc": malloc, "free": many}
    if own is None:
        return {"malloc": malloc, "free": Dispatch(None)}
    shared = SELF if plan.design.remote == "owner_list" else Hit(0, 0, 0)
    total = _sum(leave, own[1])
    return {"malloc": malloc, "free": Dispatch(total._replace(loads=total.loads - shared.loads), ONLY_CLASS)}


PAGE_TEST = Hit(0, 0, 1)
"""heapsmith.h: does the block begin where a page begins?"""

SPAN_TEST = Hit(2, 0, 1)
"""If it does: the span's start and bytes; is it in the span?"""


def header_hits(plan: Plan) -> tuple[list[Hit], list[Hit]]:
    """The claimed hit paths of heapsmith.h (allocate, free) for a class with an array stack; none where it calls."""
    allocate = _sum(STACK[0], HEADER_WRITE) if plan.header_bytes else STACK[0]
    free = _sum(STACK[1], PAGE_TEST)
    return [allocate] if plan.inline_alloc else [], [free, _sum(free, SPAN_TEST)] if plan.inline_free else []


def header_sentence(plan: Plan) -> str:
    """What heapsmith.h says of its hit paths."""
    allocate, free = header_hits(plan)
    if not allocate:
        return "No hit path: calls of malloc and free."
    counts = "; where a page begins ".join(map(str, free)) or "is a call"
    return f"Hit path: alloc {allocate[0]};\n * free {counts}."


def exits(plan: Plan) -> dict[str, tuple[str, ...]]:
    """The slow paths that each hot function may leave for, by function."""
    leave = (*CLASSIFIER_EXITS[plan.design.classifier], *REMOTE_EXITS[plan.design.remote])
    above = "malloc_above" if plan.has_above else "hs_malloc_large"
    table: dict[str, tuple[str, ...]] = {"malloc": (above,), "free": leave}
    if plan.has_above:
        table["malloc_above"] = ("hs_malloc_large",)
    if plan.dispatch == "stack":
        table |= {"pop": ("malloc_miss",), "push": ("free_miss",)}
    if plan.hardening == "full":
        table |= {"free": leave[:1], "hs_free_small": leave[1:]}
    for row in plan.classes:
        allocate, free = FRONT_EXITS[row.front.kind]
        table |= {f"alloc_{row.size}": (allocate,), f"free_{row.size}": (free,)}
    return table


class StructField(NamedTuple):
    """Where a field of a structure of the runtime begins, in bytes."""

    name: str
    field: str
    offset: int


def struct_fields(plan: Plan) -> list[StructField]:
    """The offsets on which the touched lines of model/memory/layout.py rely; plan.c asserts them."""
    heap = {name: at for name, at in msgspec.structs.asdict(plan.layout).items() if name != "heap_bytes"}
    fields = {
        "heap": heap,
        "slab": {
            "next": layout.SLAB_NEXT,
            "previous": layout.SLAB_PREVIOUS,
            "child": layout.SLAB_CHILD,
            "newer": layout.SLAB_NEWER,
            "elder": layout.SLAB_ELDER,
            "owner": layout.SLAB_OWNER,
            "older": layout.SLAB_OLDER,
            "class": layout.SLAB_CLASS_NUMBER,
        },
        "class_plan": {
            "stride": layout.CLASS_STRIDE,
            "first": layout.CLASS_FIRST,
            "reciprocal": layout.CLASS_RECIPROCAL,
            "capacity": layout.CLASS_CAPACITY,
            "refill": layout.CLASS_REFILL,
            "slot": layout.CLASS_SLOT,
            "transfer": layout.CLASS_TRANSFER,
            "drain": layout.CLASS_DRAIN,
        },
        "front": {"held": layout.FRONT_HELD, "listed": layout.FRONT_LISTED, "list": layout.FRONT_LIST},
        "run_cache": {"length": layout.RUN_CACHE_HEAD},
        "page": {"next": layout.PAGE_NEXT, "previous": layout.PAGE_PREVIOUS, "state": layout.PAGE_STATE},
    }
    return [StructField(name, field, at) for name, offsets in fields.items() for field, at in offsets.items()]


STRUCT_BYTES = {
    "slab": layout.SLAB_BYTES,
    "class_plan": layout.CLASS_BYTES,
    "front": layout.FRONT_BYTES,
    "class_slabs": layout.STORE_BYTES,
    "class_count": layout.COUNT_BYTES,
    "page": layout.PAGE_BYTES,
}
"""The sizes that they count on."""
