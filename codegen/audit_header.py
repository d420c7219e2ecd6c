"""Audit of the emitted heapsmith.h: its table rows, its compilation as C and C++, its hit paths."""

import re
import shutil
from pathlib import Path

from heapsmith.codegen.claims import Row, header_hits, header_sentence, judged
from heapsmith.codegen.disassembly import disassemble, paths
from heapsmith.codegen.generate import HEADER
from heapsmith.codegen.instruction import Unreadable
from heapsmith.codegen.toolchain import Compiler, compile_c, complaints
from heapsmith.model.design.plan import Plan
from heapsmith.model.errors import CheckFailed, Missing
from heapsmith.model.files import scratch, write_text

STRICT = ["-O2", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow"]
LANGUAGES = {"c11": ("gcc", "c"), "c++17": ("g++", "c++")}
"""By language standard: the compiler and its name for the language."""

PROBE = """#include "{header}"
void *probe_alloc(void);
void probe_free(void *block);
void *probe_alloc(void) {{ return hs_alloc_{bytes}(); }}
void probe_free(void *block) {{ hs_free_{bytes}(block); }}
"""


def audit_header(plan: Plan, text: str, emitted: Path, gcc: Compiler) -> list[Row]:
    """Audit heapsmith.h in `emitted`; `text` is its content. Raises Missing without objdump."""
    stacks = [row.usable for row in plan.classes if row.stack]
    probe = PROBE.format(header=HEADER, bytes=(stacks or [plan.classes[0].usable])[-1])
    faults = [] if header_sentence(plan) in text else ["another or none"]
    comment = judged("machine code", HEADER, "a comment on its hit path", faults)
    return [_numbers(plan, text), *_warnings(probe, emitted), comment, *_machine(plan, probe, emitted, gcc)]


def _numbers(plan: Plan, text: str) -> Row:
    """The header's row for every size, and the number of its stacks."""
    wanted = [(row.usable, row.index + 1 if row.stack else 0) for row in plan.sized] if plan.inline_alloc else []
    found = [(int(usable), int(row)) for usable, row in re.findall(r"bytes <= (\d+) \? (\d+)\n", text)]
    lengths = {int(length) for length in re.findall(r"void \*\*(?:top|end)\[1 \+ (\d+)\];", text)}
    ok = found == wanted and lengths == ({plan.class_count} if plan.inline_alloc else set())
    return judged("numbers", HEADER, "rows are the plan's", [] if ok else [f"{found}, of {lengths} classes"])


def _warnings(probe: str, emitted: Path) -> list[Row]:
    """No warning in C or C++, for the compilers that are installed."""
    rows = []
    for standard, (compiler, language) in LANGUAGES.items():
        if path := shutil.which(compiler):
            command = [path, f"-std={standard}", *STRICT, f"-I{emitted}"]
            faults = complaints(command, probe, HEADER, language)
            rows.append(judged("style", f"{HEADER}, {standard}", "no warning", faults))
    return rows


def _machine(plan: Plan, probe: str, emitted: Path, gcc: Compiler) -> list[Row]:
    """Compares the inlined hit paths in a program's machine code with the header's comment."""
    wanted = dict(zip(("probe_alloc", "probe_free"), header_hits(plan), strict=True))
    with scratch() as folder:
        source = folder / "probe.c"
        write_text(source, probe, Missing)
        try:
            flags = ["-std=c11", "-O2", "-fPIC", "-shared"]
            listing = disassemble(compile_c([source], folder / "probe.so", flags=flags, include=[emitted]))
        except CheckFailed as error:
            return [judged("machine code", HEADER, "gcc compiles it", [str(error)])]
    rows = []
    for name, hits in wanted.items():
        claim = " or ".join(map(str, hits)) or "no hit path"
        try:
            ways = paths(listing, name, frozenset({"malloc", "free"}), frozenset())
            found = " or ".join(map(str, sorted(way.hit() for way in ways if way.end == "ret"))) or "no hit path"
        except Unreadable as error:
            found = str(error)
        shown = found if found == claim else f"{found} ({gcc.version})"
        rows.append(Row("machine code", f"{HEADER}, {name[6:]}", claim, shown, found == claim))
    return rows
