"""All C under other compilers: warnings are errors, and the libraries must do what the model does.

python -m heapsmith.bench.gates.compilers [--compiler NAME]... [-o FILE] [--json] [DESIGN]..., or make compilers

debian.sh beside this file runs it in another release of Debian. docs/lab/platforms.md has the table of
compilers.json.
"""

import os
import platform
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from heapsmith.bench.common.command import exit_with
from heapsmith.bench.common.commit import today
from heapsmith.bench.gates import hot_paths
from heapsmith.bench.programs.instructions import FORMS, per_operation
from heapsmith.bench.programs.programs import programs, trace_of
from heapsmith.codegen.build import FLAGS, build_emitted
from heapsmith.codegen.difference import counted
from heapsmith.codegen.generate import generate
from heapsmith.codegen.layers import ABOUT_PROCESSORS, RUNTIME
from heapsmith.codegen.toolchain import TOOL_FLAGS, Compiler, complaints, find_compiler, find_tool, run_tool
from heapsmith.codegen.verify import Library, replay
from heapsmith.model.design.design import Design, builtin_names, load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.errors import CheckFailed, Missing
from heapsmith.model.files import scratch, write_json
from heapsmith.tools.common.tables import Words, draw

NAMES = [*(f"gcc-{version}" for version in range(11, 17)), *(f"clang-{version}" for version in range(14, 24))]
"""Debian's names; a compiler that is not on PATH is left out. clang 13 has no __builtin_thread_pointer for x86."""
TOOLS = ("recorder", "replay", "verify")
"""The folders of the runtime whose files are programs of their own."""
PROGRAM = "python"
SCALE = 0.05  # of its usual input
FILE = Path(__file__).with_suffix(".json")
COUNTED = "pair-32"
MORE = 2
"""Instructions that a pair of malloc and free may take more than gcc's of hot_paths.toml."""


class Outcome(msgspec.Struct, kw_only=True):
    """What one compiler did; `faults`: a line per file or library that it complains of or that differs."""

    compiler: str
    version: str
    system: str = ""
    date: str = ""
    files: int = 0  # of the tools
    libraries: int = 0
    events: int = 0  # compared with the model, over all libraries
    addresses: int = 0
    instructions: dict[str, float] = {}  # of a pair of malloc and free, by design
    faults: list[str] = []


def tools(outcome: Outcome, compiler: Compiler) -> None:
    """Compile the recorder, the replayer and the driver of verify, file by file."""
    for folder in TOOLS:
        for source in sorted((RUNTIME / folder).glob("*.c")):
            try:
                words = [
                    *TOOL_FLAGS,
                    "-Werror",
                    *(f"-I{header}" for header in ABOUT_PROCESSORS),
                    "-S",
                    "-o",
                    os.devnull,
                ]
                run_tool([compiler.path, *words, str(source)], source.name)
            except CheckFailed as error:
                outcome.faults.append(str(error))
            outcome.files += 1


def libraries(design: Design, emitted: Path, compilers: dict[str, Compiler], outcomes: dict[str, Outcome]) -> None:
    """Compile the header and the library of a design with every compiler."""
    for name, compiler in compilers.items():
        header = [compiler.path, "-Wall", "-Wextra", f"-I{emitted}"]
        faults = complaints(header, '#include "heapsmith.h"\n', f"heapsmith.h of {design.name}")
        try:
            flags, own = [*FLAGS, "-Werror"], design.compile_flags
            build_emitted(emitted, emitted / f"{name}.so", flags=flags, own=own, compiler=compiler.path)
        except CheckFailed as error:
            faults.append(f"{design.name}: {error}")
        outcomes[name].faults += faults
        outcomes[name].libraries += 1


def compare(design: Design, emitted: Path, trace: Path, outcomes: dict[str, Outcome]) -> None:
    """Compare all libraries of a design with the model: every address, and the counters outside the hit path."""
    plan = make_plan(design)
    built = {name: path for name in outcomes if (path := emitted / f"{name}.so").exists()}
    sides = [Library(name, path, 0, counted(plan, checked=False)) for name, path in built.items()]
    for run in replay(plan, sides, trace, lambda what, done, total: None):
        outcome = outcomes[run.build]
        outcome.events += run.events
        outcome.addresses += run.addresses
        if run.difference is not None:
            outcome.faults.append(f"{design.name}: {run.difference}")


