"""Compilers for another system than this one: found by the system's name, such as aarch64-linux-gnu."""

import importlib.util
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from typing import NamedTuple

from heapsmith.codegen.layers import HEAP
from heapsmith.codegen.toolchain import compile_c, find_gcc, find_tool, run_tool
from heapsmith.model.errors import BadInput, CheckFailed, Missing
from heapsmith.model.files import scratch, write_text

TARGET = re.compile(r"(x86_64|aarch64|riscv64)-linux-(gnu|musl|gnu\.2\.\d+)")
"""Processors that runtime/heap/1_base/arch has a file for, and the C libraries that the library knows.

gnu.2.28: a library for glibc from that version on, which ziglang alone can make.
"""

PROBE = """#include <pthread.h>
#include <stdlib.h>
#if{} __GLIBC__
#error "another C library than the target's"
#endif
int main(void) {{ return 0; }}
"""


class Toolchain(NamedTuple):
    """A compiler as the words that begin its command, and how the names of its binutils begin."""

    compiler: tuple[str, ...]
    prefix: str = ""

    def tool(self, name: str) -> str:
        """The path of one of its binutils. Raises Missing if it is not on PATH."""
        return find_tool(self.prefix + name)


def pages_vary(tools: Toolchain) -> bool:
    """Whether pages have another size on some systems of the compiler's processor."""
    if tools.compiler == (shutil.which("gcc"),) and os.uname().machine == "x86_64":
        return False
    text = '#include "1_base/arch/arch.h"\nPAGES_VARY\n'
    return run_tool([*tools.compiler, f"-I{HEAP}", "-E", "-P", "-x", "c", "-"], "arch.h", text).split()[-1] == "1"


def native() -> Toolchain:
    """The gcc on PATH. Raises Missing if there is none."""
    return Toolchain((find_gcc().path,))


def toolchain(cc: str | None = None, target: str | None = None) -> Toolchain:
    """The compiler for a target, or `cc`, a command; without both gcc.

    Raises BadInput for a target that no library can be made for, Missing where the compiler is not installed.
    """
    if target is not None and not TARGET.fullmatch(target):
        raise BadInput(
            f"--target {target}: not known; expected x86_64, aarch64 or riscv64, and then -linux-gnu, -linux-musl or "
            "-linux-gnu.2.28"
        )
    if cc is not None:
        return _named(cc, target)
    return _of_target(target) if target is not None else native()


def _named(cc: str, target: str | None) -> Toolchain:
    """The compiler of a command."""
    try:
        words = shlex.split(cc)
    except ValueError as error:
        raise BadInput(f"--cc {cc}: {error}") from None
    if not words or (path := shutil.which(words[0])) is None:
        raise Missing(f"--cc {cc}: {words[0] if words else 'its program'} not found on PATH")
    own = words[0].rpartition("/")[2].removesuffix("gcc")
    return Toolchain((path, *words[1:]), own if own.endswith("-") and own != "musl-" else _prefix(target))


def _prefix(target: str | None) -> str:
    """How the names of the binutils for a target begin; those for another C library read its files too."""
    alike = [] if target is None else [target, f"{target.partition('-')[0]}-linux-gnu"]
    return next((f"{name}-" for name in alike if shutil.which(f"{name}-objcopy")), "")


def _of_target(target: str) -> Toolchain:
    """The first compiler of those that are installed that has the target's headers."""
    for words in _candidates(target):
        if _makes_programs(words, glibc="-gnu" in target):
            return Toolchain(words, _prefix(target))
    processor, _, library = target.split("-")
    if "." in library:
        raise Missing(f"--target {target}: ziglang makes libraries for older versions of glibc: pip install ziglang")
    package = "musl-tools" if library == "musl" else f"gcc-{processor.replace('_', '-')}-linux-gnu"
    install = f" (Debian: apt install {package})" if library == "gnu" or processor == os.uname().machine else ""
    raise Missing(
        f"--target {target}: no compiler: expected {target}-gcc{install}, clang with the target's headers, "
        "or ziglang (pip install ziglang); --cc names any other"
    )


def _makes_programs(words: tuple[str, ...], *, glibc: bool) -> bool:
    """Whether a compiler finds the C library's headers, and links with it."""
    with scratch() as folder:
        write_text(folder / "probe.c", PROBE.format("ndef" if glibc else "def"))
        try:
            compile_c([folder / "probe.c"], folder / "probe", flags=["-pthread"], compiler=words)
        except CheckFailed:
            return False
    return True


def _candidates(target: str) -> Iterator[tuple[str, ...]]:
    """Compilers that may make programs for the target, best first."""
    here = os.uname().machine
    zig = (sys.executable, "-m", "ziglang", "cc", "-target", target)
    has_zig = importlib.util.find_spec("ziglang") is not None
    if "." in target:
        if has_zig:
            yield zig
        return
    if path := shutil.which(f"{target}-gcc"):
        yield (path,)
    if target == f"{here}-linux-musl" and (path := shutil.which("musl-gcc")):
        yield (path,)
    if target == f"{here}-linux-gnu":
        yield native().compiler
    elif has_zig:
        yield zig
    if path := shutil.which("clang"):
        yield (path, f"--target={target}")
