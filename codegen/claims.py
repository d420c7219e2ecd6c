"""The hit paths and slow paths that the emitted comments claim; the audit proves both.

A claim is the sum of the parts of the design's policies (model/policy) and of malloc and free. The
counts hold for GCC 12; under another compiler the audit reports the counts that it measures.
"""

from typing import NamedTuple

import msgspec

from heapsmith.model import policy
from heapsmith.model.design.plan import ClassPlan, Plan
from heapsmith.model.memory import layout
from heapsmith.model.policy.emitted import NOTHING, SELF, Function, Hit, total


class Row(msgspec.Struct, frozen=True):
    """One claim about the emitted C: `check` names the kind, `name` the function or table."""

    check: str
    name: str
    claim: str
    found: str
    ok: bool


STACK = (total(SELF, Hit(3, 1, 1)), total(SELF, Hit(3, 2, 1)))
"""Allocate reads top and a slot; free reads top and end and writes a slot; both update top."""

HEADER_WRITE = Hit(0, 1, 0)

MALLOC_TEST = Hit(0, 0, 1)
"""Compares the request with the function's limit (SMALL_LIMIT or DIRECT_LIMIT)."""

MALLOC_TABLES = Hit(2, 0, 0)
"""Load the class of the size, then its function."""

MALLOC_ROW = Hit(1, 0, 0)
"""Load the row of the size."""

FREE_TABLE = Hit(1, 0, 0)
"""Load the class's function."""

UNCOUNTED = "Hardened: what the checks cost is measured (docs/hardening.md), not counted here."


class Dispatch(NamedTuple):
    """The hit path of malloc or free, and the rest of the sentence in the emitted comment."""

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


def functions(plan: Plan) -> dict[str, tuple[ClassPlan, Function]]:
    """The functions of all classes by name: the class and the expected content."""
    found: dict[str, tuple[ClassPlan, Function]] = {}
    for row in plan.classes:
        front = policy.row("front", row.front.kind).CODE
        found |= {f"alloc_{row.size}": (row, front.allocate), f"free_{row.size}": (row, front.free)}
    return found


def hits(plan: Plan, row: ClassPlan) -> tuple[Hit, Hit] | None:
    """The claimed hit paths (allocate, free) of a class; None if its front has no hit path."""
    front = policy.row("front", row.front.kind).CODE
    allocate, free = ((row.front.capacity == 1 and it.hit_of_one) or it.hit for it in (front.allocate, front.free))
    if allocate is None or free is None:
        return None
    return _with_header(plan, allocate), free


def _with_header(plan: Plan, allocate: Hit) -> Hit:
    """The allocation's path, plus the store of the header if blocks have a header."""
    return total(allocate, HEADER_WRITE) if plan.header_bytes else allocate


def sentences(plan: Plan) -> dict[int, str]:
    """By class, the sentence about the hit paths in the comment above alloc and free."""
    found = {row: hits(plan, row) for row in plan.classes}
    return {
        row.index: f"Hit path: alloc {both[0]}; free {both[1]}." if counted(plan, f"alloc_{row.size}") else UNCOUNTED
        for row, both in found.items()
        if both
    }


def counted(plan: Plan, name: str) -> bool:
    """Whether a hot function's comment counts its hit path.

    Hardened builds add checks to malloc, free and lists that are not counted.
    """
    if not plan.design.row("hardening").LIVE_MAP:
        return True
    follows_links = {name for name, (_, function) in functions(plan).items() if function.calls & LINK_CALLS}
    return name not in {"malloc", "malloc_above", "free"} | follows_links


LINK_CALLS = {"link_take", "link_set"}


def dispatches(plan: Plan) -> dict[str, Dispatch]:
    """The claimed hit paths of malloc and free; hardened builds claim none."""
    found = _stack_dispatches(plan) if plan.dispatch == "stack" else _table_dispatches(plan)
    return {name: it if counted(plan, name) else Dispatch(None, instead=UNCOUNTED) for name, it in found.items()}


def _leave(plan: Plan) -> Hit:
    """The loads by which free finds the class and the owner."""
    return total(plan.design.row("classifier").CODE.hit, plan.design.row("remote").CODE.hit)


