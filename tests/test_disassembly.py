"""Machine code: ways through functions and what instructions do, on x86-64, 64-bit Arm and RISC-V; audits elsewhere."""

from pathlib import Path

import pytest
from covering import soon
from systems import ARM, MUSL, RISC, System
from test_audit import complaints

from heapsmith.codegen.aarch64 import AARCH64
from heapsmith.codegen.audit import audit_emitted
from heapsmith.codegen.build import build_emitted
from heapsmith.codegen.disassembly import parse_listing, paths
from heapsmith.codegen.generate import generate
from heapsmith.codegen.instruction import Unreadable
from heapsmith.codegen.riscv64 import RISCV64
from heapsmith.codegen.target import pages_vary
from heapsmith.codegen.x86_64 import X86_64
from heapsmith.model.design.design import builtin_names, load
from heapsmith.model.design.fitted import fitted
from heapsmith.model.policy.emitted import Hit

LISTING = """
/lib/x.so:     file format elf64-x86-64

SYMBOL TABLE:
0000000000000100 l     F .text\t0000000000000020              alloc_16
0000000000000200 l     F .text\t0000000000000002              alloc_16.cold
0000000000000300 l     F .text\t0000000000000002              alloc_32
0000000000000400 g     F .text\t0000000000000002              .hidden refill.isra.0
0000000000000500 l     F .text\t0000000000000002              spins
0000000000000600 l     F .text\t0000000000000002              strays
0000000000000700 g     F .text\t0000000000000002              malloc

Disassembly of section .text:

     100:\tendbr64
     104:\tmov    0x8349(%rip),%rax        # afd0 <_GLOBAL_OFFSET_TABLE_+0xb0>
     10b:\tsubl   $0x1,%fs:0x10(%rax)
     113:\tjb     200 <alloc_16.cold>
     115:\tmov    %rdi,0x10(%rax,%rdx,8)
     11a:\trepz ret
     200:\txor    %esi,%esi
     202:\tjmp    400 <refill.isra.0>
     300:\tjmp    100 <alloc_16>
     400:\tret
     500:\tdec    %eax
     502:\tjne    500 <spins>
     504:\tret
     600:\tcall   7000 <memset@plt>
     605:\tret
     700:\tcmp    $0x40,%rdi
     704:\tja     400 <refill.isra.0>
     706:\tnotrack jmp *(%rax,%rdx,8)
"""


def test_paths_through_split_shared_and_dispatching_functions() -> None:
    listing = parse_listing(LISTING)
    refill, own = frozenset({"refill"}), frozenset({"alloc_16"})
    slow, hit = sorted(paths(listing, "alloc_16", refill, frozenset()), key=lambda path: path.end == "ret")
    assert (slow.end, hit.end, hit.hit(), len(hit.instructions)) == ("refill", "ret", Hit(2, 2, 1), 6)
    assert [path.hit() for path in paths(listing, "alloc_32", refill, own) if path.end == "ret"] == [Hit(2, 2, 1)]
    ends = {path.end: path.hit() for path in paths(listing, "malloc", refill, frozenset())}
    assert ends == {"refill": Hit(0, 0, 1), "dispatch": Hit(1, 0, 1)}


@pytest.mark.parametrize(
    ("function", "words"),
    [
        ("spins", "loops back"),
        ("strays", "leaves for memset"),
        ("alloc_32", "leaves for alloc_16"),
        ("none", "no function"),
    ],
)
def test_code_that_cannot_be_followed_is_refused(function: str, words: str) -> None:
    with pytest.raises(Unreadable, match=words):
        paths(parse_listing(LISTING), function, frozenset({"refill"}), frozenset())


