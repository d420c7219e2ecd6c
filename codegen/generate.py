"""Plan to C: renders the templates, writes plan.json and a MANIFEST of hashes, or compares with what is there."""

import hashlib
import re
from contextlib import ExitStack
from pathlib import Path

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined

import heapsmith
from heapsmith.codegen.claims import STRUCT_BYTES, dispatches, header_sentence, sentences, struct_fields
from heapsmith.model import policy
from heapsmith.model.design.design import Design
from heapsmith.model.design.plan import Plan, make_plan, plan_json
from heapsmith.model.design.toml import design_text
from heapsmith.model.errors import CheckFailed
from heapsmith.model.files import staged

TEMPLATES = Path(__file__).resolve().parent.parent / "templates"
RUNTIME = Path(__file__).resolve().parent.parent / "runtime"

PURPOSES = {
    "plan.h": "The numbers of this heap, as enumerators for the emitted C and the runtime.",
    "plan.c": "The tables of this heap: size classes, size to class, and the heap of a thread that has none.",
    "fast.c": "The hit paths of this heap: malloc and free, and a straight-line alloc and free per size class.",
}

UNIT = "heap.c"
UNIT_PURPOSE = "All of this heap but its hit paths: the tables and the parts of the runtime that it needs, in one unit."

HEADER = "heapsmith.h"
HEADER_PURPOSE = "malloc and free for sizes that the compiler knows, inlined into the program: docs/header.md."

PARTS = (
    *("os.c", "lock.c", "store.c", "transfer.c", "slabs.c", "thread.c", "rows.c", "large.c", "huge.c"),
    *("runs.c", "run_ages.c", "run_bins.c", "run_cache.c", "run_extents.c", "run_pages.c"),
    *("api.c", "glibc.c", "operators.c", "inspect.c", "options.c", "stats.c", "object.c", "text.c"),
)
"""The runtime's files that every library has."""

INCLUDED = re.compile(r'^#include "(.+)"$', re.MULTILINE)


class Generated(msgspec.Struct):
    """What `generate` wrote, or found identical."""

    design: str
    hash: str
    folder: str
    files: list[str]


def runtime_sources(plan: Plan) -> list[Path]:
    """The hand-written C files that this design needs, in a fixed order."""
    return [*(RUNTIME / part for part in PARTS), *kind_sources(plan)]


def kind_sources(plan: Plan) -> list[Path]:
    """Those of the kinds of policy that the design chose, each after the files of its room that it includes."""
    design = plan.design
    kinds = [
        *(("front", kind) for kind in _fronts(plan)),
        ("choice", design.slab_choice),
        ("classifier", design.classifier),
        ("empties", design.empties),
        ("remote", design.remote),
        ("release", design.release.__struct_config__.tag),
        ("foreign", design.foreign),
        ("hardening", plan.hardening),
    ]
    sources: dict[Path, None] = {}
    for room, kind in kinds:
        source = RUNTIME / room / f"{kind}.c"
        beside = [RUNTIME / header for header in INCLUDED.findall(source.read_text()) if header.startswith(f"{room}/")]
        needed = [header.with_suffix(".c") for header in beside if header.with_suffix(".c").exists()]
        sources |= dict.fromkeys([*(file for file in needed if file != source), source])
    return list(sources)


def _fronts(plan: Plan) -> list[str]:
    """The kinds of front in use."""
    return sorted({row.front.kind for row in plan.classes})


def includes(plan: Plan) -> dict[str, str | dict[str, str]]:
    """The templates of the design's policies, each by the name of its row."""
    return {
        "fronts": {kind: f"front/{kind}.j2" for kind in _fronts(plan)},
        "classifier": f"classifier/{plan.design.classifier}.j2",
        "remote": f"remote/{plan.design.remote}.j2",
        "hardening": f"hardening/{plan.hardening}.j2",
        "dispatch": f"dispatch/{plan.dispatch}.j2",
    }


