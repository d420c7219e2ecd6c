"""Instructions per malloc+free pair on another system: its programs under qemu, which logs each step.

qemu-user 7.2 has no plugins. With -singlestep each block of translated code is one instruction, and with
-d exec,nochain each block that runs is a line of its log.
"""

import os
import shlex
import subprocess
from functools import lru_cache
from pathlib import Path

from heapsmith.bench.programs.micro_programs import program
from heapsmith.bench.programs.micro_rows import MicroRow
from heapsmith.codegen.target import toolchain
from heapsmith.codegen.toolchain import find_tool
from heapsmith.model.errors import CheckFailed, Missing
from heapsmith.model.files import cache_dir, scratch, staged

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
    tool = program(row.program, dry=library is None, compiler=compiler_of_programs(target))
    once, twice = (steps(tool, [str(n * operations), *row.arguments.split()], library, target) for n in (1, 2))
    return twice - once


def compiler_of_programs(target: str) -> str:
    """A compiler, as a path, of programs that LD_PRELOAD reaches. Raises Missing where none is installed."""
    words = toolchain(target=target).compiler
    if "ziglang" not in words:
        return words[0]
    text = f'#!/bin/sh\nexec {shlex.join(words)} -dynamic "$@"\n'  # its programs of musl are static otherwise
    script = cache_dir() / "tools" / f"{target}-cc"
    if not script.exists() or script.read_text() != text:
        with staged(script, Missing) as made:
            made.write_text(text)
            made.chmod(0o755)
    return str(script)


def emulator(target: str) -> list[str]:
    """The command that runs the target's programs. Raises Missing without qemu, or without the loader of musl there.

    QEMU_LD_PREFIX names the folder that has it for another processor, such as Debian's package of that.
    """
    processor, _, libc = target.split("-")
    found = find_tool(f"qemu-{processor}-static", "the emulator", "qemu-user-static")
    here = "/" if processor == os.uname().machine else os.environ.get("QEMU_LD_PREFIX", "/")
    prefix = f"/usr/{target}" if libc == "gnu" else here
    loader = Path(prefix, f"lib/ld-musl-{processor}.so.1")
    if libc == "musl" and not loader.exists():
        raise Missing(f"{loader} not found: QEMU_LD_PREFIX names a folder with it (Debian: the processor's musl)")
    return [found, "-L", prefix]


def steps(tool: Path, words: list[str], library: Path | None, target: str) -> int:
    """The instructions of a whole run. Raises CheckFailed if it fails."""
    command = emulator(target)
    settings = ["-E", f"LD_PRELOAD={library}"] if library else []
    with scratch() as folder:
        log = folder / "steps"
        command += ["-singlestep", "-d", "exec,nochain", "-D", str(log), *settings]
        done = subprocess.run([*command, tool, *words], env={}, capture_output=True, timeout=LIMIT_S, check=False)
        if done.returncode != 0:
            raise CheckFailed(f"{tool.name} under {command[0]}: status {done.returncode}: {done.stderr[-200:]!r}")
        with log.open("rb") as lines:
            return sum(line.startswith(STEP) for line in lines)
