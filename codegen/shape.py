"""Audit of the emitted C's shape: hot functions have no loop and call only declared slow paths."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from pycparser import c_ast

from heapsmith.codegen.claims import Row, drains, entries, exits, functions, has_stacks, judged, straight
from heapsmith.codegen.emitted import Facts, Unit, c_text
from heapsmith.model import policy
from heapsmith.model.design.class_plan import ClassPlan
from heapsmith.model.design.plan import Plan
from heapsmith.model.policy.emitted import Function, code_of

LAST_WORDS = frozenset({"hs_misuse", "hs_not_live", "hs_freed_last"})
NO_CALL = frozenset(
    {"__atomic_store_n", "__atomic_load_n", "__atomic_fetch_add", "__builtin_clzl", "__builtin_unreachable"}
)
"""Calls that compile to one instruction at most."""


class Expected(NamedTuple):
    """The expected content of a hot function.

    exits: the slow paths, each called once. tests: operator and right side of each conditional
    exit, in order. calls: other functions that it may call. names: its enumerators of classes and
    slots. numbers: the integers that it may hold.
    """

    exits: tuple[str, ...]
    tests: tuple[str, ...]
    calls: frozenset[str]
    names: frozenset[str]
    numbers: frozenset[int]

    def __str__(self) -> str:
        leaves = " or ".join(self.exits)
        if not self.exits:
            return "straight line; leaves for nothing"
        return f"straight line; leaves for {leaves} if {', '.join(self.tests)}" if self.tests else f"calls {leaves}"


def expected(plan: Plan) -> dict[str, Expected]:
    """The expected content of every hot function, by name."""
    table = {name: _of_class(plan, name, row, function) for name, (row, function) in functions(plan).items()}
    table |= _of_all(plan, exits(plan))
    malloc = "malloc_from" if plan.design.segregation else "malloc"
    return table | {malloc: _with_entry(plan, table[malloc])}


def _with_entry(plan: Plan, malloc: Expected) -> Expected:
    """malloc, or what it calls at once, with what it does first where requests are counted."""
    entry = plan.design.row("sampling").ENTRY
    if entry.test is None:
        return malloc
    return malloc._replace(tests=(entry.test, *malloc.tests), calls=malloc.calls | entry.calls)


def _plain(exits: tuple[str, ...], tests: tuple[str, ...], calls: Iterable[str] = ()) -> Expected:
    """The expected content of a function that serves all classes."""
    return Expected(exits, tests, frozenset(calls), frozenset(), frozenset({0, 1}))


def _of_all(plan: Plan, leaves: dict[str, tuple[str, ...]]) -> dict[str, Expected]:
    """malloc and free, and their parts."""
    fields = ("hardening", "classifier", "remote", "foreign")
    guard, classifier, remote, foreign = (code_of(plan.design, field) for field in fields)
    to_alloc, to_free = ("alloc_of[]", "free_of[]") if plan.by_table else entries(plan)[0]
    by_class = (to_alloc, "size_to_class", *guard.born_any)
    free_class = _plain(("hs_free_large",), ("== 0",), {to_free})
    in_span = (*foreign.tests, *(("< QUARANTINE",) if plan.quarantine else ()))
    finds = plan.design.row("ownership").CALLS if remote.tests else frozenset()
    beyond = ">=" if plan.live_map else ">"
    small, direct = f"{beyond} SMALL_LIMIT", f"{beyond} DIRECT_LIMIT"
    table = {
        "free": _plain(leaves["free"], in_span, {"free_small", *foreign.calls, *guard.dies}),
        "hs_free_small": _plain(("free_small",), ()),
        "new_plain": _plain(("new_elsewhere",), ("== NULL",), {"malloc", *guard.made}),
    }
    for name, asks in (("free_small", classifier), *classifier.goes_on):
        slow, tests = (*asks.leaves, *remote.leaves), asks.tests + remote.tests
        table[name] = _plain(slow or ("push",), tests, {"push", *asks.calls} | finds)
    table |= {name: _plain((calls,), ()) for name, calls in remote.emits if not plan.quarantine}
    if plan.dispatch == "table":
        table |= {"malloc": _plain(leaves["malloc"], (small,), by_class)}
        table["push"] = _plain((to_free,), ()) if plan.by_table else free_class
        if plan.design.segregation:
            table["malloc"] = _plain(leaves["malloc_from"], (small, "== 0"), {*by_class, "hs_row_of_size"})
            apart = _plain((*by_class, "hs_row_of_call"), ())
            table |= {**_of_sites(table), "malloc_apart": apart}
        return table
    heaps = plan.design.row("heaps")
    popped = {*heaps.POPS, *guard.born, *header_calls(plan)}
    sized = {"hs_row_of_size"} if plan.design.segregation else set()
    limit, looks = (direct, {"pop"}) if plan.direct_limit else (small, {"pop", "size_to_class", *sized})
    table |= {
        "malloc": _plain(leaves["malloc"], (limit,), looks),
        "malloc_miss": _plain(by_class, ()),
        "pop": _plain(leaves["pop"], ("== NULL",), popped),
        "free_miss": free_class,
        "push": _plain(leaves["push"], (heaps.FULL,), {*heaps.PUSHES, *(guard.pushed if plan.check_last else ())}),
    }
    if plan.has_above:
        table["malloc_above"] = _plain(leaves["malloc_above"], (small,), {"pop", "size_to_class", *sized})
    if plan.design.row("sampling").WATCHES:
        table["malloc_miss"] = _plain(("hs_malloc_watched", "size_to_class"), ())
        watched = ("sampling_parks(heap, row)", "== 0")
        table["free_miss"] = _plain(("hs_free_watched", *free_class.exits), watched, {to_free, "sampling_parks"})
    if plan.design.segregation:
        finds = popped | guard.born_any | {"hs_row_of_call", "size_to_class"}
        table |= {**_of_sites(table), "malloc_miss": _plain((to_alloc,), ("== NULL",), finds)}
    return table


def _of_sites(table: dict[str, Expected]) -> dict[str, Expected]:
    """malloc where sites may tell the class: its caller's address goes with the request."""
    return {
        "malloc": _plain(("malloc_from", "__builtin_return_address"), ()),
        "malloc_from": table["malloc"],
        "hs_malloc_from": _plain(("malloc_from",), ()),
    }


