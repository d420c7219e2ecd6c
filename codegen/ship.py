"""What `heapsmith generate` writes: a folder that compiles by itself, or one C file and one header.

The C is that of codegen/generate.py, beside the parts of the runtime that it includes; nothing of heapsmith is
needed to compile it. heap.c is the library in one unit. Two, fast.c and slow.c, are what `heapsmith build` compiles.
"""

import os
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import distribution
from pathlib import Path

from heapsmith.codegen import rooms
from heapsmith.codegen.annotated import Run, annotated
from heapsmith.codegen.build import FLAGS, WARNINGS, own_flags
from heapsmith.codegen.generate import APART, HEADER, SLOW, UNIT, Generated, banner, pieces, render, written
from heapsmith.codegen.layers import HEAP
from heapsmith.codegen.projects import projects_of
from heapsmith.model.design.design import Design
from heapsmith.model.design.plan import make_plan
from heapsmith.model.design.toml import design_text

INCLUDE = re.compile(r'^#include "([^"]+)"(.*)$', re.MULTILINE)
SYSTEM = re.compile(r"^#include <([^>]+)>", re.MULTILINE)
CONDITION = re.compile(r"#\s*(ifdef|ifndef|if|else|elif|endif)\b\s*(\w*)")
NAMES = re.compile(r'/\* The files of this design.*\n(?:#define \w+ "[^"]+"\n)+\n')
"""The names of files in plan.h, which nobody asks for where the files themselves are included."""
GUARD = re.compile(r"#pragma once\n|#ifndef (\w+_H)\n#define \1\n")

WHOLE = """#define _GNU_SOURCE /* before the first system header */
{system}
/* Without the flags of the Makefile: a thread's heap is found by one load, for a call could allocate; no compiler may
 * turn a malloc and a memset in here into the calloc that they are part of; calls of malloc in here are of this one. */
#define __thread __thread __attribute__((tls_model("initial-exec")))
{own}
#pragma GCC visibility push(hidden) /* but for malloc and its kin, which say that they are not */
{parts}
#pragma GCC visibility pop

/* malloc and its kin, for everybody else */
{exported}
"""

CALLED = {
    "malloc": "void *{}(size_t bytes)",
    "calloc": "void *{}(size_t count, size_t bytes)",
    "realloc": "void *{}(void *block, size_t bytes)",
    "free": "void {}(void *block)",
    "aligned_alloc": "void *{}(size_t alignment, size_t bytes)",
    "memalign": "void *{}(size_t alignment, size_t bytes)",
    "posix_memalign": "int {}(void **block, size_t alignment, size_t bytes)",
}
"""The functions that the library calls itself."""

MAKEFILE = """libheap.so: fast.c slow.c $(wildcard *.h runtime/*/* runtime/*/*/*)
	$(or $(CC),cc) {flags} -o $@ fast.c slow.c
"""

README = """# {name}: a malloc made by heapsmith {version}

{about}

Build it on x86-64 Linux with the GNU C library or musl, by `make` or without it:

    cc -O2 -shared -fPIC -o libheap.so heap.c

Preload it, or link it:

    LD_PRELOAD=$PWD/libheap.so program
    cc -o program program.c -L. -lheap -Wl,-rpath,$PWD

Options go into the environment: `HEAPSMITH=stats` prints what the heap did, at exit;
`HEAPSMITH=stats=FILE` writes it to a file, as JSON.

| file | |
|:--|:--|
| `design.toml` | the choices that this heap is made of |
| `heap.c` | the library in one unit |
| `fast.c`, `slow.c` | the same in two: the hit paths, and all else |
| `plan.h`, `plan.c` | its numbers and its tables |
| `runtime/` | the parts that it is made of |
| `heapsmith.h` | for programs: malloc and free of constant sizes, inlined |
| `CMakeLists.txt`, `meson.build`, `BUILD.bazel` | for projects that take this folder in; their first lines say how |

`heapsmith verify design.toml` holds this C against the model, event by event.
The licence is in LICENSE.
"""


Form = Callable[[Design, Run | None], dict[str, bytes]]
"""The files of a design, content by name; with a run its counts are comments in them."""


def folder_of(design: Design, run: Run | None = None) -> dict[str, bytes]:
    """The files of a folder that compiles by itself: content by name. run: whose counts their comments tell."""
    plan = make_plan(design)
    emitted = render(plan)
    emitted[SLOW] = emitted.pop(UNIT)
    given = rooms.headers(plan)
    emitted["plan.h"] = NAMES.sub("", emitted["plan.h"])
    files = {name: _relative(text, name, given) for name, text in emitted.items()}
    for piece in pieces(plan):
        name = f"runtime/{piece.relative_to(HEAP).as_posix()}"
        files[name] = _relative(piece.read_text(), name, given)
    files = annotated(files, run) if run else files
    files["heap.c"] = banner(plan, "The library in one unit.") + _whole(files, '#include "fast.c"\n#include "slow.c"')
    files["runtime/apart.ld"] = APART.read_text()
    files["design.toml"] = design_text(design)
    files |= projects_of(design)
    files["Makefile"] = MAKEFILE.format(flags=" ".join(_flags(design)))
    files["README.md"] = _readme(design)
    files["LICENSE"] = _licence()
    return {name: text.encode() for name, text in sorted(files.items())}


