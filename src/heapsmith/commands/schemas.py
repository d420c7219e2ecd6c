"""The JSON Schemas of heapsmith's TOML files, which `python -m heapsmith.commands.schemas` writes, and of results."""

from inspect import cleandoc
from typing import Any

import msgspec

from heapsmith.codegen.verify import VerifyReport
from heapsmith.model import policy
from heapsmith.model.design.design import Design
from heapsmith.model.design.design import schema as design_schema
from heapsmith.model.design.plan import Plan
from heapsmith.model.files import write_json
from heapsmith.model.memory.hardware import Hardware
from heapsmith.model.predict.ledgers import LedgerTable
from heapsmith.model.predict.simulate import SimulationTable
from heapsmith.model.search.guard import Guarded
from heapsmith.model.search.tune import Tuned
from heapsmith.model.toml_text import SCHEMA_KINDS, schema_file
from heapsmith.model.trace.stats import TraceInfo
from heapsmith.tools.ci.check import Checked
from heapsmith.tools.compare.measure import MeasureTable
from heapsmith.tools.forge.report import ForgeReport
from heapsmith.tools.record.record import RecordResult
from heapsmith.tools.replay.replay import ReplayTable
from heapsmith.tools.report.doctor import DoctorReport
from heapsmith.tools.sampled.core import Core
from heapsmith.tools.sampled.pins import Pins
from heapsmith.tools.sampled.profile import Profile
from heapsmith.tools.sites.diff import Difference
from heapsmith.tools.sites.leaks import LeakTable
from heapsmith.tools.sites.sites import SiteTable
from heapsmith.tools.sweep.grid import Grid
from heapsmith.tools.top.watch import Sight

DIALECT = "https://json-schema.org/draft/2020-12/schema"
RESULTS: dict[str, tuple[Any, ...]] = {
    "record": (RecordResult,),
    "trace-info": (TraceInfo, list[TraceInfo]),
    "sites": (SiteTable,),
    "leaks": (LeakTable,),
    "diff": (Difference,),
    "simulate": (SimulationTable, LedgerTable),
    "designs": (list[Design],),
    "design-show": (Plan,),
    "tune": (Tuned,),
    "verify": (VerifyReport,),
    "forge": (ForgeReport,),
    "compare": (MeasureTable,),
    "replay": (ReplayTable,),
    "check": (Checked,),
    "guard": (Guarded,),
    "top": (list[Sight],),
    "profile": (Profile,),
    "pins": (Pins,),
    "core": (Core,),
    "doctor": (DoctorReport,),
}
"""By command what it prints with --json; of two types, which of them its options decide."""


def schema_of(kind: str) -> dict[str, Any]:
    """Return the JSON Schema of a kind of file, one of SCHEMA_KINDS."""
    makers = {"design": design_schema, "machine": lambda: msgspec.json.schema(Hardware), "grid": _grid_schema}
    return {"$schema": DIALECT, **_cleaned(makers[kind]())}


def result_schema(command: str) -> dict[str, Any]:
    """Return the JSON Schema of what a command prints with --json, one of RESULTS."""
    found, parts = msgspec.json.schema_components(RESULTS[command], ref_template="#/$defs/{name}")
    whole = found[0] if len(found) == 1 else {"anyOf": list(found)}
    return {"$schema": DIALECT, **_finite(_cleaned({**whole, "$defs": parts}))}


def _finite(part: Any) -> Any:
    """Return a part of a schema that takes null for a number, as results have for infinite ones."""
    if isinstance(part, list):
        return [_finite(each) for each in part]
    if not isinstance(part, dict):
        return part
    made = {name: _finite(its) for name, its in part.items()}
    return made | {"type": ["number", "null"]} if made.get("type") == "number" else made


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
