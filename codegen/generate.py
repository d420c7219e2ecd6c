"""From Plan to C: renders the templates. codegen/ship.py adds what the C includes, for others."""

import hashlib
import re
from collections.abc import Mapping
from contextlib import ExitStack
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined

import heapsmith
from heapsmith.codegen.claims import (
    dispatches,
    entries,
    has_stacks,
    header_sentence,
    sentences,
    straight,
    struct_bytes,
    struct_fields,
)
from heapsmith.codegen.purposes import purposes
from heapsmith.model import policy
from heapsmith.model.design.design import Design
from heapsmith.model.design.plan import Plan, make_plan
from heapsmith.model.design.toml import design_text
from heapsmith.model.errors import CheckFailed
from heapsmith.model.files import staged

TEMPLATES = Path(__file__).resolve().parent.parent / "templates"
RUNTIME = Path(__file__).resolve().parent.parent / "runtime"

APART = RUNTIME / "apart.ld"

UNIT, HEADER = "heap.c", "heapsmith.h"
SLOW = "slow.c"
"""The name of UNIT in a shipped folder, where heap.c is the whole library."""

RUNTIME_ORDER = (
    *("cold.h", "counting", "text", "check", "bound.h", "object", "definitions"),
    *("os", "lock", "over_fork", "locks", "counters"),
    *("lookup", "api.h", "heap.h", "segregation", "slab_record", "span", "rows", "heaps"),
    *("populate", "growth", "block_index", "slab_numbers.h"),
    *("hardening", "links.h", "freed_blocks", "classifier", "choice", "empties", "ownership", "release"),
    *("shards", "remote", "pool", "unmapping"),
    *("rounding", "slabs", "slabs_back", "slab_census", "store", "transfer"),
    *("run_pages", "run_extents", "run_ages", "run_bins", "runs", "run_cache"),
    *("huge_cache", "huge_place", "huge_table.h", "huge", "prewarm", "thread", "large"),
    *("background", "learner", "front", "stats", "foreign", "api", "deepbind", "glibc", "inspect", "view", "options"),
    *("deletes", "operators", "copies"),
)
"""The runtime's folders of policies and its pairs of .h and .c (api has no pair).

A file includes and calls only files before it (tests/test_layout.py).
"""

INCLUDED = re.compile(r'^#include "(.+)"$', re.MULTILINE)


class Generated(msgspec.Struct):
    """The result of `generate`: the files that it wrote or found equal."""

    design: str
    hash: str
    folder: str
    files: list[str]


def runtime_sources(plan: Plan) -> list[Path]:
    """The runtime's C files that this design needs, in the order in heap.c."""
    kinds = _kinds(plan)
    sources: list[Path] = []
    for part in RUNTIME_ORDER:
        if part in kinds:
            sources += _sources_of(kinds[part], RUNTIME / part)
        elif not part.endswith(".h"):
            sources.append(RUNTIME / f"{part}.c")
    return sources


def _sources_of(kinds: list[str], room: Path) -> list[Path]:
    """The files of these kinds of policy; each file follows the files whose headers it includes."""
    sources: list[Path] = []
    for source in (room / f"{kind}.c" for kind in kinds):
        if not source.exists():  # a kind that the emitted C alone knows, or the headers
            continue
        headers = [RUNTIME / name for name in INCLUDED.findall(source.read_text())]
        needed = [
            header.with_suffix(".c") for header in headers if header.parent == room and header.stem != source.stem
        ]
        sources += [file for file in (*needed, source) if file.exists() and file not in sources]
    return sources


def _kinds(plan: Plan) -> dict[str, list[str]]:
    """The kinds of policy in use, by the folder of their files; none where a design has no such policy."""
    kinds = {field: [plan.design.row(field).NAME] if getattr(plan.design, field) else [] for field in policy.TABLES}
    kinds["foreign"] += getattr(plan.design.row("foreign"), "WITH", ())
    kinds |= {"lookup": [plan.design.row("size_lookup").NAME], "ownership": [plan.design.row("ownership").NAME]}
    kinds["segregation"] = [plan.design.row("segregation").NAME]
    kinds["deletes"] = ["judged" if plan.live_map else "trusted"]
    kinds["copies"] = ["judged"] if plan.live_map else []
    return kinds | {"choice": [plan.design.slab_choice], "front": sorted({row.front.kind for row in plan.classes})}


def _sites(plan: Plan) -> dict[str, Any]:
    """The sites of the design's groups, and the files that they are in, as plan.c lists them."""
    groups = plan.design.segregation
    if groups is None:
        return {}
    row = plan.design.row("segregation")
    return {"site_modules": row.modules(groups), "site_places": row.places(groups)}


