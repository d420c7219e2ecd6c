"""C to library: GCC over the emitted files and the runtime sources that the design needs."""

import tempfile
from pathlib import Path

from heapsmith.codegen.generate import RUNTIME, generate, runtime_sources
from heapsmith.codegen.toolchain import compile_c
from heapsmith.model.design import Design
from heapsmith.model.plan import make_plan

WARNINGS = ["-Wall", "-Wextra", "-Wshadow", "-Wstrict-prototypes", "-Wmissing-prototypes", "-Wno-override-init"]

FLAGS = [
    "-std=gnu17",
    "-O2",
    "-g",
    "-fPIC",
    "-shared",
    "-pthread",
    "-fvisibility=hidden",
    "-ftls-model=initial-exec",  # one load reaches the thread's heap; eight bytes of static TLS
    "-fno-builtin-malloc",  # malloc + memset must not become calloc inside calloc
    "-fno-builtin-calloc",
    "-fno-builtin-realloc",
    "-fno-builtin-free",
    "-Wl,-Bsymbolic-functions",  # our own calls of malloc and free reach ours without the PLT
    "-Wl,-z,now",
    "-Wl,-z,nodelete",  # threads that used it call its exit handler even after a dlclose
    *WARNINGS,
]

CHECKED = ["-DHEAPSMITH_CHECKED=1"]


def build(design: Design, out: Path, *, checked: bool = False, flags: list[str] | None = None) -> Path:
    """The shared library of a design; `flags` replaces the compiler's flags (for mutants and sanitizers).

    Raises Missing without gcc, BadInput if `out` cannot be written, CheckFailed with the compiler's first error.
    """
    with tempfile.TemporaryDirectory(prefix="heapsmith-") as folder:
        emitted = Path(folder)
        generate(design, emitted)
        return build_emitted(design, emitted, out, checked=checked, flags=flags)


def build_emitted(
    design: Design, emitted: Path, out: Path, *, checked: bool = False, flags: list[str] | None = None
) -> Path:
    """The shared library of C that `generate` wrote to the folder `emitted`."""
    sources = [emitted / "plan.c", emitted / "fast.c", *runtime_sources(make_plan(design))]
    chosen = (flags if flags is not None else FLAGS) + (CHECKED if checked else [])
    return compile_c(sources, out, flags=chosen, include=[emitted, RUNTIME])
