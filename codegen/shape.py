"""Audit of the shape of the emitted C: hot functions are straight lines that leave for declared slow paths only."""

from collections import Counter
from typing import NamedTuple

from pycparser import c_ast

from heapsmith.codegen.claims import HARDENING_CALLS, Row, exits
from heapsmith.codegen.emitted import Facts, Unit, c_text
from heapsmith.model.design.plan import ClassPlan, Plan

HELPERS = frozenset(
    {"count_checked", "size_to_class", "slab_of", "in_slab_span", "hs_stack_popped", "hs_stack_pushed"}
    | {"hs_with_header", "link_set", "link_next", "link_take", "hs_born", "hs_dies", "hs_is_live"}
    | {"count_own", "word_set", "word_subtract"}
)
"""Inline functions that hot functions may call: no loop, and no call but of each other and of the last words."""

LAST_WORDS = frozenset({"hs_misuse", "hs_not_live"})
NO_CALL = frozenset({"__atomic_store_n"})
"""What looks like a call and is an instruction."""

CLASSIFIER_TESTS: dict[str, tuple[str, ...]] = {
    "slab_map": ("!in_slab_span(block)",),
    "class_region": ("!in_slab_span(block)",),
    "header": ("!in_slab_span(block)", ">= CLASS_COUNT"),
}
"""The first of them asks whether the block is small at all."""

REMOTE_TESTS: dict[str, tuple[str, ...]] = {"local_cache": (), "owner_list": ("!= hs_self",)}


class Expected(NamedTuple):
    """What a hot function holds.

    exits: the slow paths it calls, once each; tests: operator and right side of each conditional exit, in order; calls:
    what else it may call; names: the enumerators of classes and slots in it; numbers: the integers it may hold.
    """

    exits: tuple[str, ...]
    tests: tuple[str, ...]
    calls: frozenset[str]
    names: frozenset[str]
    numbers: frozenset[int]

    def __str__(self) -> str:
        leaves = " or ".join(self.exits)
        return f"straight line; leaves for {leaves} if {', '.join(self.tests)}" if self.tests else f"calls {leaves}"


def expected(plan: Plan) -> dict[str, Expected]:
    """What every hot function holds, by its name."""
    leaves = exits(plan)
    table: dict[str, Expected] = {}
    for row in plan.classes:
        for name in (f"alloc_{row.size}", f"free_{row.size}"):
            table[name] = _of_class(plan, row, name, leaves[name])
    tests = CLASSIFIER_TESTS[plan.design.classifier] + REMOTE_TESTS[plan.design.remote]
    plain = frozenset({0, 1})
    born, dies = HARDENING_CALLS[plan.hardening]
    dies += ("in_slab_span",)
    table |= _mallocs(plan, leaves, born)
    calls = frozenset({"slab_of", "push" if plan.dispatch == "stack" else "hs_free_of[]", *dies})
    if plan.hardening == "full":
        ends = leaves["hs_free_small"] if tests[1:] else tuple(calls & {"push", "hs_free_of[]"})
        table["hs_free_small"] = Expected(ends, tests[1:], calls, frozenset(), plain)
        tests = ("!in_slab_span(block)", "== NULL")
    table["free"] = Expected(leaves["free"], tests, calls, frozenset(), plain)
    return table


def _mallocs(plan: Plan, leaves: dict[str, tuple[str, ...]], born: tuple[str, ...]) -> dict[str, Expected]:
    """malloc, and the functions that only it and free have."""
    plain, none = frozenset({0, 1}), frozenset[str]()
    by_table = frozenset({"hs_alloc_of[]", "size_to_class", *born})
    if plan.dispatch == "table":
        return {"malloc": Expected(leaves["malloc"], ("> SMALL_LIMIT",), by_table, none, plain)}
    popped = {"count_checked", "hs_stack_popped", *born, *(["hs_with_header"] if plan.header_bytes else [])}
    table = {
        "malloc": Expected(leaves["malloc"], ("> DIRECT_LIMIT",), frozenset({"pop"}), none, plain),
        "malloc_miss": Expected(("hs_alloc_of[]", "size_to_class", *born), (), by_table, none, plain),
        "pop": Expected(("malloc_miss",), ("== NULL",), frozenset(popped), none, plain),
        "free_miss": Expected(("hs_free_of[]",), (), frozenset(), none, plain),
        "push": Expected(
            ("free_miss",), ("== heap->end[row]",), frozenset({"count_checked", "hs_stack_pushed"}), none, plain
        ),
    }
    if plan.has_above:
        calls = frozenset({"pop", "size_to_class"})
        table["malloc_above"] = Expected(leaves["malloc_above"], ("> SMALL_LIMIT",), calls, none, plain)
    return table


