"""The commands of designs: show them, emit and build their C, verify it."""

from typing import Annotated, Literal

import heapsmith
from heapsmith.api import show
from heapsmith.api.designs import PageSize
from heapsmith.api.stated import Argument, Option
from heapsmith.commands import arguments as take
from heapsmith.commands import results
from heapsmith.commands.limits import Limit, limited
from heapsmith.commands.options import Commands, Given, example, options_of
from heapsmith.model.errors import BadInput

app = Commands()
design_app = Commands(help="Show designs and check them.")
app.add_typer(design_app, name="design")


@app.command(epilog=example("designs", "designs --json"))
def designs(json: take.Json = False) -> None:
    """List the built-in designs."""
    from heapsmith.model.design.design import builtin_names, load

    found = [load(name) for name in builtin_names()]
    show.emit_json(found) if json else results.designs(found)


@design_app.command("show", epilog=example("design show default", "design show tuned.toml --json"))
def design_show(design: take.Design, page_size: PageSize = None, json: take.Json = False) -> None:
    """Print every derived number of a design. --json prints the whole plan, as `generate` writes it."""
    from heapsmith.model.design.design import load
    from heapsmith.model.design.fitted import PAGE_NAMES, plan_for

    plan = plan_for(load(design), PAGE_NAMES[page_size] if page_size else None)
    show.emit_json(plan) if json else results.plan(plan)


@design_app.command("check", epilog=example("design check tuned.toml"))
def design_check(design: take.Design, json: take.Json = False) -> None:
    """Check whether a design is legal. If not, print the reason with the path of the field."""
    from heapsmith.model.design.design import load

    found = load(design)
    checked = {"name": found.name, "hash": found.hash(), "classes": len(found.sizes)}
    show.emit_json(checked) if json else show.fields(checked.items())


Kind = Literal[
    "design",
    "machine",
    "grid",
    "record",
    "trace-info",
    "sites",
    "leaks",
    "diff",
    "simulate",
    "designs",
    "design-show",
    "tune",
    "verify",
    "forge",
    "compare",
    "replay",
    "check",
    "guard",
    "top",
    "profile",
    "pins",
    "core",
    "doctor",
]
"""Of TOML files three, then commands with --json."""


@app.command(epilog=example("schema design > design.schema.json", "schema grid --line", "schema trace-info"))
def schema(
    kind: Annotated[
        Kind, Argument("design, machine (of calibrate), grid (of sweep), or a command with --json.", "KIND")
    ],
    line: Annotated[bool, Option("Print the first line of a file that names its schema.")] = False,
) -> None:
    """Print the JSON Schema of a kind of TOML file, or of what a command prints with --json.

    Files that heapsmith writes for people to change begin with a line that names the schema of this installation.
    Taplo and editors that use it read the line.
    """
    from heapsmith.model.toml_text import SCHEMA_KINDS, schema_file, schema_line

    if kind in SCHEMA_KINDS:
        show.text(schema_line(kind) if line else schema_file(kind).read_text())
        return
    if line:
        raise BadInput(f"--line: is of files; expected one of {', '.join(SCHEMA_KINDS)}")
    from heapsmith.commands.schemas import result_schema

    show.emit_json(result_schema(kind))


@app.command(
    epilog=example(
        "generate default -o out/c",
        "generate out/py/design.toml -o out/py/c --check",
        "generate default -o out/c --counts py.hst",
    )
)
@options_of(heapsmith.generate)
def generate(given: Given, json: take.Json = False) -> None:
    """Write the C of a design: a folder that compiles by itself.

    `cc -O2 -shared -fPIC -o libheap.so heap.c` or make in it builds the library, without heapsmith. heapsmith.h is for
    programs that inline malloc.
    """
    with show.progress() as progress:
        found = heapsmith.generate(**given, progress=progress).details
    said = f"{found.folder}: {'identical' if given['check'] else 'written'}: {', '.join(found.files)}"
    show.emit_json(found) if json else show.line(said)


@app.command(epilog=example("build default -o libheap.so --header heapsmith.h", "build py.toml -o py.a --static"))
@options_of(heapsmith.build)
def build(given: Given, json: take.Json = False) -> None:
    """Compile the library of a design with GCC. Preload it, link it with -l, or with --static make an archive."""
    found = heapsmith.Design.load(given["design"])
    built = heapsmith.build(**given | {"design": found})
    show.emit_json({"design": found.name, "hash": found.hash, "library": str(built)}) if json else show.line(built)


@app.command(epilog=example("verify default", "verify out/py/design.toml out/py/trace.hst"))
@options_of(heapsmith.verify, "design traces limit nodes target under page_size")
def verify(given: Given, limit: Limit = None, json: take.Json = False) -> int:
    """Audit the C of a design and compare its library with the model.

    Library and model perform each trace. Every counter and every address must agree; the exit status is 1 if one
    differs.
    """
    with show.progress() as progress:
        found = heapsmith.verify(**given | {"design": limited([given["design"]], limit)[0]}, progress=progress)
    show.emit_json(found.details) if json else found.show()
    return 0 if found.ok else 1