def render(plan: Plan) -> dict[str, str]:
    """The emitted C by file name: the library's, and the header for programs."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    kind_headers = [file.with_suffix(".h") for file in kind_sources(plan) if file.with_suffix(".h").exists()]
    values = {
        "plan": plan,
        "version": heapsmith.__version__,
        "includes": includes(plan),
        "hits": sentences(plan),
        "parts": [str(source.relative_to(RUNTIME)) for source in runtime_sources(plan)],
        "headers": [str(header.relative_to(RUNTIME)) for header in kind_headers],
        "fronts": _fronts(plan),
        "dispatches": dispatches(plan),
        "header_sentence": header_sentence(plan),
        "struct_fields": struct_fields(plan),
        "struct_bytes": STRUCT_BYTES,
        "drains": {row.NAME: row.CODE.drain for row in policy.TABLES["front"]},
    }
    header = environment.get_template(f"{HEADER}.j2")
    nameless = header.render(values, purpose=HEADER_PURPOSE, rows_symbol="")
    values["rows_symbol"] = f"hs_heap_{plan.hash}_{hashlib.sha256(nameless.encode()).hexdigest()[:6]}"
    files = {
        name: environment.get_template(f"{name}.j2").render(values, purpose=purpose)
        for name, purpose in (PURPOSES | {UNIT: UNIT_PURPOSE}).items()
    }
    return files | {HEADER: header.render(values, purpose=HEADER_PURPOSE)}


def contents(design: Design) -> dict[str, bytes]:
    """Every file that `generate` writes for a design, by name."""
    plan = make_plan(design)
    files = {name: text.encode() for name, text in render(plan).items()}
    files["plan.json"] = plan_json(plan)
    files["design.toml"] = design_text(design).encode()
    files["MANIFEST"] = _manifest(plan, files)
    return files


def _manifest(plan: Plan, files: dict[str, bytes]) -> bytes:
    """One `sha256  name` line per emitted file and per runtime source it is built with (the format of sha256sum)."""
    lines = [f"{hashlib.sha256(text).hexdigest()}  {name}" for name, text in sorted(files.items())]
    sources = runtime_sources(plan)
    for source in [*sorted(_headers(sources)), *sources]:
        lines.append(f"{hashlib.sha256(source.read_bytes()).hexdigest()}  runtime/{source.relative_to(RUNTIME)}")
    return ("\n".join(lines) + "\n").encode()


def _headers(sources: list[Path]) -> set[Path]:
    """The runtime's headers that its sources include, and those that these include."""
    found: set[Path] = set()
    waiting = list(sources)
    while waiting:
        beside = {RUNTIME / name for name in INCLUDED.findall(waiting.pop().read_text())}
        new = {header for header in beside - found if header.exists()}
        found |= new
        waiting += new
    return found


def generate(design: Design, out: Path, *, check: bool = False) -> Generated:
    """Writes the C of a design to the folder `out`, or with `check` compares it with what is there.

    Raises CheckFailed naming the first file that differs, BadInput if the folder cannot be written.
    """
    files = contents(design)
    if check:
        _compare(files, out)
    else:
        _write(files, out)
    return Generated(design.name, design.hash(), str(out), sorted(files))


def _compare(files: dict[str, bytes], out: Path) -> None:
    for name, wanted in sorted(files.items()):
        path = out / name
        if not path.is_file():
            raise CheckFailed(f"{path}: missing; run: heapsmith generate {out / 'design.toml'} -o {out}")
        if path.read_bytes() != wanted:
            raise CheckFailed(f"{path}: differs from what the design gives; run: heapsmith generate ... -o {out}")


def _write(files: dict[str, bytes], out: Path) -> None:
    """Each file under a temporary name first, then all renamed: a failure leaves the old files."""
    with ExitStack() as stack:
        for name, text in files.items():
            stack.enter_context(staged(out / name)).write_bytes(text)
