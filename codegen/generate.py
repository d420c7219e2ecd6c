"""From Plan to C: renders the templates. codegen/ship.py adds what the C includes, for others."""

import hashlib
from collections.abc import Mapping
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined

import heapsmith
from heapsmith.codegen import rooms
from heapsmith.codegen.claims import (
    dispatches,
    drains,
    entries,
    has_stacks,
    header_sentence,
    sentences,
    straight,
    struct_bytes,
    struct_fields,
)
from heapsmith.codegen.layers import HEAP
from heapsmith.codegen.purposes import purposes
from heapsmith.model import policy
from heapsmith.model.design.design import Design
from heapsmith.model.design.plan import Plan, heap_fields, make_plan
from heapsmith.model.design.toml import design_text
from heapsmith.model.errors import CheckFailed
from heapsmith.model.files import staged
from heapsmith.model.memory.layout import BELOW_BYTES
from heapsmith.model.parts.levels import DEEPEST
from heapsmith.model.policy.emitted import BEHIND_COUNTS

TEMPLATES = Path(__file__).resolve().parent.parent / "templates"

APART = HEAP / "apart.ld"

UNIT, HEADER = "heap.c", "heapsmith.h"
SLOW = "slow.c"
"""The name of UNIT in a shipped folder, where heap.c is the whole library."""


class Generated(msgspec.Struct):
    """The result of `generate`: the files that it wrote or found equal."""

    design: str
    hash: str
    folder: str
    files: list[str]


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
    sources = rooms.sources(plan)
    kinds = {room: [row.NAME for row in rows] for room, rows in rooms.rows(plan).items()}
    fronts = {kind: f"front/{kind}.j2" for kind in kinds["front"]}
    includes = {room: f"{room}/{found[0]}.j2" for room, found in kinds.items() if (TEMPLATES / room).is_dir()}
    values = {
        "plan": plan,
        "version": heapsmith.__version__,
        "includes": includes | {"fronts": fronts, "dispatch": f"dispatch/{plan.dispatch}.j2"},
        "hits": sentences(plan),
        "parts": [str(source.relative_to(HEAP)) for source in sources],
        "headers": [name for room in includes for name in rooms.interfaces(plan, room, sources)],
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
        "drains": {row.NAME: drains(plan).get(row.CODE.drain, 0) for row in policy.TABLES["front"]},
        "drain_functions": drains(plan),
        "lends": {row.NAME: row.CODE.lend for row in policy.TABLES["front"]},
        "deepest": DEEPEST,
        "below_bytes": BELOW_BYTES,
        "heap_fields": [field for _, field in heap_fields(plan.design) if field.place != BEHIND_COUNTS],
        "heap_caches": [field for _, field in heap_fields(plan.design) if field.place == BEHIND_COUNTS],
        "given": rooms.headers(plan),
        "answers": rooms.answers(plan, _text("moments.h.j2")),
        "answering": rooms.answering(plan),
        "resizes": {row.NAME: row.CODE.resize for row in policy.TABLES["front"]},
    }

    of_files = purposes(plan)

    def text(name: str, rows_symbol: str) -> str:
        template = _templates().get_template(f"{name}.j2")
        return template.render(values, purpose=of_files[name], rows_symbol=rows_symbol)

    nameless = text(HEADER, "")
    rows_symbol = f"hs_heap_{plan.hash}_{hashlib.sha256(nameless.encode()).hexdigest()[:6]}"
    return {name: text(name, rows_symbol) for name in of_files}


@cache
def _text(template: str) -> str:
    return (TEMPLATES / template).read_text()


@cache
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


def contents(design: Design, emitted: Mapping[str, str] | None = None) -> dict[str, bytes]:
    """All files that `generate` writes for a design: content by name. emitted: what `render` gives."""
    files = {name: text.encode() for name, text in (emitted or render(make_plan(design))).items()}
    files["design.toml"] = design_text(design).encode()
    return files


def pieces(plan: Plan, emitted: Mapping[str, str] | None = None) -> list[Path]:
    """The files of the runtime that a design's C includes, directly or not, sorted. emitted: what `render` gives."""
    given, emitted = rooms.headers(plan), emitted or render(plan)
    named = [name for text in emitted.values() for name in rooms.included_names(text, given)]
    own = {path for name in named if (path := HEAP / name).is_file()}
    return sorted(own | rooms.included(own, plan))


def digest(design: Design) -> str:
    """The hash of all that a design's library is compiled of."""
    plan = make_plan(design)
    emitted = render(plan)
    texts = [text for _, text in sorted(contents(design, emitted).items())]
    texts += [piece.read_bytes() for piece in [*pieces(plan, emitted), APART]]
    return hashlib.sha256(b"\0".join(texts)).hexdigest()


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
