"""Audit of the emitted C: compares its shape, numbers, machine code and style with its claims."""

import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from itertools import zip_longest
from pathlib import Path

import msgspec

import heapsmith
from heapsmith.codegen.audit_header import audit_header
from heapsmith.codegen.bounds import audit_bounds
from heapsmith.codegen.build import WARNINGS, build_emitted
from heapsmith.codegen.claims import NO_FREE, Row, counted, exits, functions, judged
from heapsmith.codegen.disassembly import Listing, MachinePath, disassemble, paths
from heapsmith.codegen.emitted import parse
from heapsmith.codegen.figures import audit_figures
from heapsmith.codegen.generate import HEADER, UNIT
from heapsmith.codegen.instruction import Unreadable
from heapsmith.codegen.layers import HEAP
from heapsmith.codegen.purposes import purposes
from heapsmith.codegen.shape import LAST_WORDS, audit_shape
from heapsmith.codegen.target import Toolchain
from heapsmith.codegen.toolchain import Compiler, complaints, find_compiler, find_gcc
from heapsmith.model.design.design import Design
from heapsmith.model.design.plan import Plan, make_plan
from heapsmith.model.errors import CheckFailed
from heapsmith.model.files import scratch
from heapsmith.model.policy.emitted import Hit

BANNER_LINES = 5
MAX_COLUMNS = 120
MAX_LINES = 14
"""Lines of a hot function's body; lines with only a brace do not count."""

INLINED = ("pop", "push", "free_small", "malloc_from")
"""Parts of malloc and free that the compiler must inline into them."""

WITHIN = {"hs_malloc_large": {"hs_large_alloc", "malloc_missed"}}
"""What is left of a slow path that link-time optimisation inlines: the function that it calls, by gcc and by clang."""

COUNTS = r"(\d+) loads?, (\d+) stores?, (\d+) branch(?:es)?"
STEPS = {"#ifdef __x86_64__", "#else", "#endif"}
"""Around the one instruction by which a stack's top moves: heapsmith.h includes no file for the processor."""

NOT_ARCHIVED = "#ifndef HEAPSMITH_ARCHIVE"
"""Around C++'s operators: of a program that is linked with the archive, they are its C++ library's."""

DIRECTIVES = {
    "plan.h": {"#pragma once", "#define BOUNDED BOUNDED"},
    "rooms.h": {"#pragma once"},
    "moments.h": {"#pragma once"},
    "fast.c": {"#pragma GCC visibility push(hidden)", "#pragma GCC visibility pop", NOT_ARCHIVED, *STEPS},
    UNIT: {"#define _GNU_SOURCE", NOT_ARCHIVED, "#endif"},
    HEADER: {
        *("#ifndef HEAPSMITH_H", "#define HEAPSMITH_H", "#ifdef __cplusplus", "#ifdef __cpp_exceptions", "#endif"),
        *("#elif defined(HS_REPLACE_MALLOC)", "#define malloc(bytes) hs_malloc(bytes)", *STEPS),
    },
}
"""Preprocessor lines that an emitted file may hold beside #include."""

GIVEN = r'#include |#define [A-Z_]+ "[\w/]+\.h"$'
"""Lines that take in another file, or name one that the runtime takes in."""

FOREIGN = (
    r"\b\d{4}-\d\d-\d\d\b|\b\d\d?:\d\d:\d\d\b|__(?:DATE|TIME|TIMESTAMP|FILE)__"
    r"|\w@\w|\b[\w-]+\.(?:local|lan|internal|com|org|net)\b|(?<![\w.*/])/[\w.-]+/[\w./-]*"
)
"""Dates, times, hosts and absolute paths."""


class AuditReport(msgspec.Struct, frozen=True):
    """The audit of one design: every claim as a row, in the order of the checks."""

    design: str
    hash: str
    compiler: str
    ok: bool
    rows: list[Row]

    def failed(self) -> list[Row]:
        """The claims that do not hold."""
        return [row for row in self.rows if not row.ok]


