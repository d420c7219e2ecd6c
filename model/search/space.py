"""The space of the search: every row and number that a design can state, and the designs one choice away.

Rows come from the policy tables, numbers from the types of the design's fields and of the rows'
Params. `why_not_valid` of the design says which values are legal.
"""

import random
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice, product
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from heapsmith.model import policy
from heapsmith.model.design.choices import Front
from heapsmith.model.design.design import ClassFront, Design
from heapsmith.model.policy.front.common import frees_alone_fill

FIXED = frozenset(
    {"foreign", "hardening", "counting", "compile_flags", "prewarm", "thp_block_bytes", "segregation", "remap_bytes"}
)
"""Fields that stay the base's: what free() may be given, which misuse is looked for, what is counted
and on which processors the library runs are no matters of cost; prewarm needs sizes of threads to
come. A trace does not tell which part of a small block the program writes (thp_block_bytes).
Groups of call sites are tried on the choice alone (model/search/segregate.py).
"""

ADDRESS_SPACE = frozenset({"slab_span_bytes", "run_span_bytes", "grain"})
"""Numbers that cost neither time nor memory, and the grain, which decides what alignment is kept."""

PAGES = frozenset({"thp", "thp_slabs_from_bytes", "thp_runs_from_bytes", "populate"})
"""Fields whose worth depends on the bytes that the program touches, which a trace does not tell."""

PROCESSORS = frozenset({"heaps"})
"""Fields whose worth depends on the processors of the events, which not every trace tells."""

RELEASE = frozenset({"release"})
"""Fields whose worth shows only where live bytes fall for long after their peak (Source.tells_release): until then
pages that never go back cost nothing, and a service that goes on would keep its peak for ever.
"""

PAGED = ("release", "thp")
"""Fields that decide when pages are touched first and when they go back. Where a heap grows and shrinks
they outweigh all others, and together more than alone.
"""

SHAPE = ("sizes", "slab_bytes", "front", "class_front")
"""Fields that go together: fronts are those of the sizes, and sizes fit the slabs."""

FACTORS = (4, 2)
"""Numbers are tried this many times larger and smaller: far for bytes and counts, near for capacities."""

FIRST = 16
"""The first value of a number without a default."""

REPAIRS = 5
"""The most further fields that a row may change so that the design is legal."""

BUSY = 6
"""The classes whose front alone is varied: those with the most allocations."""


@cache
def choices(field: str) -> tuple[Any, ...]:
    """Return what a field can be set to: a value for each row of its table that has a price, with default numbers."""
    optional = getattr(_DEFAULTS, field) is None
    found: list[Any] = []
    for row in policy.choosable(field):
        if hasattr(row, "UNPRICED"):
            continue
        if optional and getattr(row, "DEFAULT", False):
            found.append(None)
        elif not hasattr(row, "Params") or getattr(row, "IS_WORD", False):
            found.append(row.NAME)
        if hasattr(row, "Params"):
            needed = [info for info in msgspec.structs.fields(row.Params) if info.required]
            if all(info.type is int for info in needed):
                found.append(row.Params(**{info.name: FIRST for info in needed}))
    return tuple(found)


_DEFAULTS = Design("x", [16])


def kept_fields(*, huge_pages: bool, processors: bool = False, release: bool = True) -> frozenset[str]:
    """Return the fields that stay the base's. processors: the traces tell those of their events; release: they tell
    what it costs to keep pages.
    """
    told = ((huge_pages, PAGES), (processors, PROCESSORS), (release, RELEASE))
    return FIXED.union(*(fields for tells, fields in told if not tells))


def free_fields(**free: bool) -> list[str]:
    """Return the fields that name policies and that the search may change; free: the keywords of `kept_fields`."""
    kept = kept_fields(**free)
    return [name for name in policy.NAMED if name not in kept]


def free_numbers(*, huge_pages: bool) -> list[str]:
    """Return the design's own numbers that the search may change."""
    kept = ADDRESS_SPACE | set(SHAPE) | (set() if huge_pages else PAGES)
    return [name for name in Design.__struct_fields__ if type(getattr(_DEFAULTS, name)) is int and name not in kept]


def is_priced(design: Design) -> bool:
    """Return whether the price knows the worth of all that the design chooses."""
    return not unpriced_fields(design)


def unpriced_fields(design: Design) -> set[str]:
    """Return the fields of whose rows the price does not know the worth."""
    return {field for field in policy.TABLES if hasattr(design.row(field), "UNPRICED")}


def is_followed(design: Design) -> bool:
    """Return whether the clocks know all locks for which threads wait."""
    return not any(hasattr(design.row(field), "UNFOLLOWED") for field in policy.TABLES)


