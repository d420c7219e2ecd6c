"""The hit paths and slow paths that the emitted comments claim; the audit proves both.

A claim is the sum of the parts of the design's policies (model/policy) and of malloc and free. The
counts hold for GCC 12; under another compiler the audit reports the counts that it measures.
"""

import msgspec

from heapsmith.model import policy
from heapsmith.model.design.class_plan import ClassPlan
from heapsmith.model.design.plan import Plan
from heapsmith.model.memory import layout
from heapsmith.model.policy.emitted import NOTHING, SELF, FrontCode, Function, Hit, code_of, total


class Row(msgspec.Struct, frozen=True):
    """One claim about the emitted C: `check` names the kind, `name` the function or table."""

    check: str
    name: str
    claim: str
    found: str
    ok: bool


def judged(check: str, name: str, claim: str, faults: list[str]) -> Row:
    """The row of a claim that holds unless it has faults."""
    return Row(check, name, claim, "; ".join(faults) or "as claimed", not faults)


HEADER_WRITE = Hit(0, 1, 0)

MALLOC_TEST = Hit(0, 0, 1)
"""Compares the request with the function's limit (SMALL_LIMIT or DIRECT_LIMIT)."""

CALLER = Hit(1, 0, 0)
"""The compiler reads the return address before malloc misses, where a miss may ask for the call's site."""

SIZED_ROW = Hit(1, 0, 0)
"""The row of a class by its size alone, where sites may tell it."""

APART_TEST = Hit(0, 0, 1)
"""Is it none? Where malloc goes by rows, the empty row answers."""

COUNTER = Hit(1, 1, 0)
"""Adds to the counter of a hit or a push."""

LEARNED = Hit(1, 0, 0)
"""A free reads the capacity that its front has learned."""

FUNCTION = Hit(1, 0, 0)
"""Load the class's function."""

UNCOUNTED = "Hardened: what the checks cost is measured (docs/hardening.md), not counted here."


PROBED = "Each free asks the system about the block's page (docs/api.md): not counted here."


def straight(plan: Plan) -> list[ClassPlan]:
    """The classes with functions of their own: by class all, if one has hit paths; by row those of lists and rings."""
    own = [row for row in plan.classes if policy.row("front", row.front.kind).CODE.has_hits]
    if plan.dispatch == "table":
        return plan.classes if own else []
    return [row for row in own if not row.stack]


def has_stacks(plan: Plan) -> bool:
    """Whether a class has an array stack that threads pop and push."""
    return plan.dispatch != "restartable" and any(row.stack for row in plan.classes)


def functions(plan: Plan) -> dict[str, tuple[ClassPlan, Function]]:
    """The functions of classes by name: the class and the expected content."""
    found: dict[str, tuple[ClassPlan, Function]] = {}
    for row in straight(plan):
        front = policy.row("front", row.front.kind).CODE
        found[f"alloc_{row.name}"] = row, front.allocate
        if frees_by_class(plan, front):
            found[f"free_{row.name}"] = row, front.free
    return found


def frees_by_class(plan: Plan, front: FrontCode) -> bool:
    """Whether a class with functions of its own has one for its frees: by row a slow path alone needs none."""
    return plan.dispatch == "table" or not front.free.leaves or front.free.test is not None


def entries(plan: Plan) -> list[tuple[str, str]]:
    """The functions of each class: its own, or else the slow paths of its front."""
    own, found = functions(plan), []
    for row in plan.classes:
        front, allocate, free = policy.row("front", row.front.kind).CODE, f"alloc_{row.name}", f"free_{row.name}"
        found.append(
            (allocate if allocate in own else front.allocate.leaves, free if free in own else front.free.leaves)
        )
    return found


NO_FREE = "; free none."
"""Of a front whose allocations alone have a hit path."""


def hits(plan: Plan, row: ClassPlan) -> tuple[Hit, Hit | None] | None:
    """The claimed hit paths (allocate, free) of a class; None if its front has no hit path, or its frees have none."""
    front = policy.row("front", row.front.kind).CODE
    allocate, free = ((row.front.capacity == 1 and it.hit_of_one) or it.hit for it in (front.allocate, front.free))
    if allocate is None:
        return None
    known = SELF.loads if plan.dispatch != "table" else 0  # a miss has read hs_self
    allocate = _with_header(plan, allocate._replace(loads=allocate.loads - known))
    if free is None:
        return allocate, None
    free = _with_count(plan, free._replace(loads=free.loads - known))
    return allocate, total(free, LEARNED) if row.resizable and not row.stack else free