def header_calls(plan: Plan) -> set[str]:
    """The emitted function that an allocation calls if blocks have a header."""
    return {"hs_write_header"} if plan.header_bytes else set()


def _of_class(plan: Plan, name: str, row: ClassPlan, function: Function) -> Expected:
    """The expected content of a class's function: its own class and slot, its own capacity."""
    own = frozenset({f"CLASS_{row.name}"})
    header = header_calls(plan) if name.startswith("alloc_") else set()
    if not function.leaves:
        return Expected((), (), function.calls | header, own, frozenset({0, 1}))
    if function.test is None:
        return Expected((function.leaves,), (), frozenset(), own, frozenset())
    calls = function.calls | header
    names = own | ({f"SLOT_{row.name}"} if policy.row("front", row.front.kind).CODE.has_slots else set())
    learned = f"heap->front[CLASS_{row.name}].capacity" if row.resizable else row.front.capacity
    test = function.test.format(capacity=learned, name=row.name)
    numbers = {0, 1, row.front.capacity, row.blocks, *(getattr(row, field) for field in function.numbers)}
    return Expected((function.leaves,), (test,), calls, names, frozenset(numbers))


DRAIN = "hs_drain_front"
"""Calls what drains a class's front, by the number in the class's row."""


def audit_shape(plan: Plan, unit: Unit) -> list[Row]:
    """Rows for the set of functions, for each hot function, and for the inline helpers."""
    wanted = expected(plan)
    return [
        _function_set(plan, unit, set(wanted)),
        *(_function(name, what, unit) for name, what in wanted.items()),
        _helpers(plan, unit, wanted),
    ]


