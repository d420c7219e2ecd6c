"""The designs of a sweep: files, folders, built-in designs, and grids of values (docs/howto/sweep-on-a-cluster.md)."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from heapsmith.model.design.design import Design, builtin_names, changed, load
from heapsmith.model.design.toml import design_name
from heapsmith.model.errors import BadInput
from heapsmith.model.toml_text import from_toml, read_text

BUILTIN = "builtin"
"""The word for all built-in designs."""

MOST_COMBINATIONS = 1_000_000
"""A larger grid is a mistake: its designs alone would take gigabytes."""


class Variant(NamedTuple):
    """A design of a sweep. choices: the values that its grid gave it, by path; none outside a grid."""

    design: Design
    choices: Mapping[str, Any]


class Skipped(msgspec.Struct, frozen=True):
    """Combinations of a grid that are no legal design, for one reason."""

    grid: str
    reason: str
    combinations: int


class Grid(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A grid file: a base design and lists of values by the path of a field."""

    values: dict[str, Any]
    base: str = "default"


def variants(specs: Sequence[str]) -> tuple[list[Variant], list[Skipped]]:
    """Return the designs of `specs` in order, and what the grids skip.

    A spec is BUILTIN, a folder of design and grid files (*.toml), such a file, or the name of a
    built-in design. Raises BadInput for a folder without these, a bad file, a grid without a legal
    design, and two grids whose files give their designs the same names.
    """
    named: dict[str, str] = {}
    found: list[Variant] = []
    skipped: list[Skipped] = []
    for file in (file for spec in specs for file in _files(spec)):
        if file.endswith(".toml") and "values" in (content := _table(file)):
            if (other := named.setdefault(design_name(Path(file).stem), file)) != file:
                raise BadInput(f"{file}: its designs would have the names of those of {other}; rename one of the files")
            made, refused = _combined(file, _grid(content, file))
            found += made
            skipped += refused
        else:
            found.append(Variant(load(file), {}))
    return found, skipped


def _files(spec: str) -> list[str]:
    if spec == BUILTIN:
        return builtin_names()
    path = Path(spec)
    if not path.is_dir():
        return [spec]
    inside = sorted(map(str, path.glob("*.toml")))
    if not inside:
        raise BadInput(f"{spec}: no designs (*.toml) in this folder")
    return inside


def _table(file: str) -> dict[str, Any]:
    return from_toml(read_text(Path(file), file), file, dict[str, Any], str)


def _grid(content: dict[str, Any], file: str) -> Grid:
    try:
        return msgspec.convert(content, Grid)
    except msgspec.ValidationError as error:
        raise BadInput(f"{file}: {error}; a grid has `base` and the table `values`") from None


def _combined(file: str, grid: Grid) -> tuple[list[Variant], list[Skipped]]:
    """Return the legal designs of a grid, named by its file and numbered, and what is skipped."""
    axes = dict(_axes(grid.values, file))
    if (count := math.prod(map(len, axes.values()))) > MOST_COMBINATIONS:
        raise BadInput(f"{file}: {count:,} combinations; expected at most {MOST_COMBINATIONS:,}")
    beside = Path(file).parent / grid.base
    base = load(str(beside) if grid.base.endswith(".toml") else grid.base)
    found: list[Variant] = []
    reasons: Counter[str] = Counter()
    stem = design_name(Path(file).stem)
    for number, values in enumerate(product(*axes.values()), 1):
        choices, name = dict(zip(axes, values, strict=True)), f"{stem}-{number}"
        try:
            found.append(Variant(with_choices(base, name, choices), choices))
        except BadInput as error:
            reasons[str(error).removeprefix(f"{name}: ")] += 1
    if not found:
        raise BadInput(f"{file}: none of {count:,} combinations is a legal design: {reasons.most_common(1)[0][0]}")
    return found, [Skipped(file, reason, times) for reason, times in reasons.most_common()]


def _axes(values: Mapping[str, Any], file: str, above: str = "") -> Iterator[tuple[str, list[Any]]]:
    """Yield each path with its values; `front.capacity = [...]` may be a dotted or a quoted key."""
    if not values:
        raise BadInput(f"{file}: values{above and '.' + above.rstrip('.')}: is empty; expected a list for each field")
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _axes(value, file, f"{above}{key}.")
        elif isinstance(value, list) and value:
            yield f"{above}{key}", value
        else:
            raise BadInput(f"{file}: values.{above}{key}: {value!r}; expected a list of values for this field")


def with_choices(base: Design, name: str, choices: Mapping[str, Any]) -> Design:
    """Return `base` under another name with these values by the paths of fields; BadInput if it is no legal design."""
    return changed(base, name, _fields(base, choices))


def _fields(base: Design, choices: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of `base` that the choices change, whole; another `kind` drops the numbers of the old."""
    content: dict[str, Any] = msgspec.to_builtins(base)
    for path, value in sorted(choices.items(), key=lambda choice: not choice[0].endswith(".kind")):
        *tables, last = path.split(".")
        table = content
        for name in tables:
            if not isinstance(table.get(name), dict):
                table[name] = {}
            table = table[name]
        if last == "kind" and table.get(last) != value:
            table.clear()
        table[last] = value
    return {field: content[field] for field in {path.split(".")[0] for path in choices}}
