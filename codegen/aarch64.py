"""Instructions of 64-bit Arm, as objdump shows them (binutils)."""

from functools import partial

from heapsmith.codegen.instruction import Instruction, Processor, Unreadable, Way, split, words
from heapsmith.model.policy.emitted import NOTHING, Hit

NEUTRAL = words(
    "adrp adr mrs mov movk movn movz mvn add adds sub subs neg and ands orr eor bic tst cmp cmn ccmp lsl lsr asr ror"
    " mul madd msub umull umulh smull smulh umaddl udiv sdiv ubfx ubfiz sbfx sbfiz bfi bfxil uxtb uxth uxtw sxtb sxth"
    " sxtw csel cset csetm csinc csinv csneg cinc clz rbit rev nop bti paciasp autiasp fmov movi ins umov dup ret"
)
"""No memory traffic: data processing, and what moves between registers. (The return address is in a register.)"""

LOADS = words(
    "ldr ldrb ldrh ldrsb ldrsh ldrsw ldur ldurb ldurh ldursb ldursh ldursw ldar ldarb ldarh ldapr ldaprb ldaprh"
)
STORES = words("str strb strh stur sturb sturh stlr stlrb stlrh")
PAIRS = {"ldp": Hit(2, 0, 0), "ldpsw": Hit(2, 0, 0), "stp": Hit(0, 2, 0)}
BRANCHES = words("cbz cbnz tbz tbnz")


def _way(instruction: Instruction) -> Way:
    mnemonic = instruction.mnemonic
    if mnemonic in BRANCHES or mnemonic.startswith("b."):
        return "branch"
    ways: dict[str, Way] = {"b": "jump", "bl": "call", "blr": "call", "br": "dispatch", "ret": "ret"}
    return ways.get(mnemonic, "on")


def _effect(instruction: Instruction) -> Hit:
    """An indirect jump reads no memory: its target is in a register."""
    mnemonic = instruction.mnemonic
    if mnemonic in NEUTRAL or _way(instruction) in ("jump", "call", "dispatch"):
        return NOTHING
    if _way(instruction) == "branch":
        return Hit(0, 0, 1)
    if mnemonic in PAIRS:
        return PAIRS[mnemonic]
    if mnemonic in LOADS or mnemonic in STORES:
        return Hit(int(mnemonic in LOADS), int(mnemonic in STORES), 0)
    raise Unreadable(f"unknown instruction form: {instruction}")


AARCH64 = Processor("elf64-littleaarch64", partial(split, "//", r",\s*(?![^\[]*\])"), _way, _effect)