def count(design: Design, emitted: Path, outcomes: dict[str, Outcome]) -> None:
    """Count the instructions of a pair of malloc and free, and hold them to gcc's."""
    limit = hot_paths.allowed()[1][design.name][COUNTED] + MORE
    for name, outcome in outcomes.items():
        if (built := emitted / f"{name}.so").exists():
            bare = built.with_suffix(".bare.so")  # an older valgrind cannot read what newer compilers say for debuggers
            run_tool([find_tool("objcopy"), "--strip-debug", str(built), str(bare)], built.name)
            found = round(per_operation(FORMS[COUNTED], bare, operations=hot_paths.OPERATIONS), 1)
            outcome.instructions[design.name] = found
            if found > limit:
                outcome.faults.append(f"{design.name}: {found} instructions a pair, at most {limit} were expected")


def examine(designs: Sequence[Design], compilers: dict[str, Compiler]) -> list[Outcome]:
    """All C of the runtime and of the designs under every compiler. Raises what `record` and `replay` raise."""
    system = f"{platform.freedesktop_os_release()['PRETTY_NAME']}, glibc {platform.libc_ver()[1]}"
    outcomes = {
        name: Outcome(compiler=name, version=one.version, system=system, date=today())
        for name, one in compilers.items()
    }
    with scratch() as folder:
        program = next(row for row in programs(folder / "inputs", scale=SCALE) if row.name == PROGRAM)
        trace = trace_of(program, folder / "recorded")
        for name, compiler in compilers.items():
            tools(outcomes[name], compiler)
        for design in designs:
            emitted = folder / design.name
            generate(design, emitted)
            libraries(design, emitted, compilers, outcomes)
            compare(design, emitted, trace, outcomes)
            if design.name in hot_paths.DESIGNS:
                count(design, emitted, outcomes)
            shutil.rmtree(emitted)
            print(f"{design.name}: {sum(len(one.faults) for one in outcomes.values())} faults so far", file=sys.stderr)
    return list(outcomes.values())


def kept(file: Path = FILE) -> list[Outcome]:
    """The outcomes that a file keeps; none if it is absent."""
    return msgspec.json.decode(file.read_bytes(), type=list[Outcome]) if file.exists() else []


def keep(outcomes: list[Outcome], file: Path) -> None:
    """Write outcomes to a file, which keeps those of other compilers and systems."""
    new = {(one.compiler, one.system) for one in outcomes}
    whole = [*(one for one in kept(file) if (one.compiler, one.system) not in new), *outcomes]
    write_json(file, sorted(whole, key=lambda one: ([*NAMES, one.compiler].index(one.compiler), one.system)))


def table(outcomes: Sequence[Outcome]) -> Words:
    """The outcomes as a table."""
    columns = ("compiler", "<version", "<system", "files", "libraries", "addresses", "faults", "instructions")
    rows = [
        [
            one.compiler,
            (re.search(r"\d+\.\d+\.\d+", one.version) or [one.version])[0],
            one.system,
            *(f"{count:,}" for count in (one.files, one.libraries, one.addresses, len(one.faults))),
            str(one.instructions.get("default", "")),
        ]
        for one in outcomes
    ]
    return Words("", columns, rows)


def main(
    designs: Annotated[list[str] | None, typer.Argument(help="Default: every built-in design.")] = None,
    compiler: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Default: all that are here.")] = None,
    out: Annotated[Path | None, typer.Option("-o", metavar="FILE", help="Keep the result; other rows stay.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> int:
    """Compile and compare; 1 if a compiler complains or a library differs from the model."""
    names = compiler or [name for name in NAMES if shutil.which(name)]
    if not names:
        raise Missing(f"compilers: none of {NAMES[0]} ... {NAMES[-1]} on PATH (Debian: apt install clang-16)")
    outcomes = examine(
        [load(name) for name in designs or builtin_names()], {name: find_compiler(name) for name in names}
    )
    if out:
        keep(outcomes, out)
    if json:
        print(msgspec.json.encode(outcomes).decode())
    else:
        draw(table(outcomes))
        for one in outcomes:
            print("".join(f"{one.compiler}: {fault}\n" for fault in one.faults), file=sys.stderr, end="")
    return int(any(one.faults for one in outcomes))


if __name__ == "__main__":
    exit_with(main)
