"""Worth: what each choice of a design gains, by the design with this one choice put back to the base's."""

import time
from collections.abc import Callable, Iterator, Sequence

import msgspec
import numpy as np

from heapsmith.model import policy
from heapsmith.model.design.design import Design
from heapsmith.model.search.draft import class_rows, front_for, with_sizes
from heapsmith.model.search.explore import Known
from heapsmith.model.search.outcome import OBJECTIVES
from heapsmith.model.search.pareto import Floats
from heapsmith.model.search.space import SHAPE

NOTHING = 5e-4
"""A choice that changes no ratio by more than this is worth nothing, and goes back to the base's."""

ROUNDS = 3
"""How often worthless choices go: each may have been worth something only beside another."""


class Worth(msgspec.Struct, frozen=True):
    """A choice of the design: what the objectives would be without it, in parts of the design's.

    fields: the fields of the choice. without: by name of OBJECTIVES, above 1 where the choice gains;
    empty where no legal design has the base's value beside the other choices.
    """

    fields: list[str]
    chosen: str
    base: str
    without: dict[str, float]


Price = Callable[[Sequence[Design], str], list[Known]]


def put_back(design: Design, base: Design) -> Iterator[tuple[list[str], Design]]:
    """Yield each choice in which the design differs from the base: its fields, the design without it."""
    if (design.sizes, design.slab_bytes) != (base.sizes, base.slab_bytes):
        yield ["sizes", "slab_bytes"], with_sizes(design, base.sizes, base.slab_bytes)
    fronts = {size: front_for(base, size) for size in design.sizes}
    if any(design.front_of(size) != front for size, front in fronts.items()):
        without = msgspec.structs.replace(design, front=base.front)
        yield (
            [name for name in ("front", "class_front") if getattr(design, name) != getattr(base, name)],
            msgspec.structs.replace(without, class_front=class_rows(without, fronts)),
        )
    for name in Design.__struct_fields__:
        if name not in ("name", "about", "slab_span_bytes", *SHAPE) and getattr(design, name) != getattr(base, name):
            yield [name], msgspec.structs.replace(design, **{name: getattr(base, name)})


def simplest(
    found: Known, base: Design, price: Price, allowed: Callable[[Known], bool], until: float | None, batch: int
) -> Iterator[tuple[Known, list[Worth]]]:
    """Yield the design without more and more choices that are worth nothing, and what the others are worth.

    The last pair is the result; what is yielded before is what is known so far, after each `batch`
    of simulations. After the first round the time `until` ends this.
    """
    for turn in range(ROUNDS):
        choices = list(put_back(found.design, base))
        legal = [other for _, other in choices if other.why_not_valid() is None]
        known: dict[str, Known] = {}
        for first in range(0, len(legal), batch):
            some = legal[first : first + batch]
            known |= zip((one.hash() for one in some), price(some, "what each choice is worth"), strict=True)
            yield found, [_worth(found, base, *choice, known) for choice in choices if choice[1].hash() in known]
        yield found, [_worth(found, base, *choice, known) for choice in choices]
        free = [one for one in known.values() if (one.ratios <= found.ratios * (1 + NOTHING)).all() and allowed(one)]
        if not free or turn == ROUNDS - 1 or (until is not None and time.monotonic() >= until):
            return
        found = min(free, key=lambda one: (len(list(put_back(one.design, base))), float(np.log(one.ratios).sum())))


def _worth(found: Known, base: Design, fields: list[str], other: Design, known: dict[str, Known]) -> Worth:
    without = known.get(other.hash())
    ratios: Floats = without.ratios / found.ratios if without else np.empty(0)
    gains = dict(zip(OBJECTIVES, ratios.tolist(), strict=False))
    return Worth(fields, _words(found.design, base, fields), _words(base, found.design, fields), gains)


def _words(design: Design, other: Design, fields: Sequence[str]) -> str:
    """Return the values of the fields in few words: of a policy's numbers those unlike the other's."""
    if "sizes" in fields:
        return f"{len(design.sizes)} classes to {design.sizes[-1]}, slabs of {design.slab_bytes}"
    if "front" in fields or "class_front" in fields:
        kinds = sorted({str(design.front_of(size).__struct_config__.tag) for size in design.sizes})
        return f"{' and '.join(kinds)}, {1 + len(design.class_front)} settings"
    value, beside = getattr(design, fields[0]), getattr(other, fields[0])
    if value is None:
        return str(design.row(fields[0]).NAME) if fields[0] in policy.TABLES else "none"
    if not isinstance(value, msgspec.Struct):
        return str(value)
    known = msgspec.to_builtins(beside) if type(beside) is type(value) else {}
    numbers = {name: one for name, one in msgspec.to_builtins(value).items() if name != "kind" and one is not None}
    return " ".join(
        [str(design.row(fields[0]).NAME), *(f"{name} {one}" for name, one in numbers.items() if known.get(name) != one)]
    )
