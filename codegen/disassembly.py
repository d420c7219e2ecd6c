"""Machine code of a library: the hit path of a function, its loads, stores and branches.

Reads objdump's AT&T syntax for x86-64 (binutils). An unknown instruction form raises Unreadable.
"""

import re
from pathlib import Path
from typing import NamedTuple

from heapsmith.codegen.toolchain import find_tool, run_tool
from heapsmith.model.errors import Missing
from heapsmith.model.policy.emitted import NOTHING, Hit, total

FORMAT = "elf64-x86-64"
MAX_PATHS = 64


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NEUTRAL = _words("lea nop endbr64 ret cltq cqto cltd cwtl cwtd")
"""No memory traffic, whatever the operands. (The return address is not the function's data.)"""

WRITES = _words(
    "mov movabs movzbl movzbw movzbq movzwl movzwq movsbl movsbw movsbq movswl movswq movslq"
    " movd movups movaps movupd movapd movdqu movdqa movlps movhps movlpd movhpd"
)
"""Writes the last operand and reads the others."""

UPDATES = _words("add sub and or xor adc sbb inc dec neg not shl shr sar sal rol ror")
"""Reads and writes the last operand and reads the others."""

READS = _words("cmp test imul bt bsr punpckldq punpcklqdq pshufd paddd paddq psubd psubq pand pandn por pxor xorps")
"""Reads all operands and writes a register or a flag."""

BRANCHES = _words(
    "ja jae jb jbe jc je jg jge jl jle jna jnae jnb jnbe jnc jne jng jnge jnl jnle jno jnp jns jnz jo jp jpe jpo js jz"
)

SIZED = NEUTRAL | WRITES | UPDATES | READS | _words("jmp call push pop")
"""Behind these, AT&T's syntax may write the operand size."""

PREFIXES = _words("bnd notrack data16 cs ds repz")
"""Prefixes that change neither the reads nor the writes of these instructions."""


class Unreadable(Exception):
    """The machine code has a form that this module cannot count."""


class Instruction(NamedTuple):
    """One instruction; `following` is the address after it."""

    address: int
    mnemonic: str
    operands: tuple[str, ...]
    following: int

    def __str__(self) -> str:
        return f"{self.mnemonic} {','.join(self.operands)}".strip()


class MachinePath(NamedTuple):
    """One path through a function; `end` is 'ret', 'dispatch' or the name of a slow path."""

    instructions: tuple[Instruction, ...]
    end: str

    def hit(self) -> Hit:
        """Loads, stores and conditional branches; an update of memory is a load and a store."""
        return total(*map(effect, self.instructions))


class Listing(NamedTuple):
    """A disassembled library: code by address, function symbols by name."""

    code: dict[int, Instruction]
    symbols: dict[str, int]


def disassemble(library: Path) -> Listing:
    """The code of a library. Raises Missing without objdump, CheckFailed if objdump fails."""
    command = [find_tool("objdump"), "-d", "-t", "-w", "--no-show-raw-insn", str(library.absolute())]
    shown = run_tool(command, str(library))
    if f"file format {FORMAT}" not in shown:
        raise Missing(f"{library}: the audit of machine code reads {FORMAT} only")
    return parse_listing(shown)


def parse_listing(text: str) -> Listing:
    """Parse the output of `objdump -d -t -w --no-show-raw-insn`."""
    symbols: dict[str, int] = {}
    found: list[tuple[int, str]] = []
    for line in text.splitlines():
        if shown := re.match(r"\s*([0-9a-f]+):\t(.+)", line):
            found.append((int(shown[1], 16), shown[2]))
        elif symbol := re.match(r"([0-9a-f]{16}) .{6}F \.(?:text|cold)\t[0-9a-f]+ +(?:\.hidden )?(\S+)$", line):
            symbols[symbol[2]] = int(symbol[1], 16)
    ends = [*(address for address, _ in found[1:]), -1]
    code = [Instruction(address, *_split(shown), end) for (address, shown), end in zip(found, ends, strict=True)]
    return Listing({instruction.address: instruction for instruction in code}, symbols)


def _split(shown: str) -> tuple[str, tuple[str, ...]]:
    """The mnemonic without harmless prefixes and operand size, and the operands."""
    words = shown.partition("#")[0].split(maxsplit=1)
    while len(words) > 1 and words[0] in PREFIXES:
        words = words[1].split(maxsplit=1)
    operands = re.split(r",(?![^(]*\))", words[1].strip()) if len(words) > 1 else []
    has_size = words[0] not in SIZED and words[0][-1] in "bwlq" and words[0][:-1] in SIZED
    return words[0][:-1] if has_size else words[0], tuple(operands)


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
        mnemonic = instruction.mnemonic
        if mnemonic == "ret":
            done.append(MachinePath(path, "ret"))
        elif mnemonic == "jmp" and instruction.operands[0].startswith("*"):
            done.append(MachinePath(path, "dispatch"))
        elif mnemonic in {"jmp", "call"} or mnemonic in BRANCHES:
            target, slow = _target(listing, instruction, exits, known)
            if slow:
                done.append(MachinePath(path, slow))
            elif mnemonic == "call":
                raise Unreadable(f"calls back: {instruction}")
            else:
                open_paths.append((target, path))
            if mnemonic in BRANCHES:
                open_paths.append((instruction.following, path))
        else:
            open_paths.append((instruction.following, path))
    return done


def _target(
    listing: Listing, instruction: Instruction, exits: frozenset[str], known: frozenset[str]
) -> tuple[int, str]:
    """The target of a direct jump or call, and the slow path's name if it is one of `exits`."""
    direct = re.fullmatch(r"([0-9a-f]+) <([^>]+)>", instruction.operands[0])
    if direct is None:
        raise Unreadable(f"goes where it cannot be followed: {instruction}")
    address = int(direct[1], 16)
    labels = [name for name, start in listing.symbols.items() if start == address] or [direct[2]]
    names = [re.split(r"[+.@]", label)[0] for label in labels]  # without gcc's suffixes .part.0, .isra.0, .cold
    slow = next((name for name in names if name in exits), "")
    if not slow and known.isdisjoint(names):
        raise Unreadable(f"leaves for {names[0]}, which is no declared slow path")
    return address, slow


def effect(instruction: Instruction) -> Hit:
    """What an instruction adds to a hit path. Raises Unreadable for a form outside the tables."""
    mnemonic, operands = instruction.mnemonic, instruction.operands
    # An operand is in memory if it is neither an immediate nor a register.
    in_memory = [not re.fullmatch(r"\$.*|%[a-z0-9]+", operand) for operand in operands]
    last = int(bool(in_memory) and in_memory[-1])
    if mnemonic in NEUTRAL:
        return NOTHING
    if mnemonic in BRANCHES:
        return Hit(0, 0, 1)
    if mnemonic in {"jmp", "call"}:
        return Hit(int(operands[0].startswith("*") and "(" in operands[0]), 0, 0)
    if mnemonic == "push":
        return Hit(last, 1, 0)
    if mnemonic == "pop":
        return Hit(1, last, 0)
    if mnemonic in WRITES or mnemonic.startswith("set"):
        return Hit(sum(in_memory[:-1]), last, 0)
    if mnemonic in UPDATES:
        return Hit(sum(in_memory), last, 0)
    if mnemonic in READS or mnemonic.startswith("cmov"):
        return Hit(sum(in_memory), 0, 0)
    raise Unreadable(f"unknown instruction form: {instruction}")
