"""Designs as named parameters with lists of values: the space of the search, for samplers that know no design."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from heapsmith.model.design.choices import Front, row_of
from heapsmith.model.design.design import Design
from heapsmith.model.search.draft import Sizes
from heapsmith.model.search.exact import BUDGETS, Exact
from heapsmith.model.search.explore import Explorer
from heapsmith.model.search.size_classes import Rules
from heapsmith.model.search.space import (
    BUSY,
    SHAPE,
    choices,
    converted,
    free_fields,
    free_numbers,
    legal,
    mapped,
    same_row,
    steps,
    with_front,
)

REACH = 2
"""Numbers have the values that this number of the search's steps reaches, and those of the built-in designs."""

FACTORS = (1 / 16, 1 / 4, 1 / 2, 1, 2, 4, 16)
"""The numbers of fronts are multiplied by one of these, all classes together: 1 leaves them as they are."""

BUSY_FACTORS = (1 / 4, 1 / 2, 1, 2, 4)
"""The same for the front of one class."""

Pick = Callable[[str, int, bool], int]
"""Takes a parameter's name, the number of its values, and whether they are ordered; returns the index of one."""


class Parameters:
    """The space of a search: a base and its built-in relatives, changed by every free row and number.

    A design begins with the classes and fronts of an origin. Numbers of a row are parameters only
    where the row is picked. Parameters that make no legal design together are taken one after the
    other, and each may repair others, as in the moves of the search; what cannot be repaired is left out.
    """

    def __init__(self, explorer: Explorer, exact: Exact) -> None:
        self.base, self._exact = explorer.base, exact
        relatives = [explorer.base, *explorer.built_ins()]
        self._origins: list[dict[str, Any]] = []
        for one in relatives:
            shape = {name: getattr(one, name) for name in SHAPE}
            if shape not in self._origins:
                self._origins.append(shape)
        self._shapes: list[tuple[int, int] | None] = [None, *exact.shapes()]
        self._kinds: list[Front | None] = [None, *choices("front")]
        self._parts: list[float | None] = [None, *BUDGETS]
        self._fields = [name for name in free_fields(huge_pages=False) if name != "front"]
        self._numbers = {
            name: _grid(getattr(self.base, name), int, [getattr(one, name) for one in relatives])
            for name in free_numbers(huge_pages=False)
        }
        seen = [getattr(one, field) for field in self._fields for one in relatives]
        self._rows: dict[type, dict[str, list[Any]]] = {}
        of_base = {type(value): value for value in (getattr(self.base, field) for field in self._fields)}
        for params in (value for field in self._fields for value in choices(field)):
            if isinstance(params, msgspec.Struct):
                of_kind = [one for one in seen if type(one) is type(params)]
                self._rows[type(params)] = _grids(of_base.get(type(params), params), of_kind)

    def design(self, pick: Pick) -> Design:
        """Return the legal design of the values that `pick` returns."""
        return self._busy(self._scaled(self._fitted(pick), pick), pick)

    def picks(self, design: Design) -> dict[str, int] | None:
        """Return the parameters of a start of the search, or None if there are none that make it."""
        fields = self._picked_fields(design)
        for found in self._picked_fronts(design) if fields is not None else ():
            picks = {**fields, **found}  # type: ignore[dict-item]
            if self._fitted(lambda name, *_, picks=picks: picks.get(name, 0)).hash() == design.hash():
                self.design(partial(_kept, picks))
                return picks
        return None

    def _fitted(self, pick: Pick) -> Design:
        """Return the design of rows, numbers and classes, with the capacities for the traces."""
        origin = _one("origin", self._origins, pick)
        fields: dict[str, Any] = {}
        for field in self._fields:
            value = _one(field, choices(field), pick)
            fields[field] = self._filled(field, value, pick) if isinstance(value, msgspec.Struct) else value
        for name, grid in self._numbers.items():
            fields[name] = grid[pick(name, len(grid), True)]
        shape, kind = _one("shape", self._shapes, pick), _one("kind", self._kinds, pick)
        part = _one("part", self._parts, pick)
        design = self._shaped(msgspec.structs.replace(self.base, **origin, **fields), shape)
        if design is None or design.why_not_valid() is not None:
            design = legal(self.base, **origin) or self.base
            for field, value in fields.items():
                design = legal(design, **{field: value}) or design
            design = self._shaped(design, shape) or design
        if kind is not None:
            design = mapped(design, lambda front: converted(front, kind)) or design
        return design if part is None else self._exact.fronted(design, part) or design

    def _picked_fields(self, design: Design) -> dict[str, int] | None:
        picks: dict[str, int] = {}
        for field in self._fields:
            now = getattr(design, field)
            rows = [index for index, value in enumerate(choices(field)) if same_row(value, now)]
            if not rows:
                return None
            picks[field] = rows[0]
            for name, grid in self._rows.get(type(now), {}).items():
                if getattr(now, name) not in grid:
                    return None
                picks[_name(field, now, name)] = grid.index(getattr(now, name))
        for name, grid in self._numbers.items():
            if getattr(design, name) not in grid:
                return None
            picks[name] = grid.index(getattr(design, name))
        return picks

    def _picked_fronts(self, design: Design) -> Iterator[dict[str, int]]:
        """Yield what may have made the classes and fronts of the design."""
        for origin, values in enumerate(self._origins):
            for shape, asked in enumerate(self._shapes if values["front"] == design.front else ()):
                sizes = values["sizes"] if asked is None else self._sizes(design, asked)
                for part in range(len(self._parts)) if sizes == design.sizes else ():
                    yield {"origin": origin, "shape": shape, "part": part}

    def _sizes(self, design: Design, shape: tuple[int, int]) -> list[int] | None:
        found = self._exact.sizes(Rules.of(design), *shape) if shape[0] == design.slab_bytes else None
        return found.sizes if isinstance(found, Sizes) else None

    def _shaped(self, design: Design, shape: tuple[int, int] | None) -> Design | None:
        return design if shape is None else self._exact.shaped(design, *shape)

    def _filled(self, field: str, params: msgspec.Struct, pick: Pick) -> msgspec.Struct:
        """Return the row's Params with the picked numbers."""
        grids = self._rows[type(params)].items()
        found = {name: grid[pick(_name(field, params, name), len(grid), _ordered(grid))] for name, grid in grids}
        return msgspec.structs.replace(params, **found)

    def _scaled(self, design: Design, pick: Pick) -> Design:
        """Return the design with other numbers of its fronts, all together."""
        for name in type(design.front).__struct_fields__:
            change = _changing(f"front.{name}", design.front, name, FACTORS, pick)
            design = mapped(design, change) or design
        return design

    def _busy(self, design: Design, pick: Pick) -> Design:
        """Return the design with other fronts of the classes with most allocations."""
        for rank, size in enumerate(self._exact.busy(design)[:BUSY]):
            kind = _one(f"busy{rank}", self._kinds, pick)
            if kind is not None:
                front = converted(design.front_of(size), kind)
                for name in type(front).__struct_fields__:
                    front = _changing(f"busy{rank}.{name}", front, name, BUSY_FACTORS, pick)(front)
                design = with_front(design, size, front) or design
        return design


