"""The stress program with a design's library inside it, compiled by a sanitizer; the library's names get a prefix.

So the sanitizer keeps its own malloc, and the program calls ours as `tested_malloc` and so on. ThreadSanitizer sees
every access and every atomic of the runtime. AddressSanitizer guards the globals and stacks of runtime and program, but
memory that the library maps is all alike to it: of the library's own blocks it knows nothing. That build is made for
UndefinedBehaviorSanitizer.
"""

import ctypes
import os
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from heapsmith.codegen.generate import UNIT, generate
from heapsmith.codegen.layers import HEAP
from heapsmith.codegen.toolchain import build_tool, compile_c
from heapsmith.model.design.design import Design

STRESS = Path(__file__).parent / "stress"
PROGRAM = [STRESS / name for name in ("stress.c", "piece.c", "intervals.c", "tested.c")]
PREFIX = "tested_"
ADDR_NO_RANDOMIZE = 0x0040000  # personality(2)

COMPILE = [
    *("-std=gnu17", "-O0", "-g", "-pipe", "-w", "-fPIC", "-pthread", "-fvisibility=hidden", "-fno-omit-frame-pointer"),
    *("-fno-builtin-malloc", "-fno-builtin-calloc", "-fno-builtin-realloc", "-fno-builtin-free"),
    "-DHEAPSMITH_CHECKED=1",
]


class Sanitizer(NamedTuple):
    """One kind of build: gcc's flags, and the environment in which its first report ends the program."""

    name: str
    flags: list[str]
    environment: dict[str, str]


THREAD = Sanitizer("thread", ["-fsanitize=thread"], {"TSAN_OPTIONS": "halt_on_error=1 exitcode=66"})
WITHOUT_SEQUENCES = THREAD._replace(environment={**THREAD.environment, "GLIBC_TUNABLES": "glibc.pthread.rseq=0"})
"""ThreadSanitizer does not see that a restartable sequence orders what comes before and behind it."""
ADDRESS_UNDEFINED = Sanitizer(
    "address-undefined",
    ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
    {"ASAN_OPTIONS": "detect_leaks=0 detect_stack_use_after_return=1", "UBSAN_OPTIONS": "print_stacktrace=1"},
)


Change = tuple[str, str, str]
"""A runtime source, a text in it, and what to put in its place."""


def build_sanitized(design: Design, sanitizer: Sanitizer, folder: Path, *, change: Change | None = None) -> Path:
    """`folder/stress`: the checked library of the design, changed if asked, and the stress program.

    Skips where gcc has no such sanitizer, or binutils are missing.
    """
    for tool in ("gcc", "ld", "nm", "objcopy"):
        if shutil.which(tool) is None:
            pytest.skip(f"needs {tool}")
    generate(design, folder)
    program = build_tool(
        f"stress-{sanitizer.name}.o", PROGRAM, [*COMPILE, *sanitizer.flags, f'-DPREFIX="{PREFIX}"', "-r"]
    )
    if change is not None:
        _put_changed(change, folder)
    library = _library(sanitizer, folder)
    out = folder / "stress"
    _run(["gcc", *sanitizer.flags, "-pthread", "-rdynamic", str(program), str(library), "-o", str(out)])
    return out


def _put_changed(change: Change, folder: Path) -> None:
    """One of the runtime's sources, changed, in the folder of the emitted C, where the compiler looks first."""
    name, old, new = change
    text = (HEAP / name).read_text()
    assert old in text, f"{name} has no {old}"
    changed = folder / name
    changed.parent.mkdir(parents=True, exist_ok=True)
    changed.write_text(text.replace(old, new))


def _library(sanitizer: Sanitizer, folder: Path) -> Path:
    """The library as one object whose exported functions, heapsmith's own apart, have the prefix."""
    joined, renames = folder / "library.o", folder / "renames"
    flags = [*COMPILE, *sanitizer.flags, "-r", "-nostdlib"]
    compile_c([folder / "fast.c", folder / UNIT], joined, flags=flags, include=[folder, HEAP])
    listed = _run(["nm", "--defined-only", "--extern-only", "--format=posix", str(joined)])
    names = [line.split()[0] for line in listed.splitlines()]
    exported = [name for name in names if not name.startswith(("hs_", "heapsmith_", "__odr_asan"))]
    renames.write_text("".join(f"{name} {PREFIX}{name}\n" for name in exported))
    _run(["objcopy", f"--redefine-syms={renames}", str(joined)])
    return joined


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "cannot find -l" in done.stderr or "cannot find lib" in done.stderr:
        pytest.skip(f"gcc has no runtime library of this sanitizer: {done.stderr.splitlines()[0]}")
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr}"
    return done.stdout


def run_sanitized(program: Path, sanitizer: Sanitizer, arguments: list[str], *, timeout_s: int = 120) -> str:
    """The program's output; an assertion with the sanitizer's report if there is one.

    Without address space layout randomisation, as ThreadSanitizer's fixed layout wants it where the kernel randomises
    more than 28 bits (vm.mmap_rnd_bits); skips where that is refused and the layout does not suit it.
    """
    done = subprocess.run(
        [str(program), *arguments],
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
        env=os.environ | sanitizer.environment,
        preexec_fn=_fixed_layout,
    )
    if "unexpected memory mapping" in done.stderr:
        pytest.skip("ThreadSanitizer cannot live with this address space layout, and personality(2) is refused")
    assert (done.returncode, done.stderr) == (0, ""), f"status {done.returncode}\n{done.stderr[:20_000]}"
    return done.stdout


def _fixed_layout() -> None:
    ctypes.CDLL(None).personality(ADDR_NO_RANDOMIZE)
