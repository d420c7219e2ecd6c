"""Instructions of 64-bit RISC-V, as objdump shows them (binutils): compressed ones by the names of long ones."""

import re
from functools import partial

from heapsmith.codegen.instruction import Instruction, Processor, Unreadable, Way, split, words
from heapsmith.model.policy.emitted import NOTHING, Hit

NEUTRAL = words(
    "li lui auipc mv add addi addw addiw sub subw neg negw and andi or ori xor xori not sll slli sllw slliw srl srli"
    " srlw srliw sra srai sraw sraiw slt slti sltu sltiu seqz snez sltz sgtz sext.w zext.b sext.b sext.h zext.h zext.w"
    " mul mulh mulhu mulhsu mulw div divu divw divuw rem remu remw remuw nop ret fence"
)
"""No memory traffic. (The return address is in a register; a fence orders what other instructions do.)"""

LOADS = words("ld lw lwu lh lhu lb lbu")
STORES = words("sd sw sh sb")
SWAP = re.compile(r"amoswap\.[dw](\.aq|\.rl|\.aqrl)?")
"""By which gcc 12 stores a word at once: what was there goes to the register zero."""
BRANCHES = words("beq bne blt bge bltu bgeu beqz bnez blez bgez bltz bgtz bgt ble bgtu bleu")


def _way(instruction: Instruction) -> Way:
    """A jump whose address another instruction began (auipc), which the linker left so, cannot be followed."""
    mnemonic = instruction.mnemonic
    if mnemonic in BRANCHES:
        return "branch"
    if mnemonic == "jr" and "(" not in instruction.operands[-1]:
        return "dispatch"
    ways: dict[str, Way] = {"j": "jump", "jr": "jump", "jal": "call", "jalr": "call", "ret": "ret"}
    return ways.get(mnemonic, "on")


def _effect(instruction: Instruction) -> Hit:
    """An indirect jump reads no memory: its target is in a register."""
    mnemonic = instruction.mnemonic
    if mnemonic in NEUTRAL or _way(instruction) in ("jump", "call", "dispatch"):
        return NOTHING
    if _way(instruction) == "branch":
        return Hit(0, 0, 1)
    if mnemonic in LOADS or mnemonic in STORES:
        return Hit(int(mnemonic in LOADS), int(mnemonic in STORES), 0)
    if SWAP.fullmatch(mnemonic):
        return Hit(int(instruction.operands[0] != "zero"), 1, 0)
    raise Unreadable(f"unknown instruction form: {instruction}")


RISCV64 = Processor("elf64-littleriscv", partial(split, "#", r",\s*"), _way, _effect)
