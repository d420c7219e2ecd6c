"""Segregation of the call sites that pin the most bytes: tried on the choice, kept if traces held out confirm it."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import msgspec
import numpy as np

from heapsmith.model.design.design import Design
from heapsmith.model.design.toml import Reason
from heapsmith.model.search.choice import Favour, scores
from heapsmith.model.search.evaluate import Evaluator
from heapsmith.model.search.explore import Known
from heapsmith.model.search.outcome import OBJECTIVES
from heapsmith.model.search.pareto import Floats
from heapsmith.model.search.pins import groups_to_try, pins_of
from heapsmith.model.search.source import Source
from heapsmith.model.search.worth import MARGIN, Worth

STAGE = "call sites"
MEMORY = slice(1, 3)
"""The objectives peak and average, one of which must gain."""


class Segregated(msgspec.Struct, frozen=True):
    """What came of it: tried segregations, and the best of them by the score.

    sites, sizes: how many call sites are apart for blocks of these sizes. ratios: of OBJECTIVES to
    the design without, on the traces of the search; held_out: on those held out, empty where the
    traces of the search saw no gain. kept: the design has it.
    """

    tried: int
    sites: int
    sizes: list[int]
    ratios: dict[str, float]
    held_out: dict[str, float]
    kept: bool


class Judge(Protocol):
    """What prices designs, and says which are allowed and how good they are: an Explorer."""

    operations: int
    sources: Sequence[Source]
    known: dict[str, Known]

    def price(self, designs: Sequence[Design], stage: str) -> list[Known]: ...

    def allowed(self, one: Known) -> bool: ...

    def score(self, one: Known) -> float: ...


class Tried(NamedTuple):
    """The choice, and what is to be said of it: worth is empty where nothing is kept."""

    found: Known
    segregated: Segregated
    worth: list[Worth]


def why_not_tried(base: Design, sources: Sequence[Source], held: Sequence[Source]) -> str | None:
    """Return why no segregation is to be tried, or None."""
    if base.segregation is not None:
        return "the base has its own"
    if not held:
        return "no trace is held out to confirm it"
    lacking = next((one for one in (*sources, *held) if one.footer.stacks is None), None)
    return f"{lacking.path.name} has no call stacks" if lacking else None


def segregated(found: Known, judge: Judge, held: Evaluator, favour: Favour) -> Tried | None:
    """Return the choice with the best segregation, or as it is; None if no call site pins anything.

    It must gain more than the margin in the score and in peak or average bytes on the traces of the
    search, and the same in peak or average on the traces held out, where the score must not be worse.
    """
    tried = [
        design
        for params in groups_to_try(pins_of(found.design, judge.sources))
        if (design := msgspec.structs.replace(found.design, segregation=params)).why_not_valid() is None
    ]
    if not tried:
        return None
    priced = judge.price(tried, STAGE)
    gaining = [one for one in priced if judge.allowed(one) and _gains(one.ratios / found.ratios, judge.operations)]
    best = min(gaining or priced, key=judge.score)
    here, there = best.ratios / found.ratios, np.empty(0)
    kept = False
    if gaining and judge.score(best) < judge.score(found) * (1 - _margin(judge.operations)):
        there = _held_out(held, found.design, best.design)
        operations = sum(source.operations for source in held.bench.sources)
        kept = _gains(there, operations) and bool(scores(there[None], favour)[0] <= 1)
    for one in priced:  # what no held-out trace has confirmed is no result of the search
        if not kept or one is not best:
            judge.known.pop(one.design.hash(), None)
    return Tried(best if kept else found, _said(best.design, len(tried), here, there, kept), _worth(best, here, kept))


def _margin(operations: int) -> float:
    return float(max(MARGIN, operations**-0.5))


def _gains(ratios: Floats, operations: int) -> bool:
    return bool(ratios[MEMORY].min() < 1 - _margin(operations))


def _held_out(held: Evaluator, without: Design, design: Design) -> Floats:
    """Return the ratios of a design to the same without segregation on the traces held out."""
    with held.workers:
        before, after = held.priced([without, design], f"{STAGE}, held out")
    held.write()
    return held.ratios(after, before)


def _named(ratios: Floats) -> dict[str, float]:
    return dict(zip(OBJECTIVES, ratios.tolist(), strict=True)) if len(ratios) else {}


def _said(design: Design, tried: int, here: Floats, there: Floats, kept: bool) -> Segregated:
    (group,) = design.segregation.groups  # type: ignore[union-attr]
    return Segregated(tried, len(group.sites), group.sizes, _named(here), _named(there), kept)


def _worth(best: Known, here: Floats, kept: bool) -> list[Worth]:
    if not kept:
        return []
    (group,) = best.design.segregation.groups  # type: ignore[union-attr]
    return [Worth(["segregation"], f"{len(group.sites)} sites, {len(group.sizes)} sizes", "off", _named(1 / here))]


def why_segregated(said: Segregated) -> str:
    """Return in words what the segregation is worth, or why there is none."""
    sizes = ", ".join(map(str, said.sizes))
    what = f"{said.sites} call sites apart for blocks of {sizes} bytes"
    gains = f"peak {said.ratios['peak'] - 1:+.1%}, average {said.ratios['average'] - 1:+.1%}"
    if said.kept:
        held = f"peak {said.held_out['peak'] - 1:+.1%}, average {said.held_out['average'] - 1:+.1%}"
        return f"{what}: {gains}, and on what was held out {held}. The sites are those of these builds of the files."
    refuted = "the traces held out do not confirm it" if said.held_out else "that is no gain"
    return f"Of {said.tried} tried, the best keeps {what}: {gains}; {refuted}"


def reason_of(said: Segregated) -> Reason:
    """Return the comment beside the field of a design that keeps its segregation."""
    figures: dict[str, int | float] = {f"held_out_{name}": ratio for name, ratio in said.held_out.items()}
    return Reason("segregation", f"{said.sites} call sites", why_segregated(said), figures)
