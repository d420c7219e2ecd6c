"""Purposes: the first line of each emitted file, which says what is in it."""

from heapsmith.codegen.claims import straight
from heapsmith.model.design.plan import Plan


def purposes(plan: Plan) -> dict[str, str]:
    """Return the purposes of a design's files by name, in the order in which they are written."""
    sizes = ", size to class" if plan.size_table else ""
    return {
        "plan.h": "The numbers of this heap, as enumerators for the emitted C and the runtime.",
        "rooms.h": "What the policies of this design keep in a heap.",
        "moments.h": "What happens in a heap, and which policies of this design act on it.",
        "plan.c": f"The tables of this heap: size classes{sizes}, and the heap of a thread that has none.",
        "fast.c": f"The hit paths of this heap: {_paths(plan)}.",
        "heap.c": "All of this heap but its hit paths: the tables and the parts of the runtime that it needs, in one "
        "unit.",
        "heapsmith.h": f"{_inlined(plan)}: docs/api.md.",
    }


def _paths(plan: Plan) -> str:
    if plan.dispatch == "table":
        own = "and a straight-line alloc and free per size class" if straight(plan) else "which call the store"
        return f"malloc and free, {own}"
    own = ", and alloc and free of each class with a list or ring" if straight(plan) else ""
    return f"malloc and free for array stacks{own}"


def _inlined(plan: Plan) -> str:
    if plan.inline_free:
        return "malloc and free for sizes that the compiler knows, inlined into the program"
    if plan.inline_alloc:
        return "malloc for sizes that the compiler knows, inlined into the program, and calls of free by size"
    return "Calls of malloc and free by size, without a hit path inlined into the program"
