"""Writes the reference pages: docs/commands.md from the help of the commands, docs/design-fields.md from the schema.

python -m heapsmith.bench.gates.reference [--check] (make generated, make check)
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from heapsmith.bench.common.command import exit_with
from heapsmith.commands.man import ENVIRONMENT, STATUS, commands
from heapsmith.commands.options import parameter_records
from heapsmith.commands.schemas import schema_of
from heapsmith.model import policy
from heapsmith.model.errors import CheckFailed
from heapsmith.model.files import write_text
from heapsmith.tools.common.tables import fold

DOCS = Path(__file__).resolve().parents[2] / "docs"
WIDTH = 100

DESIGN = """# The fields of a design

This page is made from the schema of designs (`heapsmith schema design`). A design is a TOML file.
Only `name` and `sizes` must be there: each other field has a default. A field of several kinds is a
table with `kind` and the fields of that kind, or the kind alone as a word where nothing else is to
say. [machine-rooms.md](machine-rooms.md) says exactly what each does, and `heapsmith design check
FILE` whether a file is legal, with the reason if it is not.
"""

COMMANDS = """# Commands

This page is made from the help of the commands (`heapsmith CMD --help`). `make man` writes the same
as manual pages.
"""


def design_page() -> str:
    """The fields in the order of the schema: what each is, its default, its values, and the fields of those."""
    named: dict[str, Any] = schema_of("design")["$defs"]
    sections = _sections()
    lines = [DESIGN]
    for name, field in named["Design"]["properties"].items():
        rows = policy.TABLES.get(name, ())
        default = field.get("default") or next((row.NAME for row in rows if hasattr(row, "DEFAULT")), None)
        said = f" Default: {_literal(default)}." if default is not None else ""
        where = f" See [the machine]({sections[name]})." if name in sections else ""
        lines += [f"## `{name}`", "", _folded(f"{_sentence(_cell(field['description']))}{said}{where}"), ""]
        kinds = {table["properties"]["kind"]["enum"][0]: table for table in _tables(field, named) if _is_kind(table)}
        words = list(_words(field))
        if values := list(_values(rows, words, kinds)):
            lines += ["| value | is |", "|---|---|"]
            lines += [f"| {_literal(value)} | {_cell(_escaped(said))} |" for value, said in values]
            lines += [""]
        elif words:
            lines += [_folded(f"Values: {', '.join(words)}."), ""]
        for table in _tables(field, named):
            lines += [*_fields(table), ""]
    lines += ["## A level of a front of `levels`", "", *_fields(named["Level"]), ""]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n"


def commands_page() -> str:
    """Each command with its help, arguments, options and examples; then exit statuses and environment."""
    lines = [COMMANDS]
    program, inner = commands()
    for words, (command, ctx) in {("heapsmith",): program, **inner}.items():
        lines += [f"## {' '.join(words)}", ""]
        for paragraph in command.help.split("\n\n"):
            lines += [_folded(_escaped(" ".join(paragraph.split()))), ""]
        lines += ["```", " ".join([*words, *command.collect_usage_pieces(ctx)]), "```", ""]
        for title, records in parameter_records(command, ctx):
            lines += [f"| {title.lower()} | |", "|---|---|"]
            lines += [f"| `{_cell(name)}` | {_cell(_escaped(said))} |" for name, said in records]
            lines += [""]
        if examples := (command.epilog or "").removeprefix("\b\nExamples:\n").strip("\n"):
            lines += ["```", *(line.strip() for line in examples.splitlines()), "```", ""]
    for title, rows in (("exit status", STATUS), ("environment", ENVIRONMENT)):
        lines += [f"## {title.capitalize()}", "", f"| {title} | |", "|---|---|"]
        lines += [*(f"| `{name}` | {_cell(said)} |" for name, said in rows), ""]
    return "\n".join(lines).rstrip() + "\n"


def _sections() -> dict[str, str]:
    """By field, the section of its room, whose name is that of the room's folder."""
    return {field: f"machine-rooms.md#{rows[0].__name__.split('.')[-2]}" for field, rows in policy.TABLES.items()}


