"""The check that an experiment is fair: its arms differ in one choice, on calls that the workloads make.

`faults` asks the designs alone, `faults_on` also what the simulated workloads asked of them.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import msgspec

from heapsmith.bench.experiments.book import Experiment, designs_of
from heapsmith.model.design.class_plan import ClassPlan
from heapsmith.model.design.design import Design
from heapsmith.model.design.plan import Plan, make_plan
from heapsmith.model.predict.simulate import Simulation

OUTSIDE = ("design", "hash", "layout", "front_records", "store_records")
"""Fields of a Plan that follow from the name, from sizes that the plan states too, or from the kinds of fronts."""
PLACES = ("index", "slot_base", "list_base", "transfer_base", "numbers")
"""Fields of a class that follow from the other classes, or from a row that states its own difference."""
LENGTHS = ("class", "slots_per_heap", "numbers.transfer_slots")
"""Fields of a Plan that follow from the classes alone."""
SHARE = 0.001
"""A class is asked for if it gets this share of a workload's allocations: the rest is the program's start."""

Shares = dict[str, float]
"""Shares of a workload's allocations."""


def differences(first: Design, second: Design) -> tuple[dict[str, tuple[Any, Any]], list[str]]:
    """Return what differs: design fields with both values, and fields of the Plan."""
    one, other = (_flat("", msgspec.to_builtins(design)) for design in (first, second))
    fields = {
        key: (one.get(key), other.get(key))
        for key in sorted(one.keys() | other.keys())
        if one.get(key) != other.get(key) and key not in ("name", "about")
    }
    plans = [_plan_fields(design) for design in (first, second)]
    return fields, sorted(key for key in plans[0] | plans[1] if plans[0].get(key) != plans[1].get(key))


def faults(name: str, one: Experiment) -> list[str]:
    """Return in which respects the arms differ otherwise than stated; empty if in none."""
    designs = designs_of(name, one)
    if len(designs) < 2:
        return []
    (reference, first), *others = designs.items()
    found: list[str] = []
    if len(one.varies) != 1 and not one.together:
        fields = ", ".join(one.varies) or "no field"
        found.append(f"{name}: varies: {fields}; expected one field, or `together` that says why there are more")
    differ: set[str] = set()
    gates = {arm.name: arm.gates for arm in one.arms}
    for arm, design in others:
        asked = gates[reference], gates[arm]
        wrong = _faults_of_pair(one, first, design) if asked[0] == asked[1] else _faults_of_gates(one, first, design)
        found += [f"{name}: {reference} and {arm} {fault}" for fault in wrong]
        differ |= set(differences(first, design)[1])
    idle = [key for key in one.follows if not any(_in(field, [key]) for field in differ)]
    return found + [f"{name}: follows: {key}; it differs in no arm" for key in idle]


def _faults_of_pair(one: Experiment, first: Design, design: Design) -> Iterator[str]:
    fields, follows = differences(first, design)
    for key, (a, b) in fields.items():
        if not _in(key, one.varies):
            yield f"differ in {key} too: {a} and {b}"
    if not any(_in(field, one.varies) for field in fields):
        yield f"do not differ in {', '.join(one.varies)}"
    for key in follows:
        if not _in(key, [*one.varies, *one.follows]):
            yield f"differ in the plan's {key}, which `follows` does not say"
    if hasattr(first.row("thp"), "BY_PLACE") and not _in("thp", one.varies):
        yield "have huge pages by the place of memory, and that differs: state thp"
    if {"front", "class_front"} & {*one.varies}:
        yield from _other_classes(first, design)


def _faults_of_gates(one: Experiment, first: Design, design: Design) -> Iterator[str]:
    """Yield what differs beside the gates, which no design states and no plan knows."""
    if one.varies != ["gates"]:
        yield f"differ in gates, and varies says {', '.join(one.varies) or 'no field'}"
    for key, (a, b) in differences(first, design)[0].items():
        yield f"differ in {key} beside the gates: {a} and {b}"


def _other_classes(first: Design, design: Design) -> Iterator[str]:
    """Yield the classes of equal fronts that differ all the same."""
    rows = [{row.name: row for row in make_plan(one).classes} for one in (first, design)]
    for name in rows[0].keys() & rows[1].keys():
        pair = [by_name[name] for by_name in rows]
        if pair[0].front == pair[1].front and _own(pair[0]) != _own(pair[1]):
            yield f"differ in the class of {name} bytes, whose front is the same"


class Seen(NamedTuple):
    """An arm on a workload: its plan, and the shares of the allocations by class, and by how they are served."""

    plan: Plan
    classes: Shares
    ways: Shares