def audit_emitted(
    design: Design, emitted: Path, *, library: Path | None = None, tools: Toolchain | None = None
) -> AuditReport:
    """Check the claims of a design's C in `emitted`; `library` is its release build if it exists.

    tools: those of another processor, for which `library` was built: its hit paths have at most the loads, stores and
    branches that are claimed, and heapsmith.h and bounds are not looked at. Raises Missing without gcc or objdump.
    """
    gcc = find_compiler(tools.compiler[0]) if tools else find_gcc()
    plan = make_plan(design)
    files = {name: (emitted / name).read_text() for name in purposes(plan)}
    with ThreadPoolExecutor(1) as beside:
        machine = beside.submit(_machine_rows, plan, files["fast.c"], emitted, library, gcc, tools)
        rows = [*_shape_rows(plan, emitted), *_style_rows(plan, files), *_warning_rows(emitted, gcc)]
        rows += [] if tools else audit_header(plan, files[HEADER], emitted, gcc)
        rows += machine.result()
    return AuditReport(design.name, plan.hash, gcc.version, all(row.ok for row in rows), rows)


def _shape_rows(plan: Plan, emitted: Path) -> list[Row]:
    try:
        unit = parse(emitted, HEAP)
    except CheckFailed as error:
        return [judged("shape", "emitted C", "C11 that pycparser reads", [str(error)])]
    return audit_shape(plan, unit) + audit_figures(plan, unit)


def claimed(text: str) -> dict[str, Hit | None]:
    """The hit paths that the comments in fast.c claim, by function; None: "No hit path"."""
    found: dict[str, Hit | None] = {}
    for comment, before in re.findall(r"/\*((?:(?!\*/).)*)\*/\n([^\n]*\()", text, re.DOTALL):
        name = before.rstrip("(").rpartition(" ")[2].lstrip("*")
        names = [name, name.replace("alloc_", "free_")] if name.startswith("alloc_") else [name]
        counts = [Hit(*map(int, numbers)) for numbers in re.findall(COUNTS, comment)]
        if "No hit path: " in comment:
            found |= dict.fromkeys(names)
        elif "Hit path: " in comment and len(counts) + (NO_FREE in comment) == len(names):
            found |= zip_longest(names, counts)
    return found


def _machine_rows(
    plan: Plan, text: str, emitted: Path, library: Path | None, gcc: Compiler, tools: Toolchain | None
) -> list[Row]:
    """One row per hot function: its claimed hit path, and the one in the machine code.

    With a single class, its functions are compiled into malloc and free and get no rows.
    """
    with scratch() as folder:
        try:
            built = library or build_emitted(emitted, folder / "library.so", compiler=gcc.path)
            listing = disassemble(built, tools.tool("objdump") if tools else None)
            bounds = audit_bounds(built) if plan.design.bounded and not tools else []
        except CheckFailed as error:
            return [judged("machine code", "library", "gcc builds it", [str(error)])]
    claims = claimed(text)
    rows = [_machine_row(name, claims, listing, plan, gcc, exact=tools is None) for name in hot_functions(plan)]
    return [*rows, *bounds]


def hot_functions(plan: Plan) -> list[str]:
    """The functions whose hit paths are counted."""
    without = {*INLINED, *(functions(plan) if plan.class_count == 1 else ())}
    return [name for name in exits(plan) if counted(plan, name) and name not in without]


def hit_paths(name: str, listing: Listing, plan: Plan) -> list[MachinePath]:
    """The ways through a function that enter no slow path, of the same effect one. Raises Unreadable."""
    leaves = exits(plan)
    leaving = (name, *INLINED) if plan.class_count > 1 else leaves
    may_leave = frozenset(slow for part in leaving for slow in leaves.get(part, ()))
    may_leave |= {called for slow in may_leave & {*WITHIN} for called in WITHIN[slow]}
    may_leave |= LAST_WORDS if plan.check_last else set()
    ends = {"ret"} if plan.dispatch != "table" else {"dispatch", "ret"}
    ways = paths(listing, name, may_leave, frozenset(leaves))
    return list({path: path for path in ways if path.end in ends})


