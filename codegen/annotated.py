"""Emitted C with what a trace does in it: comments with counts, shares and predicted instructions.

The counts are the model's on this trace, which are those of the library (docs/tuning.md). Only comments are added.
"""

import re
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from heapsmith.codegen.generate import HEADER
from heapsmith.model import policy
from heapsmith.model.design.design import Design
from heapsmith.model.design.plan import Plan, make_plan
from heapsmith.model.errors import printable
from heapsmith.model.memory.application import program_of
from heapsmith.model.memory.hardware import load_hardware
from heapsmith.model.parts.counters import COUNTS, TOTALS
from heapsmith.model.predict.cost import Kinds, instructions_of, instructions_spent, kinds
from heapsmith.model.predict.simulate import Progress, Simulation, simulate

FIRST = "fast.c"
"""The file that has the tables of the whole trace, behind its banner."""

COUNTING = re.compile(
    r"^[^/]*\bcount_(?:own|shared|checked)\(&(?P<owner>[^;,]*?)(?:->|\.)(?P<name>\w+)(?:, [^;]*)?\);$"
)
"""A line that raises a counter."""
OF_CLASS = re.compile(r"\bCLASS_(\w+)")

ALLOCATED, FREED = ("hit0", "hit1", "refill"), ("push", "direct", "remote")
"""What all allocations of a class are, and its frees: to the front, to the store, or to another thread's heap."""
MISSED, SPILLED = ("refill", "hit1"), ("flush", "spill", "direct")
"""What a slow path of a front does."""
LARGE = ("run_hit", "run_reuse", "run_grow", "huge_map", "huge_reuse")
LARGE_FREED = ("run_free", "huge_unmap")


class Run(NamedTuple):
    """A design on a trace: its counters, its bill by kind, and what each kind costs, in instructions."""

    trace: str
    plan: Plan
    simulation: Simulation
    bill: Kinds
    each: Mapping[str, float]

    def count(self, name: str, owner: str = "") -> int:
        """Return a counter: of the class that its owner names, or of all."""
        if name in TOTALS:
            return self.simulation.counters.totals[name]
        of = self.simulation.counters.classes[name]
        found = OF_CLASS.search(owner)
        return of[[row.name for row in self.plan.classes].index(found[1])] if found else sum(of)

    def counts(self, names: tuple[str, ...], owner: str = "") -> int:
        """Return the sum of counters."""
        return sum(self.count(name, owner) for name in names)

    @property
    def instructions(self) -> float:
        """All predicted instructions of the library."""
        return instructions_spent(self.bill, self.each)


def run_of(design: Design, trace: Path, progress: Progress | None = None) -> Run:
    """Simulate a design on a trace; BadInput if it is damaged."""
    hardware, application = load_hardware(), program_of(trace)
    table = simulate(trace, [design], hardware=hardware, application=application, progress=progress)
    plan, found = make_plan(design), table.rows[0]
    return Run(printable(trace.name).replace("*/", "* /"), plan, found, kinds(plan, found), instructions_of(hardware))


def annotated(files: Mapping[str, str], run: Run) -> dict[str, str]:
    """Return files with comments of a run: their C is the same."""
    own = {name for name in files if name.endswith((".c", ".h")) and name not in (HEADER, "plan.h", "plan.c")}
    heads = _heads(run)
    return {name: _with_comments(name, text, run, heads) if name in own else text for name, text in files.items()}


def _with_comments(name: str, text: str, run: Run, heads: Mapping[str, list[str]]) -> str:
    lines: list[str] = []
    for line in text.splitlines(keepends=True):
        function = re.match(r"(?:static )?(?:__attribute__\(\(noinline\)\) )?(?:void \*?)(\w+)\([^;]*$", line)
        if function and function[1] in heads:
            lines += [_comment(one) for one in heads[function[1]]]
        said = _said(line.rstrip("\n"), name, run)
        lines.append(f"{line.rstrip(chr(10))} /* {said} */\n" if said else line)
    found = "".join(lines)
    if name == FIRST:
        banner, end, rest = found.partition("*/\n")
        found = f"{banner}{end}\n{''.join(_tables(run))}\n{rest}"
    return found


def _comment(text: str) -> str:
    """Return a comment of lines of the width that the C has."""
    return "\n * ".join(textwrap.wrap(f"/* {text} */", 117, break_long_words=False, break_on_hyphens=False)) + "\n"


def _said(line: str, file: str, run: Run) -> str:
    """Return the comment of a line that counts, or that leaves for a slow path; "" for another."""
    if found := COUNTING.match(line):
        name, owner = found["name"], found["owner"]
        if name in (*COUNTS, *TOTALS):
            return f"{name} {run.count(name, owner):,}{_share(name, owner, run)}"
    if file == FIRST and line.endswith(";"):
        for leaves, counters in _leaves(run.plan):
            if re.search(rf"\b{leaves}\(", line):
                some = [name for name in counters if run.count(name, line)] or counters[:1]
                return ", ".join(f"{name} {run.count(name, line):,}" for name in some)
    return ""