def _kept(picks: dict[str, int], name: str, count: int, ordered: bool) -> int:
    """Return the picked value, and pick the first value, or the factor 1, of a parameter that has none."""
    first = FACTORS.index(1) if name.startswith("front.") else 0
    return picks.setdefault(name, first)


def _one(name: str, values: Sequence[Any], pick: Pick) -> Any:
    return values[pick(name, len(values), False)]


def _name(field: str, params: msgspec.Struct, number: str) -> str:
    return f"{field}.{row_of(params).NAME}.{number}"


def _grids(params: msgspec.Struct, seen: Sequence[Any]) -> dict[str, list[Any]]:
    """Return the values of each number or word of a row: from its default and those seen."""
    hints = get_type_hints(type(params))
    return {
        name: _grid(getattr(params, name), hints[name], [getattr(one, name) for one in seen])
        for name in params.__struct_fields__
    }


def _grid(default: Any, kind: Any, seen: Sequence[Any]) -> list[Any]:
    found = dict.fromkeys([default])
    for _ in range(REACH):
        found |= dict.fromkeys(other for value in found for other in steps(value, default, kind))
    found |= dict.fromkeys(seen)
    return sorted(found) if _ordered([*found]) else list(found)


def _ordered(values: Sequence[Any]) -> bool:
    return all(isinstance(value, int | float) for value in values)


def _changing(label: str, front: Front, number: str, factors: Sequence[float], pick: Pick) -> Callable[[Front], Front]:
    """Return what multiplies a number of a front by a picked factor, or sets it to a picked word or to none."""
    parts = get_args(get_type_hints(type(front))[number])
    words = [word for part in parts if get_origin(part) is Literal for word in get_args(part)]
    words += [None] * (type(None) in parts)
    at = pick(label, len(factors) + len(words), not words)

    def change(one: Front) -> Front:
        value = getattr(one, number, None)
        if not hasattr(one, number):
            return one
        if at >= len(factors):
            return msgspec.structs.replace(one, **{number: words[at - len(factors)]})
        return msgspec.structs.replace(one, **{number: int(value * factors[at])}) if isinstance(value, int) else one

    return change
