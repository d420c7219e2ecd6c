"""The JSON Schemas of heapsmith's TOML files. `python -m heapsmith.commands.schemas` writes them to model/schemas."""

from inspect import cleandoc
from typing import Any

import msgspec

from heapsmith.model import policy
from heapsmith.model.design.design import schema as design_schema
from heapsmith.model.files import write_json
from heapsmith.model.memory.hardware import Hardware
from heapsmith.model.toml_text import SCHEMA_KINDS, schema_file
from heapsmith.tools.sweep.grid import Grid

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema_of(kind: str) -> dict[str, Any]:
    """Return the JSON Schema of a kind of file, one of SCHEMA_KINDS."""
    makers = {"design": design_schema, "machine": lambda: msgspec.json.schema(Hardware), "grid": _grid_schema}
    return {"$schema": DIALECT, **_cleaned(makers[kind]())}


def _cleaned(part: Any) -> Any:
    """Return a part of a schema, its descriptions without the indentation that docstrings have before Python 3.13."""
    if isinstance(part, list):
        return [_cleaned(each) for each in part]
    if not isinstance(part, dict):
        return part
    return {
        name: cleandoc(its) if name == "description" and isinstance(its, str) else _cleaned(its)
        for name, its in part.items()
    }


def _grid_schema() -> dict[str, Any]:
    """Return the schema of a grid: its `values` are lists for the fields of a design, also by a dotted path."""
    design, grid = design_schema(), msgspec.json.schema(Grid)
    fields: dict[str, Any] = design["$defs"]["Design"]["properties"]
    lists = {
        name: {
            "description": field.get("description", ""),
            "anyOf": [{"type": "array", "items": _or_off(name, field), "minItems": 1}, {"type": "object"}],
        }
        for name, field in fields.items()
        if name != "name"
    }
    values = grid["$defs"]["Grid"]["properties"]["values"]
    values |= {"properties": lists, "patternProperties": {f"^({'|'.join(lists)})\\.": {"type": "array", "minItems": 1}}}
    values["additionalProperties"] = False
    grid["$defs"] |= design["$defs"]
    return grid


def _or_off(name: str, field: dict[str, Any]) -> dict[str, Any]:
    """Return a field that also takes the word for doing without it, if a design can."""
    if not policy.is_off(name, policy.WITHOUT):
        return field
    return field | {"anyOf": [*field["anyOf"], {"const": policy.WITHOUT}]}


def write() -> None:
    """Write all schemas to the package."""
    for kind in SCHEMA_KINDS:
        write_json(schema_file(kind), schema_of(kind))


if __name__ == "__main__":
    write()