def single_of(design: Design, run: Run | None = None) -> dict[str, bytes]:
    """One C file and its header: content by name; run: as in folder_of."""
    files = {name: text.decode() for name, text in folder_of(design, run).items()}
    stated = "".join(f" * {line}\n".replace(" \n", "\n") for line in files["design.toml"].splitlines())
    defined = {*re.findall(r"^#define (\w+)", files["plan.h"], re.MULTILINE)}
    seen: set[str] = set()
    whole = "".join(_expanded(name, files, defined, seen) for name in ("plan.h", "plan.c", "fast.c", SLOW))
    text = banner(make_plan(design), "The library in one file: plan, hit paths, slow paths.")
    text += f"/* {_licence().strip()} */\n\n/* The design:\n *\n{stated} */\n{_whole(files, whole)}"
    return {"heap.c": text.encode(), HEADER: files[HEADER].encode()}


def ship(
    design: Design, out: Path, form: Form = folder_of, *, check: bool = False, run: Run | None = None
) -> Generated:
    """Write what `form` makes of a design to the folder `out`; check: compare with the files there.

    run: whose counts the C has as comments. Raises CheckFailed for the first file that differs, BadInput if the folder
    cannot be written.
    """
    return written(design, form(design, run), out, check=check)


def _relative(text: str, name: str, given: Mapping[str, str]) -> str:
    """A file's text, whose includes begin at its own folder, and take in the files of the design's policies."""
    folder = posixpath.dirname(name)

    def found(match: re.Match[str]) -> str:
        target = f"runtime/{match[1]}" if (HEAP / match[1]).is_file() else SLOW if match[1] == UNIT else match[1]
        return f'#include "{os.path.relpath(target, folder or ".")}"{match[2]}'

    return INCLUDE.sub(found, rooms.ASKED.sub(lambda match: f'#include "{given[match[1]]}"', text))


def _whole(files: Mapping[str, str], parts: str) -> str:
    """The library in one unit, made of these parts."""
    system = {name for file, text in files.items() if file.endswith((".c", ".h")) and file != HEADER
              for name in SYSTEM.findall(text)}  # fmt: skip
    own = [f"#define {name} hs_own_{name}\n{call.format(name)} HIDDEN;" for name, call in CALLED.items()]
    exported = [f"#undef {name}\n{call.format(name)} AS(hs_own_{name});" for name, call in CALLED.items()]
    return WHOLE.format(
        system="\n".join(f"#include <{name}>" for name in sorted(system)),
        own="\n".join(['#define HIDDEN __attribute__((visibility("hidden")))', *own]),
        exported="\n".join(['#define AS(name) __attribute__((alias(#name), visibility("default")))', *exported]),
        parts=parts,
    )


def _expanded(name: str, files: Mapping[str, str], defined: set[str], seen: set[str]) -> str:
    """A file with what it includes in the includes' places, each file once.

    An include under a condition is expanded if the condition holds: all such ask for a macro of plan.h, or for
    HEAPSMITH_ARCHIVE, which is not defined here.
    """
    seen.add(name)
    text = GUARD.sub("", files[name])
    if text != files[name] and "#pragma once" not in files[name]:
        text = text[: text.rindex("#endif")]
    text = text.replace("#define _GNU_SOURCE /* for all parts, before the first system header */\n", "")
    lines: list[str] = []
    holds: list[bool] = []
    for line in text.splitlines():
        if match := CONDITION.match(line):
            _enter(match, holds, defined)
        if not (include := INCLUDE.match(line)):
            lines.append(line)
            continue
        target = posixpath.normpath(posixpath.join(posixpath.dirname(name), include[1]))
        if target not in seen and all(holds):
            lines += _expanded(target, files, defined, seen).splitlines()
    first = files[name].partition("*/")[0].removeprefix("/*").strip().splitlines()[0]
    return f"\n/* ---- {name}: {first} ---- */\n" + "\n".join(lines) + "\n"


def _enter(match: re.Match[str], holds: list[bool], defined: set[str]) -> None:
    """Follow a conditional directive; the conditions of expressions are held to be true."""
    word, macro = match[1], match[2]
    if word in ("ifdef", "ifndef", "if"):
        holds.append((macro in defined) == (word == "ifdef") if word != "if" else True)
    elif word == "else":
        holds[-1] = not holds[-1]
    elif word == "endif":
        holds.pop()


def _flags(design: Design) -> Iterator[str]:
    """The compiler's flags of a build, without its warnings; GNU ld lays what is seldom read apart."""
    own = [*own_flags(design), "-Wl,--gc-sections", "-Wl,-T,runtime/apart.ld"]
    yield from (
        flag for flag in [*FLAGS, *own] if (flag not in WARNINGS and not flag.startswith("-W")) or "-Wl" in flag
    )


def _readme(design: Design) -> str:
    about = design.about or f"The design `{design.name}`."
    return README.format(name=design.name, version=distribution("heapsmith").version, about=about)


def _licence() -> str:
    found = distribution("heapsmith")
    return found.read_text("licenses/LICENSE") or found.read_text("LICENSE") or ""
