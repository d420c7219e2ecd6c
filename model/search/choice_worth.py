"""Worth: what each choice of a design gains, by the design with this one choice put back to the base's."""

import math
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

import msgspec
import numpy as np

from heapsmith.model import policy
from heapsmith.model.design.design import Design
from heapsmith.model.search.draft import class_rows, front_for, with_sizes
from heapsmith.model.search.explore import Known
from heapsmith.model.search.outcome import OBJECTIVES
from heapsmith.model.search.pareto import Floats
from heapsmith.model.search.space import SHAPE

MARGIN = 0.005
"""How much worse the score may become as choices go back, in parts of the best score.

A gain that small is no evidence, and another input may pay for what this trace does not show. Of few
operations it is the standard error of their number, in parts of it: 8.6 % of 135. A design that
takes twice as much more of the allocator's time must have as good a score: time may hardly count in it.
"""

ROUNDS = 3
"""How often choices go back: each may be worth something only beside another."""

TOGETHER = 4
"""How many sets of choices are tried in a round: the least worthy quarter, the half, ... all."""

CLASSES = ("sizes", "slab_bytes")

FRONTS = ("front", "class_front")

STAGE = "what each choice is worth"


class Worth(msgspec.Struct, frozen=True):
    """A choice of the design: what the objectives would be without it, in parts of the design's.

    fields: those of the choice, and those that must go back with it. without: by name of OBJECTIVES,
    above 1 where the choice gains; empty where no legal design has the base's value, or the time was up.
    """

    fields: list[str]
    chosen: str
    base: str
    without: dict[str, float]


class Weighed(NamedTuple):
    """What choices are worth, and the priced designs without each of them, with the fields that went back."""

    worth: list[Worth]
    without: list[tuple[list[str], Known]]


def margin(operations: int) -> float:
    """Return how much worse a score may be, in parts of the best, as MARGIN has it."""
    return max(MARGIN, 1 / math.sqrt(operations))


class Judge(Protocol):
    """What prices designs, `batch` at once, and says which are allowed and how good they are: an Explorer.

    operations: those of all traces.
    """

    batch: int
    operations: int

    def price(self, designs: Sequence[Design], stage: str) -> list[Known]: ...

    def affordable(self, designs: Sequence[Design]) -> list[Design]:
        """Return those that may be priced: fewer where the time is nearly up."""
        ...

    def allowed(self, one: Known) -> bool: ...

    def score(self, one: Known) -> float: ...


def may_replace(one: Known, best: Known, judge: Judge) -> bool:
    """Say whether a simpler design is good enough to be taken instead of the best, by the `margin`."""
    slack = margin(judge.operations)
    is_quick = bool(one.ratios[0] <= best.ratios[0] * (1 + 2 * slack))
    return judge.score(one) <= judge.score(best) * (1 + slack * is_quick)


def put_back(design: Design, base: Design) -> Iterator[tuple[list[str], Design]]:
    """Yield each choice in which the design differs from the base: its fields, the design without it.

    Where no legal design has the base's value beside the other choices, those go back too that the
    reason names; if that does not help, the design that is yielded is not legal.
    """
    seen = {design.hash()}
    for choice in _differing(design, base):
        fields, other = _without(design, base, choice)
        if other.hash() not in seen:
            yield fields, other
        seen.add(other.hash())


def _differing(design: Design, base: Design) -> list[list[str]]:
    """Return the fields of each choice in which the design differs from the base."""
    found: list[list[str]] = []
    if (design.sizes, design.slab_bytes) != (base.sizes, base.slab_bytes):
        found.append([*CLASSES])
    if any(design.front_of(size) != front_for(base, size) for size in design.sizes):
        found.append([name for name in FRONTS if getattr(design, name) != getattr(base, name)])
    return found + [
        [name]
        for name in Design.__struct_fields__
        if name not in ("name", "about", "slab_span_bytes", *SHAPE) and getattr(design, name) != getattr(base, name)
    ]


def _without(design: Design, base: Design, fields: Sequence[str]) -> tuple[list[str], Design]:
    """Return the fields that go back to the base's, with those that must go with them, and the design."""
    gone = [*fields]
    while True:
        other = msgspec.structs.replace(
            design, **{name: getattr(base, name) for name in gone if name not in (*CLASSES, *FRONTS)}
        )
        if {*gone} & {*CLASSES}:
            other = with_sizes(other, base.sizes, base.slab_bytes)
        if {*gone} & {*FRONTS}:
            fronts = {size: front_for(base, size) for size in other.sizes}
            other = msgspec.structs.replace(other, front=base.front)
            other = msgspec.structs.replace(other, class_front=class_rows(other, fronts))
        refusal = other.why_not_valid()
        named = {*refusal.fields} if refusal else {*()}
        more = next((one for one in _differing(other, base) if named & {*one} and not {*one} <= {*gone}), None)
        if more is None:
            return gone, other
        gone += [name for name in more if name not in gone]