def _with_header(plan: Plan, allocate: Hit) -> Hit:
    """The allocation's path, plus the store of the header if blocks have one, and the counter's update."""
    return _with_count(plan, total(allocate, HEADER_WRITE) if plan.header_bytes else allocate)


def _with_entry(plan: Plan, malloc: Hit) -> Hit:
    """malloc's path, plus what it does first where requests are counted."""
    return total(malloc, plan.design.row("sampling").ENTRY.hit)


def _with_count(plan: Plan, path: Hit) -> Hit:
    """The path, plus the update of its counter if the design counts hits."""
    return total(path, COUNTER) if plan.design.row("counting").COUNTS_HITS else path


def sentences(plan: Plan) -> dict[int, str]:
    """By class, the sentence about the hit paths in the comment above alloc and free."""
    return {
        row.index: f"Hit path: alloc {both[0]}{f'; free {both[1]}.' if both[1] else NO_FREE}"
        if counted(plan, f"alloc_{row.name}")
        else UNCOUNTED
        for row in straight(plan)
        if (both := hits(plan, row))
    }


def counted(plan: Plan, name: str) -> bool:
    """Whether a hot function's comment counts its hit path.

    Hardened builds add checks to malloc, free and lists that are not counted.
    """
    if name == "free" and plan.design.row("foreign").PROBES:
        return False
    if not plan.design.row("hardening").LIVE_MAP:
        return True
    follows_links = {name for name, (_, function) in functions(plan).items() if function.calls & LINK_CALLS}
    return name not in {"malloc", "malloc_above", "free"} | follows_links


LINK_CALLS = {"link_take", "link_set"}


def dispatches(plan: Plan) -> dict[str, str]:
    """The sentences about the hit paths of malloc and free; hardened builds claim none.

    With array stacks, malloc and free pop and push the class's stack themselves. Else they jump to
    the class's function, or all call the store. With one class the table rows are constants: malloc
    holds the class's own hit path and reads hs_self once; so does free unless its row may also be
    "no class".
    """
    if not counted(plan, "malloc"):
        return dict.fromkeys(("malloc", "malloc_above", "free"), UNCOUNTED)
    lookup = plan.design.row("size_lookup").CODE
    stack = plan.design.row("heaps").HITS
    if plan.check_last:
        stack = stack[0], total(stack[1], code_of(plan.design, "hardening").looks)
    if plan.dispatch != "table":
        above = total(MALLOC_TEST, lookup, _with_header(plan, stack[0]))
        malloc = f"Hit path: {_with_entry(plan, above)}."
        if plan.design.segregation:
            by_row = above if plan.direct_limit else total(above, SIZED_ROW)
            malloc, above = f"Hit path: {_with_entry(plan, total(by_row, CALLER))}.", total(above, SIZED_ROW)
        free = f"Hit path: {_free_with(plan, _with_count(plan, stack[1]))}." if counted(plan, "free") else PROBED
        return {"malloc": malloc, "malloc_above": f"Hit path: {above}.", "free": free}
    if not plan.by_table:
        return dict.fromkeys(("malloc", "free"), "No hit path: no class has a front.")
    jumps = total(MALLOC_TEST, lookup, FUNCTION)
    if plan.design.segregation:
        jumps = total(jumps, SIZED_ROW, APART_TEST, CALLER)
    malloc = f"Hit path: {_with_entry(plan, jumps)}, then the class."
    free = f"Hit path: {total(_leave(plan), FUNCTION)}, then the class."
    if plan.class_count == 1:
        own = hits(plan, plan.classes[0])
        malloc = _only_class(_with_entry(plan, total(MALLOC_TEST, own[0])) if own else None)
        if plan.header_bytes:
            free = _only_class(_free_with(plan, own[1]) if own and own[1] else None)
    return {"malloc": malloc, "free": free if counted(plan, "free") else PROBED}


def _only_class(hit: Hit | None) -> str:
    return f"Hit path: {hit}, the only class included." if hit else "No hit path: the only class has no front."