@pytest.mark.parametrize(
    ("instruction", "loads", "stores"),
    [
        ("lea 0x8(%rax),%rdx", 0, 0),
        ("mov %eax,%edx", 0, 0),
        ("mov %fs:(%rax),%rdi", 1, 0),
        ("mov %fs:0x28,%rdi", 1, 0),
        ("movq $0x0,-0x8(%rax)", 0, 1),
        ("movzbl (%rax,%rdi,1),%edx", 1, 0),
        ("addl $0x1,(%rdi)", 1, 1),
        ("sub 0x923e(%rip),%rax", 1, 0),
        ("cmp %rax,%fs:(%rdx)", 1, 0),
        ("shrq 0x10(%rdi)", 1, 1),
        ("cmovne (%rax),%rdx", 1, 0),
        ("sete (%rax)", 0, 1),
        ("push %rbx", 0, 1),
        ("pop %rbx", 1, 0),
        ("push (%rbx)", 1, 1),
        ("jmp *(%rax,%rdx,8)", 1, 0),
        ("jmp *%rax", 0, 0),
        ("nopw 0x0(%rax,%rax,1)", 0, 0),
        ("data16 cs nopw 0x0(%rax,%rax,1)", 0, 0),
        ("movups %xmm0,0x10(%rdi)", 0, 1),
        ("ret", 0, 0),
    ],
)
def test_loads_and_stores_of_an_instruction(instruction: str, loads: int, stores: int) -> None:
    (parsed,) = parse_listing(f"  10:\t{instruction}").code.values()
    assert X86_64.effect(parsed)[:2] == (loads, stores)


@pytest.mark.parametrize(
    ("instruction", "found"),
    [
        ("ldr\tx2, [x2, #4024]", Hit(1, 0, 0)),
        ("ldur\tx4, [x2, #-8]", Hit(1, 0, 0)),
        ("str\tx2, [x1], #8", Hit(0, 1, 0)),
        ("ldp\tx29, x30, [sp], #16", Hit(2, 0, 0)),
        ("stp\tx29, x30, [sp, #-16]!", Hit(0, 2, 0)),
        ("b.hi\t3700 <malloc+0x40>  // b.pmore", Hit(0, 0, 1)),
        ("tbnz\tw0, #3, 3700 <malloc+0x40>", Hit(0, 0, 1)),
        ("add\tx3, x0, x1, lsl #3", Hit(0, 0, 0)),
        ("mrs\tx3, tpidr_el0", Hit(0, 0, 0)),
        ("br\tx17", Hit(0, 0, 0)),
        ("ldarb\tw0, [x1]", Hit(1, 0, 0)),
    ],
)
def test_loads_and_stores_of_an_instruction_of_64_bit_arm(instruction: str, found: Hit) -> None:
    (parsed,) = parse_listing(f"  10:\t{instruction}", AARCH64).code.values()
    assert AARCH64.effect(parsed) == found


LISTING_OF_ARM = """\
0000000000000100 l     F .text\t0000000000000010 alloc_16
0000000000000200 l     F .text\t0000000000000004 refill
 100:\tldr\tx0, [x1, #8]
 104:\tcbz\tx0, 110 <alloc_16+0x10>
 108:\tstr\tx0, [x1]
 10c:\tret
 110:\tb\t200 <refill>
 200:\tret
"""


def test_paths_of_64_bit_arm() -> None:
    ways = paths(parse_listing(LISTING_OF_ARM, AARCH64), "alloc_16", frozenset({"refill"}), frozenset())
    assert {way.end: (way.hit(), len(way.instructions)) for way in ways} == {
        "ret": (Hit(1, 1, 1), 4),
        "refill": (Hit(1, 0, 1), 3),
    }


@pytest.mark.parametrize("instruction", ["ldaddal\tx0, x1, [x2]", "ldaxr\tx0, [x1]", "ld1\t{v0.16b}, [x0]", "svc\t#0"])
def test_unknown_instructions_of_64_bit_arm_are_refused(instruction: str) -> None:
    (parsed,) = parse_listing(f"  10:\t{instruction}", AARCH64).code.values()
    with pytest.raises(Unreadable, match="unknown instruction form"):
        AARCH64.effect(parsed)