def steps(value: Any, default: Any, kind: Any, factor: int = FACTORS[0]) -> list[Any]:
    """Return other values of a number or word of this type: a factor up and down, none, all words."""
    if isinstance(value, tuple):
        return _other_parts(value)
    parts = get_args(kind) or (kind,)
    found: list[Any] = []
    for part in parts:
        if get_origin(part) is Literal:
            found += get_args(part)
        elif part is type(None):
            found.append(None)
        elif part in (int, float) and isinstance(value, int | float) and value:
            found += [value * factor, part(value / factor), *([part(0)] if part is int else [])]
        elif part in (int, float) and default:
            found.append(default)
    if get_origin(kind) is Literal:
        found = list(get_args(kind))
    return [one for one in dict.fromkeys(found) if one != value]


def _other_parts(parts: tuple[Any, ...]) -> list[Any]:
    """Return the structs with a number of one changed, or without one of them."""
    found = [(*parts[:at], other, *parts[at + 1 :]) for at, part in enumerate(parts) for other in numbers_of(part)]
    return found + [parts[:at] + parts[at + 1 :] for at in range(len(parts))]


def legal(design: Design, **fields: Any) -> Design | None:
    """Return the design with these fields, repaired if need be, or None."""
    return repaired(msgspec.structs.replace(design, **fields), set(fields), REPAIRS)


def repaired(design: Design, kept: set[str], depth: int) -> Design | None:
    """Return the design, or the first legal design with other values of the fields that refuse it.

    A refusal has the fields that could be others.
    """
    refusal = design.why_not_valid()
    if refusal is None or depth == 0:
        return design if refusal is None else None
    for field in refusal.fields:
        if field in kept or field not in _REPAIRABLE:
            continue
        now = getattr(design, field)
        for value in choices(field) if field in policy.NAMED else steps(now, getattr(_DEFAULTS, field), int):
            other = msgspec.structs.replace(design, **{field: value})
            if found := repaired(other, kept | {field}, depth - 1):
                return found
    return None


_REPAIRABLE = ({*policy.NAMED} - FIXED - PAGES - PROCESSORS - {"front"}) | {*free_numbers(huge_pages=False)}


def needs_time(design: Design) -> bool:
    """Say whether the design's heap reads the time, so that a trace needs time stamps."""
    return getattr(design.release, "unit", None) == "milliseconds"


def neighbours(design: Design, busy: Sequence[int], *, huge_pages: bool, **free: bool) -> Iterator[Design]:
    """Yield the legal designs that differ in one choice; busy: block sizes with most allocations."""
    for field in free_fields(huge_pages=huge_pages, **free):
        if field != "front":
            yield from _rows(design, field)
    for field in free_numbers(huge_pages=huge_pages):
        for value in steps(getattr(design, field), getattr(_DEFAULTS, field), int):
            if found := legal(design, **{field: value}):
                yield found
    yield from _fronts(design, busy)


def _rows(design: Design, field: str) -> Iterator[Design]:
    """Yield the design with each other row of a field, and with other numbers of its own row."""
    now = getattr(design, field)
    for value in choices(field):
        if not same_row(now, value) and (found := legal(design, **{field: value})):
            yield found
    for other in numbers_of(now):
        if found := legal(design, **{field: other}):
            yield found


def paged(design: Design, **free: bool) -> Iterator[Design]:
    """Yield the legal designs with other rows of PAGED, alone and together."""
    may_change = set(free_fields(**free))
    fields = [name for name in PAGED if name in may_change]
    now = [getattr(design, name) for name in fields]
    rows = [
        [one, *(row for row in choices(name) if not same_row(one, row))] for name, one in zip(fields, now, strict=True)
    ]
    for values in islice(product(*rows), 1, None):
        if found := legal(design, **dict(zip(fields, values, strict=True))):
            yield found


def same_row(one: Any, other: Any) -> bool:
    """Say whether two values of a field name the same row, whatever their numbers."""
    return one == other or (isinstance(one, msgspec.Struct) and type(one) is type(other))


def numbers_of(params: Any, factor: int = FACTORS[0]) -> Iterator[Any]:
    """Yield a policy's Params with one number or word changed."""
    if not isinstance(params, msgspec.Struct):
        return
    hints = get_type_hints(type(params))
    for info in msgspec.structs.fields(type(params)):
        for value in steps(getattr(params, info.name), info.default, hints[info.name], factor):
            yield msgspec.structs.replace(params, **{info.name: value})


def converted(front: Front, kind: Front) -> Front:
    """Return a front of another kind with the numbers that both kinds have."""
    numbers = {name: getattr(front, name) for name in kind.__struct_fields__ if hasattr(front, name)}
    return msgspec.structs.replace(kind, **numbers)


def mapped(design: Design, change: Any) -> Design | None:
    """Return the design with `change` of each of its fronts."""
    rows = [ClassFront(row.sizes, change(row.front)) for row in design.class_front]
    return legal(design, front=change(design.front), class_front=rows)


