"""Rules: which designs can be built."""

import re
from collections.abc import Callable
from types import ModuleType
from typing import Any

import msgspec

from heapsmith.model import policy
from heapsmith.model.constants import PAGE, first_bytes
from heapsmith.model.design.choices import SPELLER_OF, row_of
from heapsmith.model.errors import Refusal

MAX_SLABS = 1 << 26
MAX_CLASSES = 250
SYSTEM_LIBRARIES = re.compile(
    "c|m|mvec|dl|pthread|rt|util|resolv|nsl|crypt|anl|thread_db|gcc_s|atomic|gomp|asan|lsan|tsan|ubsan"
)
"""Names that no design has: lib<name>.so would be taken for a library of the C library or of the compiler."""


def why_not_legal(design: Any) -> Refusal | None:
    """Return why a design (model/design/design.py) cannot be built, or None."""
    return (
        why_not_name(design.name)
        or _why_not_powers(design)
        or _why_not_sizes(design)
        or _why_not_geometry(design)
        or _why_not_fronts(design)
        or _why_not_dispatch(design)
        or _why_not_numbers(design)
    )


def why_not_name(name: str) -> Refusal | None:
    """Return why a design cannot have this name, or None."""
    if SYSTEM_LIBRARIES.fullmatch(name):
        words = f"name: {name!r} cannot name a design: lib{name}.so is a library of the system; expected another name"
        return Refusal(words, ("name",))
    if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", name):
        return None
    return Refusal(f"name: {name!r} cannot name files; expected letters, digits, '-' and '_'", ("name",))


def _why_not_powers(design: Any) -> Refusal | None:
    """Return why a span or slab of the design cannot have its size, or None."""
    bounds = {
        "slab_bytes": (PAGE, 1 << 21),
        "superslab_bytes": (design.slab_bytes, 1 << 26),
        "slab_span_bytes": (max(1 << 28, design.superslab_bytes), 1 << 44),
        "run_span_bytes": (1 << 28, 1 << 42),
    }
    for field, (low, high) in bounds.items():
        value = getattr(design, field)
        if not low <= value <= high or value & (value - 1):
            return Refusal(f"{field}: {value} is not usable; expected a power of two, {low} to {high}", (field,))
    return None


def _why_not_steps(design: Any) -> Refusal | None:
    """Return why a number of the design that has a step cannot have its value, or None."""
    steps = {**policy.FIELD_STEPS, "remap_bytes": (PAGE, 1 << 40)}
    for field, (step, most) in steps.items():
        value = getattr(design, field)
        if value is not None and (value % step or not 0 <= value <= most):
            first = f"a multiple of {step}, from 0" if step > 1 else "0"
            return Refusal(f"{field}: {value}; expected {first} to {most}", (field,))
    return None


def _why_not_params(path: str, params: msgspec.Struct) -> Refusal | None:
    """Return why a policy cannot have these numbers, with the field's path, or None."""
    check = getattr(SPELLER_OF[type(params)], "why_not_valid", None)
    reason = check(params) if check else None
    return Refusal(f"{path}.{reason}", (path.partition("[")[0],)) if reason else None


def _why_not_numbers(design: Any) -> Refusal | None:
    """Return why a policy cannot have the numbers that the design gives it, with the path, or None."""
    structs = ((field, getattr(design, field)) for field in policy.NAMED if field != "front")
    reasons = (_why_not_params(field, one) for field, one in structs if isinstance(one, msgspec.Struct))
    return next(filter(None, reasons), None)


def _why_not_sizes(design: Any) -> Refusal | None:
    words = _why_not_size(design)
    return Refusal(words, ("sizes",)) if words else None