def _share(name: str, owner: str, run: Run) -> str:
    """Return a counter's share of the allocations or the frees of its class, or of all."""
    of = {**dict.fromkeys(ALLOCATED, ALLOCATED), **dict.fromkeys(FREED, FREED)}.get(name)
    whole = run.counts(of, owner) if of else 0
    return f": {run.count(name, owner) / whole:.1%} of {'allocations' if of is ALLOCATED else 'frees'}" if whole else ""


def _leaves(plan: Plan) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the slow paths that hit paths leave for, with the counters that tell how often."""
    for kind in {row.front.kind for row in plan.classes}:
        code = policy.row("front", kind).CODE
        yield from ((code.allocate.leaves, MISSED), (code.free.leaves, SPILLED))
    yield from (("hs_malloc_large", LARGE), ("hs_free_large", LARGE_FREED))


def _heads(run: Run) -> dict[str, list[str]]:
    """Return the comments above functions, by name: of malloc and free, of classes, of fronts' slow paths."""
    found = {
        "malloc": [f"{run.trace}: {run.counts(ALLOCATED):,} small allocations, {run.counts(LARGE):,} large."],
        "free": [f"{run.trace}: {run.counts(FREED):,} small frees, {run.counts(LARGE_FREED):,} large."],
    }
    for kind in {row.front.kind for row in run.plan.classes}:
        code = policy.row("front", kind).CODE
        for function, group in ((code.allocate.leaves, "refill"), (code.free.leaves, "flush")):
            priced = [name for name in run.bill if name in (f"{group}.{kind}", f"{group}.block.{kind}")]
            if priced:
                found[function] = [f"{run.trace}: {_priced({name: run.bill[name] for name in priced}, run)}."]
    for row in run.plan.classes:
        owner, spent = f"CLASS_{row.name}", _of_class(row.index, run)
        for function, names in ((f"alloc_{row.name}", ALLOCATED), (f"free_{row.name}", FREED)):
            count, all_of_them = run.counts(names, owner), run.counts(names)
            what = "allocations" if names is ALLOCATED else "frees"
            found[function] = [f"{run.trace}: {count:,} {what}, {_part(count, all_of_them)} of all."]
        if spent:
            found[f"alloc_{row.name}"].append(f"Class {row.name}, allocated and freed: {_priced(spent, run)}.")
    return found


def _of_class(index: int, run: Run) -> Kinds:
    """Return the bill of one class: what would not be there without its counts."""
    counters = run.simulation.counters
    nothing = dict.fromkeys(counters.totals, 0)
    only = {name: [count if at == index else 0 for at, count in enumerate(of)] for name, of in counters.classes.items()}
    work = dict.fromkeys(run.simulation.statistics.work, 0)
    statistics = msgspec.structs.replace(run.simulation.statistics, work=work)

    def bill(classes: dict[str, list[int]]) -> Kinds:
        alone = msgspec.structs.replace(counters, classes=classes, totals=nothing)
        return kinds(run.plan, msgspec.structs.replace(run.simulation, counters=alone, statistics=statistics))

    empty = bill({name: [0] * len(of) for name, of in only.items()})
    return {name: more for name, count in bill(only).items() if (more := count - empty.get(name, 0))}


def _priced(bill: Kinds, run: Run) -> str:
    """Return the parts of a bill that cost something, the dearest first, and their sum."""
    costs = {name: count * run.each.get(name, 0.0) for name, count in bill.items()}
    dear = sorted(filter(costs.get, bill), key=lambda name: -costs[name])
    parts = [f"{name} {bill[name]:,.0f} x {run.each[name]:.3g}" for name in dear]
    spent = sum(costs.values())
    return f"{', '.join(parts)}: {spent:,.0f} instructions, {_part(spent, run.instructions)} of the library's"


def _part(part: float, whole: float) -> str:
    return f"{part / whole:.1%}" if whole else "0%"


def _tables(run: Run) -> Iterator[str]:
    """Yield a comment with the bill by kind, the counters by class that are not all 0, and the totals."""
    yield f"/* What {run.trace} does in this heap, by the model: counters, and the instructions predicted from them.\n"
    yield " * A counter that several lines raise has its sum at each of them.\n *\n"
    yield f" * {'kind':<32}{'count':>16}{'each':>10}{'instructions':>18}{'share':>8}\n"
    costs = {name: count * run.each.get(name, 0.0) for name, count in run.bill.items()}
    for name in sorted(costs, key=lambda one: -costs[one]):
        line = f"{name:<32}{run.bill[name]:>16,.0f}{run.each.get(name, 0.0):>10.4g}{costs[name]:>18,.0f}"
        yield f" * {line}{_part(costs[name], run.instructions):>8}\n"
    yield f" * {'all':<58}{run.instructions:>18,.0f}\n *\n"
    used = [name for name in COUNTS if run.count(name)]
    yield f" * {'class':>10}{''.join(f'{name:>14}' for name in used)}\n"
    for row in run.plan.classes:
        of = [run.count(name, f"CLASS_{row.name}") for name in used]
        if any(of):
            yield f" * {row.name:>10}{''.join(f'{count:>14,}' for count in of)}\n"
    yield " *\n"
    for name in TOTALS:
        if count := run.count(name):
            yield f" * {name:<24}{count:>16,}\n"
    yield " */\n"
