"""Instructions of x86-64, in objdump's AT&T syntax (binutils)."""

import re

from heapsmith.codegen.instruction import Instruction, Processor, Unreadable, Way, words
from heapsmith.model.policy.emitted import NOTHING, Hit

NEUTRAL = words("lea nop endbr64 ret cltq cqto cltd cwtl cwtd")
"""No memory traffic, whatever the operands. (The return address is not the function's data.)"""

WRITES = words(
    "mov movabs movzbl movzbw movzbq movzwl movzwq movsbl movsbw movsbq movswl movswq movslq"
    " movd movups movaps movupd movapd movdqu movdqa movlps movhps movlpd movhpd"
)
"""Writes the last operand and reads the others."""

UPDATES = words("add sub and or xor adc sbb inc dec neg not shl shr sar sal rol ror")
"""Reads and writes the last operand and reads the others."""

READS = words("cmp test imul bt bsr punpckldq punpcklqdq pshufd paddd paddq psubd psubq pand pandn por pxor xorps")
"""Reads all operands and writes a register or a flag."""

BRANCHES = words(
    "ja jae jb jbe jc je jg jge jl jle jna jnae jnb jnbe jnc jne jng jnge jnl jnle jno jnp jns jnz jo jp jpe jpo js jz"
)

SIZED = NEUTRAL | WRITES | UPDATES | READS | words("jmp call push pop")
"""Behind these, AT&T's syntax may write the operand size."""

PREFIXES = words("bnd notrack data16 cs ds repz")
"""Prefixes that change neither the reads nor the writes of these instructions."""


def _split(shown: str) -> tuple[str, tuple[str, ...]]:
    """The mnemonic without harmless prefixes and operand size, and the operands."""
    words = shown.partition("#")[0].split(maxsplit=1)
    while len(words) > 1 and words[0] in PREFIXES:
        words = words[1].split(maxsplit=1)
    operands = re.split(r",(?![^(]*\))", words[1].strip()) if len(words) > 1 else []
    has_size = words[0] not in SIZED and words[0][-1] in "bwlq" and words[0][:-1] in SIZED
    return words[0][:-1] if has_size else words[0], tuple(operands)


def _way(instruction: Instruction) -> Way:
    mnemonic = instruction.mnemonic
    if mnemonic in BRANCHES:
        return "branch"
    if mnemonic == "jmp":
        return "dispatch" if instruction.operands[0].startswith("*") else "jump"
    return "ret" if mnemonic == "ret" else "call" if mnemonic == "call" else "on"


def _effect(instruction: Instruction) -> Hit:
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


X86_64 = Processor("elf64-x86-64", _split, _way, _effect)
