"""Small designs that use every policy and every legal pair of policies: tiny slabs and fronts, so all happens early."""

from collections.abc import Iterator
from itertools import combinations, product
from types import ModuleType
from typing import Any

import msgspec

from heapsmith.model import policy
from heapsmith.model.design import Design

FACTORS: dict[str, tuple[ModuleType, ...]] = {
    "classifier": policy.CLASSIFIERS,
    "slab_choice": policy.SLAB_CHOICES,
    "empties": policy.EMPTIES,
    "remote": policy.REMOTES,
    "release": policy.RELEASES,
}
"""The tables of which a design has one row each; the fronts go by class, and every design here has them all."""

GEOMETRIES: tuple[dict[str, Any], ...] = (
    {"sizes": [16, 48, 256, 512, 1024, 1360, 2048], "slab_bytes": 4096, "superslab_bytes": 8192, "huge_bytes": 65_536},
    {
        "sizes": [16, 32, 144, 1024, 2032, 2720, 4096],
        "slab_bytes": 8192,
        "superslab_bytes": 8192,
        "huge_bytes": 1 << 20,
    },
    {"sizes": [48, 80, 336, 800, 1360, 4080], "slab_bytes": 4096, "superslab_bytes": 16_384, "huge_bytes": 8192},
)
ODD_SIZES = [8, 16, 24, 48, 56, 64, 72, 800, 808, 1360, 2032, 2040]
"""Block sizes where the grain may be 8."""

NUMBERS: tuple[dict[str, int], ...] = (
    {"capacity": 4, "list_capacity": 5, "refill": 3, "flush": 2, "spill": 2, "promote": 2, "keep_slabs": 1},
    {"capacity": 1, "list_capacity": 2, "refill": 1, "flush": 1, "spill": 1, "promote": 1, "keep_slabs": 0},
    {"capacity": 8, "list_capacity": 9, "refill": 8, "flush": 8, "spill": 3, "promote": 7, "keep_slabs": 2},
)
"""For the parameters of those names, whichever policy has them."""

RUN_BYTES = 8192


def covering_designs() -> list[Design]:
    """Designs such that every two rows of different tables that can go together do so in one of them."""
    legal = [rows for rows in product(*FACTORS.values()) if _design(rows, 0).why_not_valid() is None]
    missing = {pair for rows in legal for pair in _pairs(rows)}
    chosen: list[Design] = []
    while missing:
        best = max(legal, key=lambda rows: len(missing & set(_pairs(rows))))
        missing -= set(_pairs(best))
        chosen.append(_design(best, len(chosen)))
    return chosen


def all_designs() -> list[Design]:
    """A design for every legal combination of rows."""
    designs = [_design(rows, index) for index, rows in enumerate(product(*FACTORS.values()))]
    return [design for design in designs if design.why_not_valid() is None]


def _pairs(rows: tuple[ModuleType, ...]) -> Iterator[tuple[str, str]]:
    return combinations((row.__name__ for row in rows), 2)


def _design(rows: tuple[ModuleType, ...], index: int) -> Design:
    """The design of these rows; the index varies geometry, grain, numbers, and which class has which front."""
    chosen: dict[str, Any] = {field: row.NAME for field, row in zip(FACTORS, rows, strict=True)}
    numbers = NUMBERS[index % len(NUMBERS)]
    chosen |= {"release": _with_numbers(rows[-1], {**numbers, "run_bytes": RUN_BYTES})}
    chosen |= GEOMETRIES[index // len(NUMBERS) % len(GEOMETRIES)]
    if index % 2 and chosen["classifier"] != "header":
        chosen |= {"grain": 8, "sizes": ODD_SIZES}
    fronts = [_with_numbers(row, numbers) for row in policy.FRONTS]
    by_class = [
        {"sizes": [size], "front": fronts[(place + index) % len(fronts)]} for place, size in enumerate(chosen["sizes"])
    ]
    small_spans = {"slab_span_bytes": 1 << 28, "run_span_bytes": 1 << 28}
    return msgspec.convert({"name": f"covering-{index}", "class_front": by_class, **chosen, **small_spans}, Design)


def _with_numbers(row: ModuleType, numbers: dict[str, int]) -> dict[str, Any]:
    """A policy's table as a design file has it, with those of the numbers that it knows."""
    known = {field: value for field, value in numbers.items() if field in row.Params.__struct_fields__}
    return {"kind": row.NAME, **known}
