"""A 32-bit program that needs neither a 32-bit C library nor its headers, only the loader of such programs."""

from pathlib import Path

import pytest

from heapsmith.codegen.toolchain import compile_c
from heapsmith.model.errors import CheckFailed

LOADER = Path("/lib/ld-linux.so.2")
SPEAKS = r"""
/* By the system's calls alone. Says that it runs, counts, and leaves a file of the name it is given. */
static int call(int number, int first, const char *text, int third)
{
    __asm__ volatile("int $0x80" : "+a"(number) : "b"(first), "c"(text), "d"(third) : "memory");
    return number;
}
__attribute__((used)) static void runs(int count, char **words)
{
    call(4, 1, "kind bits32\n", 12); /* write(2) */
    for (volatile int turn = 0; turn < TURNS;)
        turn = turn + 1;
    if (count > 1)
        call(8, (int)words[1], (char *)0600, 0); /* creat(2) */
    call(1, 0, "", 0); /* exit(2) */
}
__asm__(".globl _start\n_start: mov %esp, %eax\nlea 4(%eax), %edx\npush %edx\npush (%eax)\ncall runs");
"""


def built_32(to: Path, turns: int = 0) -> Path:
    """The program, which counts so far, or a skipped test where this machine cannot build or start it."""
    if not LOADER.exists():
        pytest.skip(f"not installed: {LOADER} (Debian: libc6-i386)")
    source = to.with_name(f"{to.name}.c")
    source.write_text(SPEAKS)
    try:
        alone = ["-m32", "-nostdlib", "-fno-stack-protector", "-pie", f"-Wl,--dynamic-linker={LOADER}"]
        return compile_c([source], to, flags=[*alone, f"-DTURNS={turns}"])
    except CheckFailed as error:
        pytest.skip(f"cannot be built here: {error}")
