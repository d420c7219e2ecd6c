"""Rules for the name of a design and for ranges of its numbers; model/design/design.py has the others."""

import re
from typing import Any

from heapsmith.model.constants import HUGE_PAGE, PAGE

SYSTEM_LIBRARIES = re.compile(
    "c|m|mvec|dl|pthread|rt|util|resolv|nsl|crypt|anl|thread_db|gcc_s|atomic|gomp|asan|lsan|tsan|ubsan"
)
"""Names that no design has: lib<name>.so would be taken for a library of the C library or of the compiler."""


def why_not_name(name: str) -> str | None:
    """Return why a design cannot have this name, or None."""
    if SYSTEM_LIBRARIES.fullmatch(name):
        return f"name: {name!r} cannot name a design: lib{name}.so is a library of the system; expected another name"
    if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", name):
        return None
    return f"name: {name!r} cannot name files; expected letters, digits, '-' and '_'"


def why_not_powers(design: Any) -> str | None:
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
            return f"{field}: {value} is not usable; expected a power of two, {low} to {high}"
    return None


def why_not_steps(design: Any) -> str | None:
    """Return why a number of the design that has a step cannot have its value, or None."""
    steps = {
        "thp_slabs_from_bytes": (HUGE_PAGE, 1 << 40),
        "thp_runs_from_bytes": (HUGE_PAGE, 1 << 40),
        "thp_block_bytes": (1, HUGE_PAGE),
        "transfer_bytes": (1, 1 << 30),
        "run_cache_bytes": (PAGE, 1 << 30),
        "remap_bytes": (PAGE, 1 << 40),
    }
    for field, (step, most) in steps.items():
        value = getattr(design, field)
        if value is not None and (value % step or not 0 <= value <= most):
            first = f"a multiple of {step}, from 0" if step > 1 else "0"
            return f"{field}: {value}; expected {first} to {most}"
    return None