def _why_not_size(design: Any) -> str | None:
    if not 1 <= len(design.classes()) <= MAX_CLASSES:
        return f"sizes: {len(design.classes())} classes; expected 1 to {MAX_CLASSES}"
    bias = header_bytes(design) + tail_bytes(design)
    smallest = 16 * (bias // 16 + 1)
    has_tiny = design.grain == 8 and not bias
    expected = "8 or a multiple of 16" if has_tiny else f"a multiple of 16, {smallest} or more"
    for index, size in enumerate(design.sizes):
        if has_tiny and size > 8 and size % 16 == 8:
            return (
                f"sizes[{index}]: {size} would be 8-aligned, and requests of 16 bytes or more must be 16-aligned; "
                f"expected {expected}"
            )
        if (size < smallest or size % 16) and not (has_tiny and size == 8):
            return f"sizes[{index}]: {size} is not a block size; expected {expected}"
        if index and size <= design.sizes[index - 1]:
            what = "repeats" if size == design.sizes[index - 1] else "is below"
            return (
                f"sizes[{index}]: {size} {what} the size before it, {design.sizes[index - 1]}; expected ascending sizes"
            )
    header = header_bytes(design)
    if design.sizes[-1] + first_bytes(header) - header > design.slab_bytes:
        return f"sizes[{len(design.sizes) - 1}]: {design.sizes[-1]} does not fit a slab of {design.slab_bytes} bytes"
    return None


def _why_not_geometry(design: Any) -> Refusal | None:
    if design.slab_span_bytes // design.slab_bytes > MAX_SLABS:
        words = f"slab_span_bytes: {design.slab_span_bytes} holds over {MAX_SLABS} slabs; expected a smaller span"
        return Refusal(words, ("slab_span_bytes",))
    if design.huge_bytes % PAGE or not max(PAGE, design.sizes[-1]) <= design.huge_bytes <= 1 << 30:
        words = f"huge_bytes: {design.huge_bytes}; expected a multiple of {PAGE}, from the largest size to {1 << 30}"
        return Refusal(words, ("huge_bytes",))
    for row in map(design.row, policy.TABLES):
        if refusal := _why_not_with(row, design):
            return refusal
    for field, bytes_of_block in (("classifier", header_bytes(design)), ("hardening", tail_bytes(design))):
        if design.grain != 16 and bytes_of_block:
            words = f"grain: 8 cannot go with {field} '{design.row(field).NAME}'; expected 16"
            return Refusal(words, ("grain", field))
    return _why_not_steps(design)


def _why_not_with(row: ModuleType, design: Any) -> Refusal | None:
    """Return why the design cannot combine a row's policy with its others, or None."""
    check: Callable[[Any], Refusal | None] | None = getattr(row, "why_not_with", None)
    return check(design) if check else None


def header_bytes(design: Any) -> int:
    """Return the bytes before each block that the classifier takes."""
    return int(design.row("classifier").HEADER_BYTES)


def tail_bytes(design: Any) -> int:
    """Return the bytes behind each block that hardening takes."""
    return int(design.row("hardening").TAIL_BYTES)


def _why_not_dispatch(design: Any) -> Refusal | None:
    """Return why malloc and free cannot go on in the way that the design states, or None."""
    rows = [row_of(design.front_of(size)) for size in design.sizes]
    if design.dispatch == "row" and not any(row.IS_STACK for row in rows):
        return Refusal("dispatch: 'row' needs an array stack as the front of a class", ("dispatch", "front"))
    if design.dispatch == "class" and not any(row.CODE.has_hits for row in rows):
        return Refusal("dispatch: 'class' needs a front with a hit path for a class", ("dispatch", "front"))
    return None


def _why_not_fronts(design: Any) -> Refusal | None:
    seen: set[int] = set()
    for params in (design.front, *(exception.front for exception in design.class_front)):
        if refusal := _why_not_with(row_of(params), design):
            return refusal
    for index, exception in enumerate(design.class_front):
        path = f"class_front[{index}]"
        for size in exception.sizes:
            if size not in design.sizes:
                return Refusal(f"{path}.sizes: {size} is none of the design's sizes", ("class_front", "sizes"))
            if size in seen:
                return Refusal(f"{path}.sizes: {size} has a front already", ("class_front",))
            seen.add(size)
        if refusal := _why_not_params(f"{path}.front", exception.front):
            return refusal
    return _why_not_params("front", design.front)