def _options(field: Any) -> Iterator[Any]:
    """What a field may be, one by one."""
    if "anyOf" in field:
        for one in field["anyOf"]:
            yield from _options(one)
    elif field.get("type") != "null":
        yield field


def _words(field: Any) -> Iterator[str]:
    """The values of a field that are no tables."""
    for one in _options(field):
        if "enum" in one:
            yield from (_literal(value) for value in one["enum"])
        elif one.get("type") == "array":
            items = one["items"]
            yield "a list of " + (", ".join(_literal(value) for value in items.get("enum", [])) or _type(items))
        elif "$ref" not in one:
            yield _type(one)


def _type(one: Any) -> str:
    return {"integer": "integer", "number": "number", "string": "text", "boolean": "`true`, `false`"}.get(
        one.get("type"), "table"
    )


def _tables(field: Any, named: dict[str, Any]) -> Iterator[Any]:
    """The tables that a field may be, of a list those of its items."""
    for one in _options(field):
        if reference := one.get("$ref") or one.get("items", {}).get("$ref"):
            yield named[reference.rpartition("/")[2]]


def _is_kind(table: Any) -> bool:
    return len(table["properties"].get("kind", {}).get("enum", [])) == 1


def _values(rows: Sequence[Any], words: Sequence[str], kinds: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The values of a field with a policy table, and what each is, by the first lines of its rows and kinds."""
    firsts = {row.NAME: (row.__doc__ or "").partition("\n")[0] for row in rows}
    firsts |= {name: " ".join(_parts(table)[0].split()) for name, table in kinds.items() if name not in firsts}
    for name, first in firsts.items():
        if name in kinds or _literal(name) in words:
            yield name, first


def _parts(table: Any) -> tuple[str, dict[str, str]]:
    """What a table is, and what it says of its fields: 'name: words; name: words' behind an empty line."""
    summary, _, rest = table.get("description", "").partition("\n\n")
    names = "|".join(table["properties"])
    pieces = re.split(rf"(?:^|[;.] )((?:{names})(?:, (?:{names}))*): ", " ".join(rest.split()))
    said = dict[str, str]()
    for found, words in zip(pieces[1::2], pieces[2::2], strict=True):
        said |= dict.fromkeys(found.split(", "), words.rstrip("."))
    return summary, said


def _fields(table: Any) -> Iterator[str]:
    """The fields of a table."""
    kind = table["properties"].get("kind", {}).get("enum", [])
    fields = {name: field for name, field in table["properties"].items() if name != "kind" or len(kind) > 1}
    if not fields:
        return
    said = _parts(table)[1]
    yield f"Fields of `{kind[0] if len(kind) == 1 else table['title']}`:"
    yield from ("", "| field | what | values | default |", "|---|---|---|---|")
    for name, field in fields.items():
        default = "-" if isinstance(field.get("default"), list | tuple | None) else _literal(field["default"])
        what = said.get(name, field.get("description", "-"))
        yield f"| `{name}` | {_cell(_escaped(what))} | {', '.join(_words(field)) or 'table'} | {default} |"


def _literal(value: Any) -> str:
    if isinstance(value, dict):
        return f"`{value['kind']}`"
    if isinstance(value, list):
        return ", ".join(map(_literal, value)) or "none"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`" if value != "" else "empty"


def _sentence(text: str) -> str:
    first = text.partition(" ")[0]
    return f"{text[:1].upper() if first.isalpha() else text[:1]}{text[1:].rstrip('.')}."


def _escaped(text: str) -> str:
    """Text in which brackets, stars and angles are not read as Markdown."""
    return re.sub(r"([\[\]*<>])", r"\\\1", text)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|")


def _folded(text: str) -> str:
    return fold(text, WIDTH)


def main(check: Annotated[bool, typer.Option("--check", help="Write nothing.")] = False) -> int:
    """Write the pages; with --check, fail where one is another."""
    for name, text in (("commands.md", commands_page()), ("design-fields.md", design_page())):
        page = DOCS / name
        if check and (not page.exists() or page.read_text() != text):
            raise CheckFailed(f"docs/{name}: differs from the help and the schema; expected a run of `make generated`")
        if not check:
            write_text(page, text)
    return 0


if __name__ == "__main__":
    exit_with(main)