def weigh(found: Known, base: Design, judge: Judge) -> Iterator[Weighed]:
    """Yield what each choice is worth as it becomes known; what comes last is of all choices that the time allows."""
    choices = list(put_back(found.design, base))
    legal = [other for _, other in choices if other.why_not_valid() is None]
    known: dict[str, Known] = {}
    for first in range(0, len(legal), judge.batch):
        some = judge.affordable(legal[first : first + judge.batch])
        known |= zip((one.hash() for one in some), judge.price(some, STAGE), strict=True)
        yield _weighed(found, base, [choice for choice in choices if choice[1].hash() in known], known)
    yield _weighed(found, base, choices, known)


def _weighed(found: Known, base: Design, choices: list[tuple[list[str], Design]], known: dict[str, Known]) -> Weighed:
    return Weighed(
        [_worth(found, base, *choice, known) for choice in choices],
        [(fields, known[other.hash()]) for fields, other in choices if other.hash() in known],
    )


def simplest(found: Known, base: Design, judge: Judge, until: float | None) -> Iterator[tuple[Known, list[Worth]]]:
    """Yield the design with fewer and fewer choices, and what each is worth.

    In each round as many of the choices that are worth least go back as the margin of the score allows.
    The last pair is the result; what is yielded before is what is known so far, after each batch of
    simulations. Once the time `until` is up, choices go back for one round and no more.
    """
    price, score = judge.price, judge.score
    best = found

    def is_good(one: Known) -> bool:
        return may_replace(one, best, judge) and judge.allowed(one)

    for turn in range(ROUNDS):
        weighed = Weighed([], [])
        for weighed in weigh(found, base, judge):
            yield found, weighed.worth
        free = sorted(
            ((fields, one) for fields, one in weighed.without if is_good(one)), key=lambda pair: score(pair[1])
        )
        late = turn > 0 and until is not None and time.monotonic() >= until
        if not free or late or turn == ROUNDS - 1:
            return
        counts = sorted({round(len(free) * part / TOGETHER) for part in range(1, TOGETHER + 1)} - {0, 1})
        sets = [
            _without(found.design, base, [name for fields, _ in free[:count] for name in fields]) for count in counts
        ]
        legal = [other for _, other in sets if other.why_not_valid() is None]
        joint = price(judge.affordable(legal), STAGE)
        good = [free[0][1], *(one for one in joint if is_good(one))]
        found = min(good, key=lambda one: (len(_differing(one.design, base)), score(one)))


def _worth(found: Known, base: Design, fields: list[str], other: Design, known: dict[str, Known]) -> Worth:
    without = known.get(other.hash())
    ratios: Floats = without.ratios / found.ratios if without else np.empty(0)
    gains = dict(zip(OBJECTIVES, ratios.tolist(), strict=False))
    return Worth(fields, _words(found.design, base, fields), _words(base, found.design, fields), gains)


def _words(design: Design, other: Design, fields: Sequence[str]) -> str:
    """Return the values of the fields in few words: of a policy's numbers those unlike the other's."""
    words: list[str] = []
    if {*fields} & {*CLASSES}:
        words.append(f"{len(design.sizes)} classes to {design.sizes[-1]}, slabs of {design.slab_bytes}")
    if {*fields} & {*FRONTS}:
        kinds = sorted({str(design.front_of(size).__struct_config__.tag) for size in design.sizes})
        words.append(f"{' and '.join(kinds)}, {1 + len(design.class_front)} settings")
    words += [_value_words(design, other, field) for field in fields if field not in (*CLASSES, *FRONTS)]
    return " with ".join(words)


def _value_words(design: Design, other: Design, field: str) -> str:
    value, beside = getattr(design, field), getattr(other, field)
    if value is None:
        return str(design.row(field).NAME) if field in policy.TABLES else "none"
    if not isinstance(value, msgspec.Struct):
        return str(value)
    known = msgspec.to_builtins(beside) if type(beside) is type(value) else {}
    numbers = {name: one for name, one in msgspec.to_builtins(value).items() if name != "kind" and one is not None}
    return " ".join(
        [str(design.row(field).NAME), *(f"{name} {one}" for name, one in numbers.items() if known.get(name) != one)]
    )
