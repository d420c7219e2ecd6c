"""The gate of the hot paths on other systems: instructions per operation under qemu, and the hit paths' counts.

`python -m heapsmith.bench.gates.hot_paths_elsewhere [TARGET]...` writes the files of targets, by default of all whose
compiler and emulator are installed.
"""

import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import tomlkit
import typer

from heapsmith.bench.common.command import exit_with
from heapsmith.bench.gates.hot_paths import DESIGNS, GATED
from heapsmith.bench.programs.emulated import emulator, per_operation
from heapsmith.bench.programs.instructions import FORMS
from heapsmith.codegen.audit import hit_paths, hot_functions, said
from heapsmith.codegen.build import build
from heapsmith.codegen.disassembly import disassemble
from heapsmith.codegen.target import Toolchain, pages_vary, toolchain
from heapsmith.codegen.toolchain import run_tool
from heapsmith.model.design.design import load
from heapsmith.model.design.fitted import fitted
from heapsmith.model.design.plan import make_plan
from heapsmith.model.errors import Missing
from heapsmith.model.files import scratch, write_text

TARGETS = ("aarch64-linux-gnu", "riscv64-linux-gnu", "x86_64-linux-musl", "aarch64-linux-musl")
READ = (*DESIGNS, "header", "byte-header", "bump", "ring", "processor", "region", "page-map", "levels")
"""Designs whose hit paths are read: those that are counted, and others with every classifier and front."""

OPERATIONS = 1000
"""Few, since each step is a line of a log; more than twice the live blocks."""

HEAD = """\
# Hot paths on another system: instructions per operation, by steps of qemu-user (bench/programs/emulated.py):
# release build, with call and PLT, without the loop; and what each function's hit path has, of classes each kind once.
# Exact for one compiler. `python -m heapsmith.bench.gates.hot_paths_elsewhere TARGET` writes the file;
# tests/test_hot_paths_elsewhere.py fails on other counts. Raise a figure only with a reason in the commit.
"""

Counts = dict[str, dict[str, Any]]
"""By design: by form the instructions, and as `hit_paths` by function what the hit path has."""


def file_of(target: str) -> Path:
    """The file with the counts of a target."""
    return Path(__file__).with_name(f"hot_paths_{target}.toml")


def count(names: Sequence[str], target: str, *, run: bool) -> Counts:
    """The current counts; run: with those that programs must run for. Raises Missing without compiler or qemu."""
    return {name: _count(name, target, run=run) for name in names}


def _count(name: str, target: str, *, run: bool) -> dict[str, Any]:
    tools = toolchain(target=target)
    design = fitted(load(name)) if pages_vary(tools) else load(name)
    found: dict[str, Any] = {}
    with scratch() as folder:
        library = build(design, folder / f"lib{name}.so", tools=tools)
        if run and name in DESIGNS:
            for form in GATED:
                steps = per_operation(FORMS[form], library, target, operations=OPERATIONS)
                found[form] = round(steps, 1)
        listing, plan = disassemble(library, tools.tool("objdump")), make_plan(design)
    kinds: dict[str, set[str]] = {}
    for function in hot_functions(plan):
        ways = [said(path) for path in hit_paths(function, listing, plan)]
        kind = function.partition("_")[0] + " of a class" if function[-1].isdecimal() else function
        kinds.setdefault(kind, set()).update(ways or ["no hit path"])
    return found | {"hit_paths": {kind: " or ".join(sorted(ways)) for kind, ways in kinds.items()}}


def version(tools: Toolchain) -> str:
    """The first line of what the compiler says of its version."""
    return run_tool([*tools.compiler, "--version"], "its version").splitlines()[0]


def allowed(target: str) -> tuple[str, Counts]:
    """The compiler that the file names, and its counts."""
    content = tomllib.loads(file_of(target).read_text())
    return content.pop("compiler"), content


def write(target: str) -> None:
    """Count, write the file of the target, and print it. Raises Missing without compiler or qemu."""
    emulator(target)
    compiler = version(toolchain(target=target))
    content = HEAD + tomlkit.dumps({"compiler": compiler, **count(READ, target, run=True)})
    write_text(file_of(target), content)
    print(target, content.removeprefix(HEAD), sep="\n", end="")


def main(targets: Annotated[list[str] | None, typer.Argument(help="what GCC calls them")] = None) -> int:
    """Write the files of targets."""
    for target in targets or TARGETS:
        try:
            write(target)
        except Missing as error:
            if targets:
                raise
            print(f"{file_of(target).name} stays as it is: {error}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    exit_with(main)
