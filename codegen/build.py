"""From C to a library: runs gcc on the emitted files, which include the runtime's parts."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from heapsmith.codegen.generate import APART, SLOW, UNIT, generate
from heapsmith.codegen.layers import HEAP
from heapsmith.codegen.target import Toolchain, native, pages_vary
from heapsmith.codegen.toolchain import compile_c, find_gcc, links_with_gnu_ld, run_tool
from heapsmith.model import policy
from heapsmith.model.design.design import Design
from heapsmith.model.design.fitted import fitted
from heapsmith.model.errors import Missing
from heapsmith.model.files import scratch, staged, write_text

WARNINGS = ["-Wall", "-Wextra", "-Wshadow", "-Wstrict-prototypes", "-Wmissing-prototypes", "-Wno-override-init"]

NO_INTERPOSITION = "-fno-semantic-interposition"
"""The compiler may put exported functions into others: operator new has malloc inside."""

COMPILE = [
    "-std=gnu17",
    "-O2",
    "-g",
    "-fPIC",
    "-pthread",
    "-ffunction-sections",  # the linker drops functions whose every call was inlined
    "-fvisibility=hidden",
    NO_INTERPOSITION,
    "-ftls-model=initial-exec",  # one load reaches the heap; costs static TLS
    "-fno-builtin-malloc",  # malloc + memset must not become calloc inside calloc
    "-fno-builtin-calloc",
    "-fno-builtin-realloc",
    "-fno-builtin-free",
    "-Werror=implicit",  # a function that is renamed in only one source must not compile
    *WARNINGS,
    "-Wno-unused-parameter",  # a kind of policy may need less than its room hands over
    "-Wno-type-limits",  # a constant of a plan may be 0
]

FLAGS = [
    *COMPILE,
    "-shared",
    "-Wl,-Bsymbolic-functions",  # the library's own calls of malloc and free bypass the PLT
    "-Wl,-z,now",
    "-Wl,-z,noseparate-code",  # a mapping and a page fault less at each start, and 8 KiB fewer
    "-Wl,-z,nodelete",  # threads that used the library call its exit handler even after a dlclose
]

CHECKED = ["-DHEAPSMITH_CHECKED=1"]

ARCHIVE = ["-DHEAPSMITH_ARCHIVE=1", "-r", "-nostdlib"]
"""Without operators.c: libstdc++ supplies the operators of a C++ program, and they call malloc."""


def build(
    design: Design,
    out: Path,
    *,
    checked: bool = False,
    static: bool = False,
    flags: list[str] | None = None,
    tools: Toolchain | None = None,
) -> Path:
    """Build the library of a design: shared, or an archive with `static`.

    `flags` replaces the compiler flags of the shared library. tools: in place of gcc and its binutils; where pages vary
    for their processor, the library is that of the `fitted` design. Raises Missing without them (for
    archives also ar and objcopy) or where `out` cannot be written, CheckFailed with the compiler's
    first error.
    """
    if pages_vary(tools or native()):
        design = fitted(design)
    with scratch() as emitted:
        generate(design, emitted)
        if static:
            compiled = [flag for flag in design.compile_flags or () if flag != "-flto"]
            return build_archive(emitted, out, checked=checked, own=compiled, tools=tools)
        own = own_flags(design)
        compiler = tools.compiler if tools else None
        return build_emitted(emitted, out, checked=checked, flags=flags, own=own, compiler=compiler)


def own_flags(design: Design) -> list[str]:
    """The flags of a design's shared library: those that it states, and those that its policies are linked with."""
    linked = (flag for table in policy.TABLES for flag in getattr(design.row(table), "LINK", ()))
    return [*(design.compile_flags or ()), *linked]


def build_emitted(
    emitted: Path,
    out: Path,
    *,
    checked: bool = False,
    flags: list[str] | None = None,
    own: Sequence[str] | None = None,
    compiler: str | tuple[str, ...] | None = None,
) -> Path:
    """Build the shared library of the C in `emitted`; its SONAME is the name of `out`.

    own: the design's flags, behind `flags`. compiler: see `compile_c`.
    """
    chosen = [*(FLAGS if flags is None else flags), *(own or ()), *(CHECKED if checked else [])]
    options = [*chosen, *_apart(compiler), *_soname(out)]
    return compile_c(_sources(emitted), out, flags=options, include=[emitted, HEAP], compiler=compiler)


def build_layouts(design: Design, layouts: Mapping[Path, str], edit: Callable[[Path], None] | None = None) -> None:
    """Build a shared library of a design for each path, with its objects behind those of an assembly text.

    edit: changes the emitted C in a folder. Raises as `build` does.
    """
    own = own_flags(design)
    with scratch() as emitted:
        generate(design, emitted)
        if edit:
            edit(emitted)
        objects = [
            compile_c([source], source.with_suffix(".o"), flags=[*COMPILE, *own, "-c"], include=[emitted, HEAP])
            for source in _sources(emitted)
        ]
        for number, (out, text) in enumerate(layouts.items()):
            before = emitted / f"before-{number}.s"
            write_text(before, text)
            # Nothing refers to the text, so the linker would drop it with the functions that nobody calls.
            flags = [*FLAGS, *own, "-Wl,--strip-debug", *_apart(), "-Wl,--no-gc-sections", *_soname(out)]
            compile_c([before, *objects], out, flags=flags)


def build_archive(
    emitted: Path, out: Path, *, checked: bool = False, own: Sequence[str] = (), tools: Toolchain | None = None
) -> Path:
    """Build the archive of the C in the folder `emitted`: one object; only the API is global.

    own: the design's flags. tools: see `build`.
    """
    tools = tools or native()
    objcopy, ar = tools.tool("objcopy"), tools.tool("ar")
    flags = [*COMPILE, *own, *(CHECKED if checked else []), *ARCHIVE]
    whole = compile_c(
        _sources(emitted), emitted / "heap.o", flags=flags, include=[emitted, HEAP], compiler=tools.compiler
    )
    run_tool([objcopy, "--localize-hidden", str(whole.absolute())], whole.name)
    with staged(out, Missing) as archive:
        run_tool([ar, "rcsD", str(archive.absolute()), str(whole.absolute())], out.name)
    return out


def _apart(compiler: str | tuple[str, ...] | None = None) -> list[str]:
    """The options that drop uncalled functions and lay cold ones apart. Only GNU ld takes the script."""
    return ["-Wl,--gc-sections", "-T", str(APART)] if links_with_gnu_ld(compiler or find_gcc().path) else []


def _soname(out: Path) -> list[str]:
    return ["-Xlinker", "-soname", "-Xlinker", out.name]


def _sources(emitted: Path) -> list[Path]:
    """The two units. In a shipped folder (codegen/ship.py), heap.c is both in one."""
    shipped = emitted / SLOW
    return [emitted / "fast.c", shipped if shipped.exists() else emitted / UNIT]
