"""Machine code of a library: the hit path of a function, its loads, stores and branches.

Reads objdump's listings (binutils) of x86-64, 64-bit Arm and 64-bit RISC-V. An unknown form of instruction raises
Unreadable.
"""

import re
from pathlib import Path
from typing import NamedTuple

from heapsmith.codegen.aarch64 import AARCH64
from heapsmith.codegen.instruction import Instruction, Processor, Unreadable
from heapsmith.codegen.riscv64 import RISCV64
from heapsmith.codegen.toolchain import find_tool, run_tool
from heapsmith.codegen.x86_64 import X86_64
from heapsmith.model.errors import Missing
from heapsmith.model.policy.emitted import Hit, total

PROCESSORS = {processor.format: processor for processor in (X86_64, AARCH64, RISCV64)}
MAX_PATHS = 64


class MachinePath(NamedTuple):
    """One path through a function; `end` is 'ret', 'dispatch' or the name of a slow path."""

    instructions: tuple[Instruction, ...]
    end: str
    processor: Processor

    def hit(self) -> Hit:
        """Loads, stores and conditional branches; an update of memory is a load and a store."""
        return total(*map(self.processor.effect, self.instructions))


class Listing(NamedTuple):
    """A disassembled library: code by address, function symbols by name."""

    code: dict[int, Instruction]
    symbols: dict[str, int]
    processor: Processor


def disassemble(library: Path, objdump: str | None = None) -> Listing:
    """The code of a library; objdump: that of another processor. Raises Missing without it, CheckFailed if it fails."""
    command = [objdump or find_tool("objdump"), "-d", "-t", "-w", "--no-show-raw-insn", str(library.absolute())]
    shown = run_tool(command, str(library))
    found = re.search(r"file format (\S+)", shown)
    processor = PROCESSORS.get(found[1] if found else "")
    if processor is None:
        raise Missing(f"{library}: the audit of machine code reads {', '.join(PROCESSORS)} only")
    return parse_listing(shown, processor)


def parse_listing(text: str, processor: Processor = X86_64) -> Listing:
    """Parse the output of `objdump -d -t -w --no-show-raw-insn`."""
    symbols: dict[str, int] = {}
    found: list[tuple[int, str]] = []
    for line in text.splitlines():
        if shown := re.match(r"\s*([0-9a-f]+):\t(.+)", line):
            found.append((int(shown[1], 16), shown[2]))
        elif symbol := re.match(r"([0-9a-f]{16}) .{6}F \.(?:text|cold)\t[0-9a-f]+ +(?:\.hidden )?(\S+)$", line):
            symbols[symbol[2]] = int(symbol[1], 16)
    ends = [*(address for address, _ in found[1:]), -1]
    code = [
        Instruction(address, *processor.split(shown), end) for (address, shown), end in zip(found, ends, strict=True)
    ]
    return Listing({instruction.address: instruction for instruction in code}, symbols, processor)


def paths(listing: Listing, function: str, exits: frozenset[str], own: frozenset[str]) -> list[MachinePath]:
    """Every path from the entry of `function` to a return, an indirect jump, or one of `exits`.

    Follows jumps into the functions of `own` and into parts that gcc split off. Raises Unreadable
    for loops, for other calls and jumps, and for code that it cannot follow.
    """
    if function not in listing.symbols:
        raise Unreadable(f"the library has no function {function}")
    known = own | {function}
    done: list[MachinePath] = []
    open_paths: list[tuple[int, tuple[Instruction, ...]]] = [(listing.symbols[function], ())]
    while open_paths:
        address, so_far = open_paths.pop()
        if any(instruction.address == address for instruction in so_far):
            raise Unreadable(f"loops back to {address:#x}")
        if address not in listing.code or len(done) + len(open_paths) >= MAX_PATHS:
            raise Unreadable(f"cannot be followed to {address:#x}")
        instruction = listing.code[address]
        path = (*so_far, instruction)
        way = listing.processor.way(instruction)
        if way in ("ret", "dispatch"):
            done.append(MachinePath(path, way, listing.processor))
        elif way != "on":
            target, slow = _target(listing, instruction, exits, known)
            if slow:
                done.append(MachinePath(path, slow, listing.processor))
            elif way == "call":
                raise Unreadable(f"calls back: {instruction}")
            else:
                open_paths.append((target, path))
            if way == "branch":
                open_paths.append((instruction.following, path))
        else:
            open_paths.append((instruction.following, path))
    return done


def _target(
    listing: Listing, instruction: Instruction, exits: frozenset[str], known: frozenset[str]
) -> tuple[int, str]:
    """The target of a direct jump or call, and the slow path's name if it is one of `exits`."""
    direct = re.fullmatch(r"([0-9a-f]+) <([^>]+)>", instruction.operands[-1])
    if direct is None:
        raise Unreadable(f"goes where it cannot be followed: {instruction}")
    address = int(direct[1], 16)
    labels = [name for name, start in listing.symbols.items() if start == address] or [direct[2]]
    names = [re.split(r"[+.@]", label)[0] for label in labels]  # without gcc's suffixes .part.0, .isra.0, .cold
    slow = next((name for name in names if name in exits), "")
    if not slow and known.isdisjoint(names):
        raise Unreadable(f"leaves for {names[0]}, which is no declared slow path")
    return address, slow