def _free_with(plan: Plan, push: Hit) -> Hit:
    """free with the push compiled into it; the check of the owner has already read hs_self."""
    both = total(_leave(plan), push)
    return both if plan.design.row("remote").CODE.hit == NOTHING else both._replace(loads=both.loads - SELF.loads)


def _stack_dispatches(plan: Plan) -> dict[str, Dispatch]:
    """malloc and free pop and push the class's stack themselves."""
    malloc = Dispatch(total(MALLOC_TEST, MALLOC_ROW, _with_header(plan, STACK[0])))
    return {"malloc": malloc, "malloc_above": malloc, "free": Dispatch(_free_with(plan, STACK[1]))}


def _table_dispatches(plan: Plan) -> dict[str, Dispatch]:
    """malloc and free jump to the class's function.

    With one class the table rows are constants. malloc holds the class's own hit path and reads
    hs_self once; so does free unless its row may also be "no class".
    """
    free = Dispatch(total(_leave(plan), FREE_TABLE), THEN_CLASS)
    if plan.class_count > 1:
        malloc = Dispatch(total(MALLOC_TEST, MALLOC_TABLES), THEN_CLASS)
        return {"malloc": malloc, "free": free}
    own = hits(plan, plan.classes[0])
    malloc = Dispatch(total(MALLOC_TEST, own[0]) if own else None, ONLY_CLASS)
    if plan.header_bytes:
        free = Dispatch(_free_with(plan, own[1]) if own else None, ONLY_CLASS)
    return {"malloc": malloc, "free": free}


PAGE_TEST = Hit(0, 0, 1)
"""heapsmith.h: is the block at the start of a page?"""

SPAN_TEST = Hit(2, 0, 1)
"""If so: load the span's start and its bytes; is the block in the span?"""


def header_hits(plan: Plan) -> tuple[list[Hit], list[Hit]]:
    """The claimed hit paths of heapsmith.h (allocate, free) for an array stack, empty for calls."""
    free = total(STACK[1], PAGE_TEST)
    allocates = [_with_header(plan, STACK[0])] if plan.inline_alloc else []
    return allocates, [free, total(free, SPAN_TEST)] if plan.inline_free else []


def header_sentence(plan: Plan) -> str:
    """The sentence about hit paths in heapsmith.h."""
    allocate, free = header_hits(plan)
    if not allocate:
        return "No hit path: calls of malloc and free."
    counts = "; where a page begins ".join(map(str, free)) or "is a call"
    return f"Hit path: alloc {allocate[0]};\n * free {counts}."


def exits(plan: Plan) -> dict[str, tuple[str, ...]]:
    """By hot function, the slow paths that it may call."""
    classifier, remote = plan.design.row("classifier").CODE.leaves, plan.design.row("remote").CODE.leaves
    table: dict[str, tuple[str, ...]] = {"malloc": ("malloc_above" if plan.has_above else "hs_malloc_large",)}
    table |= {"free": ("hs_free_large",), "free_small": (*classifier, *remote)}
    if plan.has_above:
        table["malloc_above"] = ("hs_malloc_large",)
    if plan.dispatch == "stack":
        table |= {"pop": ("malloc_miss",), "push": ("free_miss",)}
    return table | {name: (function.leaves,) for name, (_, function) in functions(plan).items()}


class StructField(NamedTuple):
    """The offset in bytes of a field of a structure of the runtime."""

    name: str
    field: str
    offset: int


def struct_fields(plan: Plan) -> list[StructField]:
    """The offsets that model/memory/layout.py assumes; plan.c asserts them."""
    heap = {name: at for name, at in msgspec.structs.asdict(plan.layout).items() if name != "heap_bytes"}
    fields = {
        "heap": heap,
        "slab": {
            "out": layout.SLAB_OUT,
            "next": layout.SLAB_NEXT,
            "previous": layout.SLAB_PREVIOUS,
            "child": layout.SLAB_CHILD,
            "newer": layout.SLAB_NEWER,
            "older": layout.SLAB_OLDER,
            "owner": layout.SLAB_OWNER,
            "earlier": layout.SLAB_EARLIER,
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
"""The structure sizes that model/memory/layout.py assumes."""