def seen(design: Design, of: Simulation) -> Seen:
    """Return what a simulated workload asked of a design."""
    plan, counts, totals = make_plan(design), of.counters.classes, of.counters.totals
    served = [sum(counts[name][row.index] for name in ("hit0", "hit1", "refill")) for row in plan.classes]
    large = sum(totals[name] for name in ("run_hit", "run_reuse", "run_grow", "huge_map", "huge_reuse"))
    whole = max(1, sum(served) + large)
    ways: Shares = {"as large blocks": large / whole}
    for row, count in zip(plan.classes, served, strict=True):
        way = _way(plan, row)
        ways[way] = ways.get(way, 0.0) + count / whole
    classes = {row.name: count / whole for row, count in zip(plan.classes, served, strict=True)}
    return Seen(plan, {name: share for name, share in classes.items() if share >= SHARE}, ways)


def _way(plan: Plan, row: ClassPlan) -> str:
    """Return how malloc and free come to what serves a class (docs/lab/dispatch.md)."""
    if plan.dispatch == "table":
        return "by class" if plan.by_table else "to the store"
    return "by row" if row.stack else "by a row that never serves, then by class"


def faults_on(name: str, one: Experiment, workloads: Mapping[str, Mapping[str, Simulation]]) -> list[str]:
    """Return where arms differ on calls that a workload does not make, or beside the choice; by workload and arm."""
    told = {arm for by_arm in workloads.values() for arm in by_arm}
    designs = {arm: design for arm, design in designs_of(name, one).items() if arm in told}
    if len(designs) < 2:
        return []
    found: list[str] = []
    asked: set[str] = set()
    for workload, by_arm in workloads.items():
        (reference, first), *others = ((arm, seen(designs[arm], by_arm[arm])) for arm in designs)
        asked |= set(chain(first.classes, *(its.classes for _, its in others)))
        for arm, its in others:
            where = f"{name}: {reference} and {arm} on {workload}"
            found += [f"{where}: {fault}" for fault in _faults_on_pair(one, first, its)]
    for arm, design in designs.items():
        sizes = {str(size) for exception in design.class_front for size in exception.sizes}
        changed = sizes & _changed(make_plan(next(iter(designs.values()))), make_plan(design))
        if idle := sorted(changed - asked, key=int):
            found.append(
                f"{name}: {arm} has a front of its own for classes that no workload asks for: {', '.join(idle)}"
            )
    return found


def _faults_on_pair(one: Experiment, first: Seen, its: Seen) -> Iterator[str]:
    if not one.together and "dispatch" not in one.varies:
        for way in sorted(first.ways.keys() | its.ways.keys()):
            shares = first.ways.get(way, 0.0), its.ways.get(way, 0.0)
            if abs(shares[0] - shares[1]) >= SHARE:
                yield f"{shares[0]:.1%} and {shares[1]:.1%} of the allocations go {way}"
    changed = _changed(first.plan, its.plan)
    if changed and not _by_heap(first.plan, its.plan) and not changed & (first.classes.keys() | its.classes.keys()):
        yield f"the classes that differ get no request: {', '.join(sorted(changed))}"


def _changed(first: Plan, second: Plan) -> set[str]:
    """Return the names of the classes that only one plan has, or that differ in more than their place."""
    rows = [{row.name: _with_numbers(row) for row in plan.classes} for plan in (first, second)]
    return {name for name in rows[0].keys() | rows[1].keys() if rows[0].get(name) != rows[1].get(name)}


def _by_heap(first: Plan, second: Plan) -> bool:
    """Return whether the plans differ in a number that no class has."""
    _, fields = differences(first.design, second.design)
    return any(not _in(field, LENGTHS) for field in fields)


def _own(row: ClassPlan) -> dict[str, Any]:
    return {key: value for key, value in msgspec.to_builtins(row).items() if key not in PLACES}


def _with_numbers(row: ClassPlan) -> dict[str, Any]:
    """Return what a class has but its place; a number of 0 is as none, which the class of another row has."""
    return {**_own(row), "numbers": {name: number for name, number in row.numbers.items() if number}}


def _in(key: str, stated: Sequence[str]) -> bool:
    return any(key == one or key.startswith(f"{one}.") for one in stated)


def _flat(prefix: str, value: Any) -> dict[str, Any]:
    """Return the leaves of nested tables by dotted path; lists are leaves."""
    if not isinstance(value, dict):
        return {prefix: value}
    parts = [_flat(f"{prefix}.{key}".lstrip("."), inner) for key, inner in value.items()]
    return {key: leaf for part in parts for key, leaf in part.items()}


def _plan_fields(design: Design) -> dict[str, Any]:
    """Return the fields of the Plan; those of classes by `class.<field>` as lists over classes."""
    plan = msgspec.to_builtins(make_plan(design))
    plan |= _flat("numbers", plan.pop("numbers"))
    classes = [_flat("class", row) for row in plan.pop("classes")]
    by_class = {key: [row.get(key) for row in classes] for key in classes[0]}
    return {key: value for key, value in plan.items() if key not in OUTSIDE} | by_class