def said(path: MachinePath) -> str:
    """What a hit path costs, in words."""
    return f"{path.hit()} in {len(path.instructions)} instructions"


def _machine_row(
    name: str, claims: dict[str, Hit | None], listing: Listing, plan: Plan, gcc: Compiler, *, exact: bool
) -> Row:
    """exact: the hit path has what is claimed, else at most that."""
    if name not in claims:
        return judged("machine code", name, "a hit path", ["its comment claims none"])
    most = claims[name]
    claim = str(most or "no hit path") if exact or most is None else f"at most {most}"
    try:
        hits = {path: path.hit() for path in hit_paths(name, listing, plan)}
    except Unreadable as error:
        return Row("machine code", name, claim, f"{error} ({gcc.version})", False)
    ok = list(hits.values()) == ([] if most is None else [most])
    if most is not None and not exact:
        ok = len(hits) == 1 and all(one <= other for hit in hits.values() for one, other in zip(hit, most, strict=True))
    found = " or ".join(map(said, hits)) or "no hit path"
    return Row("machine code", name, claim, found if ok else f"{found} ({gcc.version})", ok)


def _style_rows(plan: Plan, files: dict[str, str]) -> list[Row]:
    """One row per file for the style of emitted text; the design's name is exempt."""
    made = f'Emitted by heapsmith {heapsmith.__version__} from design "{plan.design.name}", content hash {plan.hash}.'
    claim = f"banner, {MAX_COLUMNS} columns, no macro, no date, host or absolute path"
    rows = []
    for file, purpose in purposes(plan).items():
        text = files[file]
        banner = [] if text.startswith(f"/* {purpose}\n *\n * {made}\n") else ["does not begin with the banner"]
        nameless = text.replace(f'"{plan.design.name} {plan.hash}"', '""')
        lines = list(enumerate(nameless.splitlines(), 1))[0 if banner else BANNER_LINES :]
        rows.append(judged("style", file, claim, banner + _line_faults(file, lines)))
    return [*rows, _length_row(files["fast.c"])]


def _line_faults(file: str, lines: list[tuple[int, str]]) -> list[str]:
    """The faults of single lines: length, forbidden facts, preprocessor directives."""
    allowed = DIRECTIVES.get(file, set())
    faults = []
    for number, line in lines:
        if len(line) > MAX_COLUMNS:
            faults.append(f"line {number} has {len(line)} columns")
        if found := re.findall(FOREIGN, line):
            faults.append(f"line {number} tells {', '.join(found)}")
        if re.match(r"\s*#", line) and not re.match(GIVEN, line) and line.partition(" /*")[0] not in allowed:
            faults.append(f"line {number} is {line.strip()}")
    return faults


def _length_row(text: str) -> Row:
    """The length of hot functions."""
    faults = []
    for name, body in re.findall(r"^[^\n#/]*?(\w+)\([^\n;]*\)\n\{\n(.*?)^\}", text, re.MULTILINE | re.DOTALL):
        lines = sum(line.strip() not in {"", "{", "}"} for line in body.splitlines())
        if lines > MAX_LINES:
            faults.append(f"{name} has {lines} lines")
    return judged("style", "functions", f"at most {MAX_LINES} lines each", faults)


def _warning_rows(emitted: Path, gcc: Compiler) -> list[Row]:
    """gcc, and clang where it is installed, must give no warning."""
    clang = shutil.which("clang")
    compilers = {"gcc": [gcc.path, *WARNINGS]} | ({"clang": [clang, "-Wall", "-Wextra"]} if clang else {})
    options = ["-std=gnu17", "-O1", f"-I{emitted}", f"-I{HEAP}"]
    both = '#include "plan.c"\n#include "fast.c"\n'
    return [
        judged("style", f"{name} -Wall -Wextra", "no warning", complaints([*command, *options], both, "the emitted C"))
        for name, command in compilers.items()
    ]