def _of_class(plan: Plan, row: ClassPlan, name: str, leaves: tuple[str, ...]) -> Expected:
    own = frozenset({f"CLASS_{row.size}"})
    allocates = name.startswith("alloc_")
    if row.front.kind == "none":
        return Expected(leaves, (), frozenset(), own, frozenset())
    calls = {"count_checked", *(["hs_with_header"] if allocates and plan.header_bytes else [])}
    if row.stack:
        test = "== NULL" if allocates else f"== heap->end[1 + CLASS_{row.size}]"
        calls |= {"hs_stack_popped" if allocates else "hs_stack_pushed"}
        return Expected(leaves, (test,), frozenset(calls), own, frozenset({0, 1}))
    listed = row.front.kind == "linked_list"
    test = "== NULL" if listed and allocates else f">= {row.front.capacity}"
    calls |= {"word_subtract" if listed and allocates else "word_set"}
    calls |= {"link_take" if allocates else "link_set"} if listed else set()
    names = own if listed else own | {f"SLOT_{row.size}"}
    return Expected(leaves, (test,), frozenset(calls), names, frozenset({0, 1, row.front.capacity}))


def audit_shape(plan: Plan, unit: Unit) -> list[Row]:
    """One row for the set of functions, one per hot function, one for the inline helpers they call."""
    wanted = expected(plan)
    return [
        _function_set(plan, unit, set(wanted)),
        *(_function(name, what, unit) for name, what in wanted.items()),
        _helpers(unit),
    ]


def _row(name: str, claim: str, faults: list[str]) -> Row:
    return Row("shape", name, claim, "; ".join(faults) or "as claimed", not faults)


def _function_set(plan: Plan, unit: Unit, hot: set[str]) -> Row:
    """The emitted C holds the hot functions, their helpers, the end of pointers without a class: no others."""
    wanted = hot | {"free_unknown", "hs_become"} | ({"hs_with_header"} if plan.header_bytes else set())
    wanted |= {"hs_stack_popped", "hs_stack_pushed"} if plan.dispatch == "stack" else set()
    faults = [f"{name} is not declared" for name in sorted(set(unit.functions) - wanted)]
    faults += [f"{name} is missing" for name in sorted(wanted - set(unit.functions))]
    others = ", ".join(sorted(name for name in hot if not name.startswith(("alloc_", "free_"))))
    return _row("functions", f"alloc and free of {plan.class_count} classes, {others}", faults)


def _helpers(unit: Unit) -> Row:
    faults: list[str] = []
    for name in sorted(HELPERS):
        if function := unit.functions.get(name) or unit.inline.get(name):
            facts = Facts(function.body)
            faults += [
                f"{name} holds {what}" for what in (*facts.jumps, *(set(facts.calls) - HELPERS - LAST_WORDS - NO_CALL))
            ]
    return _row("inline helpers", "no loop, no call but of each other", faults)


def _function(name: str, wanted: Expected, unit: Unit) -> Row:
    """Whether a hot function holds what it should and nothing else."""
    if name not in unit.functions:
        return _row(name, str(wanted), ["missing"])
    facts = Facts(unit.functions[name].body)
    faults = [f"holds a {jump}" for jump in facts.jumps]
    tests = [_test(node.cond) for node in facts.ifs]
    if tests != list(wanted.tests):
        faults.append(f"its conditions are {', '.join(tests) or 'none'}")
    if facts.branches != len(facts.ifs):
        faults.append(f"branches {facts.branches} times")
    leaving = Counter(call for node in facts.ifs for call in _leaves(node)) if wanted.tests else facts.calls
    if leaving != Counter(wanted.exits):
        faults.append(f"leaves for {', '.join(leaving.elements()) or 'nothing'}")
    undeclared = facts.calls - leaving
    faults += [f"calls {call}, which is not declared" for call in undeclared if call not in wanted.calls]
    used = {n for n in facts.names if n.startswith(("CLASS_", "SLOT_"))} - {"CLASS_COUNT"}
    if used != wanted.names:
        faults.append(f"names {', '.join(sorted(used)) or 'no class'}")
    faults += [f"holds the number {number}" for number in sorted(facts.numbers - wanted.numbers)]
    return _row(name, str(wanted), faults)


def _test(condition: c_ast.Node) -> str:
    """The operator and the right side of a comparison."""
    if not isinstance(condition, c_ast.BinaryOp):
        return c_text(condition)
    right = "NULL" if isinstance(condition.right, c_ast.Cast) else c_text(condition.right)
    return f"{condition.op} {right}"


def _leaves(node: c_ast.If) -> list[str]:
    """What a conditional exit calls before it returns; a word if it is no exit."""
    block = node.iftrue.block_items if isinstance(node.iftrue, c_ast.Compound) else [node.iftrue]
    if node.iffalse is not None or not block or not isinstance(block[-1], c_ast.Return):
        return ["a branch that does not return"]
    return list(Facts(node.iftrue).calls.elements())