def banner(plan: Plan, purpose: str) -> str:
    """The first lines of an emitted file."""
    return _templates().get_template("banner.j2").render(plan=plan, purpose=purpose, version=heapsmith.__version__)


def render(plan: Plan) -> dict[str, str]:
    """The emitted C by file name: the library's files and the header for programs."""
    sources = runtime_sources(plan)
    kind_headers = [source.with_suffix(".h") for source in sources if source.parent != RUNTIME]
    kinds = _kinds(plan)
    rooms = ("classifier", "remote", "ownership", "hardening", "lookup", "foreign", "segregation")
    includes = {room: f"{room}/{kinds[room][0]}.j2" for room in rooms}
    fronts = {kind: f"front/{kind}.j2" for kind in kinds["front"]}
    values = {
        "plan": plan,
        "version": heapsmith.__version__,
        "includes": includes | {"fronts": fronts, "dispatch": f"dispatch/{plan.dispatch}.j2"},
        "hits": sentences(plan),
        "parts": [str(source.relative_to(RUNTIME)) for source in sources],
        "headers": [str(header.relative_to(RUNTIME)) for header in kind_headers if header.exists()],
        "fronts": kinds["front"],
        "dispatches": dispatches(plan),
        "header_sentence": header_sentence(plan),
        **_sites(plan),
        "struct_fields": struct_fields(plan),
        "struct_bytes": struct_bytes(plan),
        "straight": straight(plan),
        "has_stacks": has_stacks(plan),
        "entries": entries(plan),
        "slow": {row.NAME: row.CODE for row in policy.TABLES["front"]},
        "drains": {row.NAME: row.CODE.drain for row in policy.TABLES["front"]},
        "lends": {row.NAME: row.CODE.lend for row in policy.TABLES["front"]},
        "resizes": {row.NAME: row.CODE.resize for row in policy.TABLES["front"]},
    }

    of_files = purposes(plan)

    def text(name: str, rows_symbol: str) -> str:
        template = _templates().get_template(f"{name}.j2")
        return template.render(values, purpose=of_files[name], rows_symbol=rows_symbol)

    nameless = text(HEADER, "")
    rows_symbol = f"hs_heap_{plan.hash}_{hashlib.sha256(nameless.encode()).hexdigest()[:6]}"
    return {name: text(name, rows_symbol) for name in of_files}


@lru_cache(maxsize=1)
def _templates() -> Environment:
    """The templates, each parsed once: that takes far longer than to render it."""
    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )


def contents(design: Design) -> dict[str, bytes]:
    """All files that `generate` writes for a design: content by name."""
    plan = make_plan(design)
    files = {name: text.encode() for name, text in render(plan).items()}
    files["design.toml"] = design_text(design).encode()
    return files


def parts(plan: Plan) -> list[Path]:
    """The files of the runtime that a design's C includes, directly or not, sorted."""
    emitted = [name for text in render(plan).values() for name in INCLUDED.findall(text)]
    own = [path for name in emitted if (path := RUNTIME / name).is_file()]
    return sorted({*own, *_headers(own)})


def digest(design: Design) -> str:
    """The hash of all that a design's library is compiled of."""
    texts = [text for _, text in sorted(contents(design).items())]
    texts += [part.read_bytes() for part in [*parts(make_plan(design)), APART]]
    return hashlib.sha256(b"\0".join(texts)).hexdigest()


def _headers(sources: list[Path]) -> set[Path]:
    """The headers of the runtime that the sources include, directly or not."""
    found: set[Path] = set()
    waiting = list(sources)
    while waiting:
        beside = {RUNTIME / name for name in INCLUDED.findall(waiting.pop().read_text())}
        new = {header for header in beside - found if header.exists()}
        found |= new
        waiting += new
    return found


def generate(design: Design, out: Path, *, check: bool = False) -> Generated:
    """Write the C of a design, without the runtime's, to the folder `out`; check: compare it. Raises as `written`."""
    return written(design, contents(design), out, check=check)


def written(design: Design, files: Mapping[str, bytes], out: Path, *, check: bool) -> Generated:
    """Write files to the folder `out`; with `check`, compare them with the files there.

    Raises CheckFailed for the first file that differs, BadInput if the folder cannot be written.
    """
    with ExitStack() as stack:  # all files are renamed at its end: a failure leaves the old files
        for name, wanted in sorted(files.items()):
            path = out / name
            if not check:
                path.parent.mkdir(parents=True, exist_ok=True)
                stack.enter_context(staged(path)).write_bytes(wanted)
            elif not path.is_file():
                raise CheckFailed(f"{path}: missing; run: heapsmith generate {out / 'design.toml'} -o {out}")
            elif path.read_bytes() != wanted:
                raise CheckFailed(f"{path}: differs from what the design gives; run: heapsmith generate ... -o {out}")
    return Generated(design.name, design.hash(), str(out), sorted(files))
