"""Instructions per malloc+free pair on another processor: its programs under qemu, which logs each step.

qemu-user 7.2 has no plugins. With -singlestep each block of translated code is one instruction, and with
-d exec,nochain each block that runs is a line of its log.
"""

import subprocess
from functools import lru_cache
from pathlib import Path

from heapsmith.bench.programs.micro_programs import program
from heapsmith.bench.programs.micro_rows import MicroRow
from heapsmith.codegen.target import toolchain
from heapsmith.codegen.toolchain import find_tool
from heapsmith.model.errors import CheckFailed
from heapsmith.model.files import scratch

LIMIT_S = 300.0
STEP = b"Trace "
"""Begins a line of qemu's log that is a step."""


def per_operation(row: MicroRow, library: Path, target: str, *, operations: int) -> float:
    """Like `instructions.per_operation`, for a library of the target. Raises Missing without its compiler and qemu."""
    return (_between(library, row, target, operations) - _loop(row, target, operations)) / operations


@lru_cache
def _loop(row: MicroRow, target: str, operations: int) -> int:
    return _between(None, row, target, operations)


def _between(library: Path | None, row: MicroRow, target: str, operations: int) -> int:
    """The steps of twice as many operations minus those of once as many."""
    tool = program(row.program, dry=library is None, compiler=toolchain(target=target).compiler[0])
    once, twice = (steps(tool, [str(n * operations), *row.arguments.split()], library, target) for n in (1, 2))
    return twice - once


def steps(tool: Path, words: list[str], library: Path | None, target: str) -> int:
    """The instructions of a whole run. Raises CheckFailed if it fails."""
    emulator = find_tool(f"qemu-{target.partition('-')[0]}-static", "the emulator", "qemu-user-static")
    settings = ["-E", f"LD_PRELOAD={library}"] if library else []
    with scratch() as folder:
        log = folder / "steps"
        command = [emulator, "-L", f"/usr/{target}", "-singlestep", "-d", "exec,nochain", "-D", str(log), *settings]
        done = subprocess.run([*command, tool, *words], env={}, capture_output=True, timeout=LIMIT_S, check=False)
        if done.returncode != 0:
            raise CheckFailed(f"{tool.name} under {emulator}: status {done.returncode}: {done.stderr[-200:]!r}")
        with log.open("rb") as lines:
            return sum(line.startswith(STEP) for line in lines)