def _function_set(plan: Plan, unit: Unit, hot: set[str]) -> Row:
    """The emitted C must hold exactly the hot functions and their helpers."""
    wanted = hot | header_calls(plan) | {DRAIN} | (set() if plan.design.heaps else {"hs_become"})
    wanted |= {"hs_stack_popped", "hs_stack_pushed"} if has_stacks(plan) else set()
    faults = [f"{name} is not declared" for name in sorted(set(unit.functions) - wanted)]
    faults += [f"{name} is missing" for name in sorted(wanted - set(unit.functions))]
    if DRAIN in unit.functions and (called := set(Facts(unit.functions[DRAIN].body).calls)) != set(drains(plan)):
        faults.append(f"{DRAIN} calls {', '.join(sorted(called)) or 'nothing'}")
    others = ", ".join(sorted(name for name in hot if not name.startswith(("alloc_", "free_"))))
    return judged("shape", "functions", f"alloc and free of {len(straight(plan))} classes, {others}", faults)


def _helpers(plan: Plan, unit: Unit, hot: dict[str, Expected]) -> Row:
    """The inline functions that the hot functions come to: no loop, and no call but of each other."""
    guard = plan.design.row("hardening").CODE
    inline = unit.inline | {name: function for name, function in unit.functions.items() if name not in hot}
    seen = set() if guard.straight else {*guard.born, *guard.born_any, *guard.dies}
    waiting, faults = [call for what in hot.values() for call in what.calls], list[str]()
    while waiting:
        if (name := waiting.pop()) in seen or name not in inline:
            continue
        seen.add(name)
        facts = Facts(inline[name].body)
        calls = set(facts.calls) - LAST_WORDS - NO_CALL
        faults += [f"{name} holds {what}" for what in (*facts.jumps, *sorted(calls - inline.keys()))]
        waiting += calls
    return judged("shape", "inline helpers", "no loop, no call but of each other", sorted(faults))


def _function(name: str, wanted: Expected, unit: Unit) -> Row:
    """Compare a hot function with its expected content."""
    if name not in unit.functions:
        return judged("shape", name, str(wanted), ["missing"])
    facts = Facts(unit.functions[name].body)
    faults = [f"holds a {jump}" for jump in facts.jumps]
    tests = [_test(node.cond) for node in facts.ifs]
    if tests != list(wanted.tests):
        faults.append(f"its conditions are {', '.join(tests) or 'none'}")
    if facts.branches != len(facts.ifs):
        faults.append(f"branches {facts.branches} times")
    is_straight = bool(wanted.tests) or not wanted.exits
    leaving = Counter(call for node in facts.ifs for call in _leaves(node)) if is_straight else facts.calls
    if leaving != Counter(wanted.exits):
        faults.append(f"leaves for {', '.join(leaving.elements()) or 'nothing'}")
    undeclared = facts.calls - leaving
    faults += [f"calls {call}, which is not declared" for call in undeclared if call not in wanted.calls]
    used = {n for n in facts.names if n.startswith(("CLASS_", "SLOT_"))} - {"CLASS_COUNT"}
    if used != wanted.names:
        faults.append(f"names {', '.join(sorted(used)) or 'no class'}")
    faults += [f"holds the number {number}" for number in sorted(facts.numbers - wanted.numbers)]
    return judged("shape", name, str(wanted), faults)


def _test(condition: c_ast.Node) -> str:
    """The operator and the right side of a comparison."""
    if not isinstance(condition, c_ast.BinaryOp):
        return c_text(condition)
    right = "NULL" if isinstance(condition.right, c_ast.Cast) else c_text(condition.right)
    return f"{condition.op} {right}"


def _leaves(node: c_ast.If) -> list[str]:
    """The calls of a conditional exit; a message if the branch does not return."""
    block = node.iftrue.block_items if isinstance(node.iftrue, c_ast.Compound) else [node.iftrue]
    if node.iffalse is not None or not block or not isinstance(block[-1], c_ast.Return):
        return ["a branch that does not return"]
    return list(Facts(node.iftrue).calls.elements())