@pytest.mark.parametrize(
    ("instruction", "found"),
    [
        ("ld\ta5,1400(a5) # d8 <_GLOBAL_OFFSET_TABLE_+0xb0>", Hit(1, 0, 0)),
        ("lbu\ta0,0(a4)", Hit(1, 0, 0)),
        ("sd\tra,8(sp)", Hit(0, 1, 0)),
        ("bltu\ta5,a0,3700 <malloc+0x40>", Hit(0, 0, 1)),
        ("beqz\ta0,3700 <malloc+0x40>", Hit(0, 0, 1)),
        ("auipc\ta5,0x9", Hit(0, 0, 0)),
        ("amoswap.d\tzero,a5,(a4)", Hit(0, 1, 0)),
        ("amoswap.w.aqrl\ta0,a5,(a4)", Hit(1, 1, 0)),
        ("jr\ta5", Hit(0, 0, 0)),
        ("jal\t3700 <refill>", Hit(0, 0, 0)),
    ],
)
def test_loads_and_stores_of_an_instruction_of_risc_v(instruction: str, found: Hit) -> None:
    (parsed,) = parse_listing(f"  10:\t{instruction}", RISCV64).code.values()
    assert RISCV64.effect(parsed) == found


LISTING_OF_RISC_V = """\
0000000000000100 l     F .text\t000000000000000e alloc_16
0000000000000200 l     F .text\t0000000000000002 refill
0000000000000300 l     F .text\t0000000000000008 strays
 100:\tld\ta0,8(a1)
 104:\tbeqz\ta0,10a <alloc_16+0xa>
 106:\tsd\ta0,0(a1)
 108:\tret
 10a:\tj\t200 <refill>
 200:\tret
 300:\tauipc\tt1,0x9
 304:\tjr\t-8(t1) # 92f8 <memset@plt>
"""


def test_paths_of_risc_v() -> None:
    listing = parse_listing(LISTING_OF_RISC_V, RISCV64)
    ways = paths(listing, "alloc_16", frozenset({"refill"}), frozenset())
    assert {way.end: (way.hit(), len(way.instructions)) for way in ways} == {
        "ret": (Hit(1, 1, 1), 4),
        "refill": (Hit(1, 0, 1), 3),
    }
    with pytest.raises(Unreadable, match=r"goes where it cannot be followed: jr -8\(t1\)"):
        paths(listing, "strays", frozenset({"refill"}), frozenset())


@pytest.mark.parametrize("instruction", ["amoadd.w\ta0,a1,(a2)", "lr.d\ta0,(a1)", "ecall", "fld\tfa0,0(a1)"])
def test_unknown_instructions_of_risc_v_are_refused(instruction: str) -> None:
    (parsed,) = parse_listing(f"  10:\t{instruction}", RISCV64).code.values()
    with pytest.raises(Unreadable, match="unknown instruction form"):
        RISCV64.effect(parsed)


@pytest.mark.parametrize("system", [ARM, RISC, MUSL], ids=lambda one: one.target)
@pytest.mark.parametrize("name", soon(builtin_names(), [], ["default", "processor"]))
def test_no_hit_path_has_more_on_another_system(system: System, name: str, tmp_path: Path) -> None:
    tools = system.tools()
    design = fitted(load(name)) if pages_vary(tools) else load(name)
    generate(design, tmp_path)
    library = build_emitted(tmp_path, tmp_path / "lib.so", own=design.compile_flags, compiler=tools.compiler)
    assert complaints(audit_emitted(design, tmp_path, library=library, tools=tools)) == []


@pytest.mark.thorough
def test_a_claim_that_is_too_low_on_another_processor_is_found(tmp_path: Path) -> None:
    design, tools = fitted(load("lean")), ARM.tools()
    generate(design, tmp_path)
    library = build_emitted(tmp_path, tmp_path / "lib.so", compiler=tools.compiler)
    text = (tmp_path / "fast.c").read_text()
    assert "/* Hit path: 4 loads, 0 stores, 1 branch" in text
    (tmp_path / "fast.c").write_text(text.replace("Hit path: 4 loads, 0", "Hit path: 3 loads, 0"))
    (said,) = complaints(audit_emitted(design, tmp_path, library=library, tools=tools))
    assert said.startswith("machine code: free: at most 3 loads, 0 stores, 1 branch: 4 loads, 0 stores, 1 branch in ")


@pytest.mark.parametrize(
    "instruction", ["lock xadd %eax,(%rdi)", "rep stos %al,%es:(%rdi)", "vmovdqu (%rax),%ymm0", "leave"]
)
def test_unknown_instructions_are_refused(instruction: str) -> None:
    (parsed,) = parse_listing(f"  10:\t{instruction}").code.values()
    with pytest.raises(Unreadable, match="unknown instruction form"):
        X86_64.effect(parsed)