def with_front(design: Design, size: int, front: Front) -> Design | None:
    """Return the design with this front for the class of `size` bytes."""
    rows = [ClassFront([one for one in row.sizes if one != size], row.front) for row in design.class_front]
    rows = [row for row in rows if row.sizes]
    if front != design.front:
        rows.append(ClassFront([size], front))
    return legal(design, class_front=rows)


def _fronts(design: Design, busy: Sequence[int]) -> Iterator[Design]:
    """Yield the design with other fronts: kinds and numbers, for all classes and for single ones."""
    kinds = choices("front")
    made: list[Design | None] = []
    for kind in kinds:
        if type(kind) is not type(design.front) or design.class_front:
            made.append(mapped(design, lambda front, kind=kind: converted(front, kind)))
    for info in msgspec.structs.fields(type(design.front)):
        hint = get_type_hints(type(design.front))[info.name]
        for factor in FACTORS:
            for index in range(len(steps(getattr(design.front, info.name), info.default, hint, factor))):
                made.append(mapped(design, lambda front, at=(info.name, index, factor): _nudged(front, *at)))
    for size in busy[:BUSY]:
        front = design.front_of(size)
        made += [with_front(design, size, converted(front, kind)) for kind in kinds if type(kind) is not type(front)]
        made += [with_front(design, size, other) for other in numbers_of(front, FACTORS[1])]
    yield from (one for one in made if one is not None)


def _nudged(front: Front, name: str, index: int, factor: int) -> Front:
    """Return the front with the step number `index` of a number, if it has that number."""
    info = next((one for one in msgspec.structs.fields(type(front)) if one.name == name), None)
    if info is None:
        return front
    others = steps(getattr(front, name), info.default, get_type_hints(type(front))[name], factor)
    return msgspec.structs.replace(front, **{name: others[index]}) if index < len(others) else front


def crossed(design: Design, other: Design, draw: random.Random) -> Design | None:
    """Return the design with about half of the choices in which it differs from the other."""
    fields = {name: value for name, value in differing(design, other).items() if draw.random() < 0.5}
    if draw.random() < 0.25:
        fields |= {name: getattr(other, name) for name in SHAPE}
    return legal(design, **fields) if fields else None


def differing(design: Design, other: Design) -> dict[str, Any]:
    """Return the other's values of the fields that differ, without those of SHAPE."""
    names = [name for name in Design.__struct_fields__ if name not in ("name", "about", *SHAPE)]
    return {name: getattr(other, name) for name in names if getattr(other, name) != getattr(design, name)}


def joined(design: Design, others: Sequence[Design]) -> Design | None:
    """Return the design with all choices in which the others differ from it; of two, the later."""
    fields: dict[str, Any] = {}
    for other in others:
        fields |= differing(design, other)
        if any(getattr(other, name) != getattr(design, name) for name in SHAPE):
            fields |= {name: getattr(other, name) for name in SHAPE}
    return legal(design, **fields) if fields else None


def drawn(base: Design, draw: random.Random, *, huge_pages: bool, rate: float = 1.0, **free: bool) -> Design:
    """Return a legal design with a random row or step of each field, or of a share `rate` of them."""
    design = base
    fields = free_fields(huge_pages=huge_pages, **free)
    for field in [*fields, *free_numbers(huge_pages=huge_pages)]:
        if rate < 1 and draw.random() >= rate:
            continue
        if field == "front":
            kind = draw.choice(choices("front"))
            change: Any = lambda front, kind=kind: converted(front, kind)  # noqa: E731 - one of two
            design = mapped(design, change) or design
            continue
        if field in policy.NAMED:
            value = draw.choice(choices(field))
            others = list(islice(numbers_of(value), 100))
            value = draw.choice([value, *others])
        else:
            value = draw.choice(
                [getattr(design, field), *steps(getattr(design, field), getattr(_DEFAULTS, field), int)]
            )
        design = legal(design, **{field: value}) or design
    return design


def tokens(design: Design, base: Design) -> dict[str, float]:
    """Return the design's choices as features by name: rows, settings unlike the base's, and shape."""
    found = {f"{field}={design.row(field).NAME}": 1.0 for field in policy.NAMED if field not in (*FIXED, "front")}
    for name in Design.__struct_fields__:
        value = getattr(design, name)
        if name not in ("name", "about", *SHAPE) and value != getattr(base, name):
            found[f"{name}: {value}"] = 1.0
    found["slab_bytes"] = design.slab_bytes.bit_length() / 8
    found["classes"] = len(design.sizes) / 64
    found["largest"] = design.sizes[-1].bit_length() / 8
    found["refill=never"] = float(frees_alone_fill(design.front))
    return found
