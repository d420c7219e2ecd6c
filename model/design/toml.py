"""A design as TOML, with the reason for each choice as a comment beside it."""

import re
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import tomlkit
from tomlkit.items import Array, Item, Table

from heapsmith.model.design.design import Design
from heapsmith.model.design.legal import SYSTEM_LIBRARIES
from heapsmith.model.errors import printable
from heapsmith.model.files import write_text
from heapsmith.model.toml_text import schema_line

COMMENT_WIDTH = 110


class Reason(msgspec.Struct, frozen=True):
    """Why a field has its value."""

    field: Annotated[str, msgspec.Meta(description="path of the field, as 'sizes', 'sizes[3]' or 'class_front[0]'")]
    chosen: Annotated[str, msgspec.Meta(description="the value, in words")]
    why: Annotated[str, msgspec.Meta(description="one or two sentences")]
    figures: Annotated[dict[str, int | float], msgspec.Meta(description="numbers behind the choice")] = {}


def design_name(stem: str) -> str:
    """Return the name of a design for the file or folder that holds it: all but letters and digits becomes '-'.

    A name that no design can have (SYSTEM_LIBRARIES) is lengthened.
    """
    name = re.sub(r"[^A-Za-z0-9]+", "-", stem).strip("-") or "forged"
    return f"{name}-design" if SYSTEM_LIBRARIES.fullmatch(name) else name


def design_text(design: Design, reasons: Sequence[Reason] = ()) -> str:
    """Return the design as TOML that `model.design.parse` reads back to an equal design.

    A reason stands above its field, and the reason of an element beside it. Reasons without a field
    open the file.
    """
    fields = {name: value for name, value in msgspec.to_builtins(design).items() if value not in ([], None)}
    why = {reason.field: reason.why for reason in reasons}
    document = tomlkit.document()
    for field, text in why.items():
        if field.split("[")[0] not in fields:
            for line in _wrapped(text):
                document.add(tomlkit.comment(line))
            document.add(tomlkit.nl())
    for name, value in sorted(fields.items(), key=lambda field: _is_table(field[1])):
        if isinstance(value, dict):
            document.add(name, _table(value, why.get(name)))
        elif name == "class_front":
            rows = tomlkit.aot()
            for index, row in enumerate(value):
                rows.append(_table(row, why.get(f"{name}[{index}]")))
            document.add(name, rows)
        else:
            for line in _wrapped(why.get(name)):
                document.add(tomlkit.comment(line))
            document.add(name, _value(value, name, why))
    return tomlkit.dumps(document)


def write_design(path: Path, design: Design, reasons: Sequence[Reason] = ()) -> None:
    """Write `design_text` to the file `path`, below the line of its schema; BadInput if it cannot be written."""
    write_text(path, schema_line("design") + design_text(design, reasons))


def _is_table(value: Any) -> bool:
    """Return whether TOML writes the value under a header: behind it, a line would be part of it."""
    return isinstance(value, dict) or (isinstance(value, list | tuple) and bool(value) and isinstance(value[0], dict))


def _wrapped(text: str | None) -> list[str]:
    """Return the lines of a comment."""
    return textwrap.wrap(printable(text or ""), COMMENT_WIDTH)


def _table(values: Mapping[str, Any], why: str | None) -> Table:
    table = tomlkit.table()
    for line in _wrapped(why):
        table.add(tomlkit.comment(line))
    for name, value in values.items():
        if value is not None:
            table.add(name, _value(value, name, {}))
    return table


def _value(value: Any, name: str, why: Mapping[str, str]) -> Item:
    if isinstance(value, dict):
        inline = tomlkit.inline_table()
        inline.update({key: _value(inner, name, {}) for key, inner in value.items() if inner is not None})
        return inline
    if _is_table(value):
        tables = tomlkit.array()
        for one in value:
            tables.append(_value(one, name, {}))
        return tables
    if any(field.startswith(f"{name}[") for field in why):
        return _commented(value, name, why)
    item: Item = tomlkit.item(value)
    return item


def _commented(values: Sequence[int], name: str, why: Mapping[str, str]) -> Array:
    """Return an array with a line per element and its reason behind it."""
    array = tomlkit.array()
    for index, value in enumerate(values):
        array.add_line(value, indent="  ", comment=" ".join(_wrapped(why.get(f"{name}[{index}]"))) or None)
    array.add_line(indent="")
    return array