def _leave(plan: Plan) -> Hit:
    """The loads by which free finds the class and the owner."""
    classifier, remote = code_of(plan.design, "classifier"), plan.design.row("remote")
    both = total(classifier.hit, code_of(plan.design, "remote").hit)
    by_record = classifier.by_record + (remote.OWNED and plan.design.row("ownership").IN_RECORD)
    tables = int(plan.design.row("slab_record").TABLE)  # whose address is loaded once, or there is none
    both = both._replace(loads=both.loads - max(0, by_record - tables))
    if not plan.design.row("foreign").TRUSTS:
        return both
    return both._replace(loads=both.loads - (1 if remote.OWNED else classifier.ranged))


def _free_with(plan: Plan, push: Hit) -> Hit:
    """free with the push compiled into it; the check of the owner has already read hs_self."""
    both = total(_leave(plan), push)
    return both if plan.design.row("remote").CODE.hit == NOTHING else both._replace(loads=both.loads - SELF.loads)


PAGE_TEST = Hit(0, 0, 1)
"""heapsmith.h: is the block at the start of a page?"""

SPAN_TEST = Hit(2, 0, 1)
"""If so: load the span's start and its bytes; is the block in the span?"""


def header_hits(plan: Plan) -> tuple[list[Hit], list[Hit]]:
    """The claimed hit paths of heapsmith.h (allocate, free) for an array stack, empty for calls."""
    stack = plan.design.row("heaps").HITS
    free = total(stack[1], PAGE_TEST)
    allocates = [_with_header(plan, stack[0])] if plan.inline_alloc else []
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
    classifier, remote = code_of(plan.design, "classifier").leaves, code_of(plan.design, "remote").leaves
    sampling = plan.design.row("sampling")
    large = "malloc_above" if plan.has_above else sampling.LARGE
    table: dict[str, tuple[str, ...]] = {"malloc": (*filter(None, (sampling.ENTRY.leaves,)), large)}
    holds_back = ("hs_hold_back",) if plan.quarantine else ()
    table |= {"free": (*code_of(plan.design, "foreign").leaves, *holds_back), "free_small": (*classifier, *remote)}
    if plan.has_above:
        table["malloc_above"] = (sampling.LARGE,)
    if plan.dispatch != "table":
        table |= {"pop": ("malloc_miss",), "push": ("free_miss",)}
    elif not plan.by_table:
        allocate, free = entries(plan)[0]
        table |= {"pop": (allocate,), "push": ("hs_free_large", free)}
    if plan.design.segregation:
        table |= {"malloc_from": (*table["malloc"], *(() if plan.dispatch != "table" else ("malloc_apart",)))}
    return table | {
        name: (function.leaves,) * (function.leaves != "") for name, (_, function) in functions(plan).items()
    }


def struct_fields(plan: Plan) -> dict[str, dict[str, int]]:
    """The offsets that model/memory/layout.py assumes, by structure and field; plan.c asserts them."""

    def offsets(prefix: str, fields: str) -> dict[str, int]:
        return {field: getattr(layout, f"{prefix}_{field.upper()}") for field in fields.split()}

    hot = plan.record_counts_at
    slab = offsets("SLAB", "out next previous child newer older owner earlier") | {"class": layout.SLAB_CLASS_NUMBER}
    return {
        "heap": {name: at for name, at in msgspec.structs.asdict(plan.layout).items() if name != "heap_bytes"},
        "slab": {field: hot + offset for field, offset in slab.items()},
        "class_plan": offsets("CLASS", "stride first reciprocal capacity refill slot transfer drain"),
        "front": offsets("FRONT", "held listed list") | _learned(plan),
    }


def _learned(plan: Plan) -> dict[str, int]:
    return {"capacity": layout.FRONT_CAPACITY} if plan.design.learner else {}


def struct_bytes(plan: Plan) -> dict[str, int]:
    """The structure sizes that model/memory/layout.py assumes; plan.c asserts them."""
    vacancy = {"vacancy": layout.VACANCY_BYTES} if not plan.design.row("ownership").IN_RECORD else {}
    return vacancy | {
        "slab": plan.record_bytes,
        "class_plan": layout.CLASS_BYTES,
        "front": layout.FRONT_BYTES,
        "class_slabs": layout.STORE_BYTES,
        "class_count": layout.COUNT_BYTES,
        "page": layout.PAGE_BYTES,
    }


def drains(plan: Plan) -> dict[str, int]:
    """Return the functions by which classes drain their fronts, each with its number in the classes' rows."""
    used = dict.fromkeys(policy.row("front", row.front.kind).CODE.drain for row in plan.classes)
    return {name: number for number, name in enumerate((name for name in used if name != "NULL"), 1)}
