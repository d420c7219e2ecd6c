"""Findings: the choice on each trace beside the base, and the members of the Pareto front, as a search tells them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

import msgspec
import numpy as np

from heapsmith.model.design.design import Design
from heapsmith.model.memory import Part
from heapsmith.model.predict.ledgers import Ledgers
from heapsmith.model.search.choice import WORST, Favour, Limits, chosen, scores, weights_of
from heapsmith.model.search.explore import Explorer, Known
from heapsmith.model.search.outcome import OBJECTIVES, Outcome, ratios
from heapsmith.model.search.pareto import Floats, spread

MOST_SHOWN = 12
"""Designs of the front that stand for most of it."""

Figure = TypeVar("Figure")


class OnTrace(msgspec.Struct, frozen=True):
    """The base and the choice on a trace; held_out: the search did not see the trace.

    ratios: of OBJECTIVES to the base. regret: how much worse the choice's score is than that of the
    best known design for this trace alone, 0.02 for 2 %; None for a trace that was held out. p999_ns:
    of the base and of the choice, where asked for. ledgers: the same two; None if Ctrl-C came first.
    births: what the program is taken to write of a new block (Application).
    """

    trace: str
    weight: float
    held_out: bool
    before: Outcome
    after: Outcome
    ratios: dict[str, float]
    regret: float | None
    p999_ns: tuple[float, float] | None = None
    ledgers: tuple[Ledgers, Ledgers] | None = None
    births: Part = "all"


class Member(msgspec.Struct, frozen=True):
    """A design of the front: its ratios of OBJECTIVES to the base, and its score.

    shown: one of those that stand for most of the front, or the choice. p999_ns: the largest of the
    traces, where it is an objective.
    """

    design: Design
    hash: str
    ratios: dict[str, float]
    score: float
    shown: bool
    p999_ns: float | None


def named(points: Floats) -> dict[str, float]:
    """Return the values by name of OBJECTIVES."""
    return dict(zip(OBJECTIVES, points.tolist(), strict=True))


def on_traces(
    explorer: Explorer, found: Known, favour: Favour, limits: Limits, held_bytes: dict[str, list[Ledgers]]
) -> Iterator[OnTrace]:
    """Yield the choice on each trace, with its regret against the best known design for that trace."""
    base = explorer.known[explorer.base.hash()]
    pair = explorer.base, found.design
    for index, source in enumerate(explorer.sources):
        known = [
            ratios(one.outcomes[index].figures(), base.outcomes[index].figures())
            for one in explorer.known.values()
            if limits.allow_p999(explorer.p999_ns.get(one.design.hash(), [])[index : index + 1])
        ]
        points = np.array(known).reshape(-1, len(OBJECTIVES))
        most = limits.ratios([base.outcomes[index]], [1.0], favour)
        weights = weights_of(favour, [base.outcomes[index]], [1.0])
        alone = chosen(points, most, weights)
        here = ratios(found.outcomes[index].figures(), base.outcomes[index].figures())
        least = scores(points[[alone]], weights)[0] if alone is not None else 1.0
        regret = float(scores(here[None], weights)[0] / least - 1)
        yield OnTrace(
            trace=source.path.name,
            weight=source.weight,
            held_out=False,
            before=base.outcomes[index],
            after=found.outcomes[index],
            ratios=named(here),
            regret=regret,
            p999_ns=both(explorer.p999_ns, *pair, index),
            ledgers=both(held_bytes, *pair, index),
            births=source.application.births,
        )


def both(
    by_hash: Mapping[str, Sequence[Figure]], base: Design, design: Design, trace: int
) -> tuple[Figure, Figure] | None:
    """Return what is known of the base and of the design on a trace, or None if one is not known."""
    before, after = by_hash.get(base.hash()), by_hash.get(design.hash())
    return (before[trace], after[trace]) if before and after else None


def _shown(explorer: Explorer, found: Known) -> list[Design]:
    """Return the base, the choice, and the designs of the front that stand for most of it."""
    front = explorer.front()
    points = np.array([one.ratios for one in front])
    most = [front[index].design for index in spread(points, np.full(len(OBJECTIVES), WORST), MOST_SHOWN)]
    return list({one.hash(): one for one in (explorer.base, found.design, *most)}.values())


def members(explorer: Explorer, found: Known) -> list[Member]:
    """Return the front and the choice, the best score first."""
    front = explorer.front()
    if all(one.design.hash() != found.design.hash() for one in front):
        front.append(found)
    merit = scores(np.array([one.ratios for one in front]), explorer.weights).tolist()
    shown = {one.hash() for one in _shown(explorer, found)}
    late = {name: max(each) for name, each in explorer.p999_ns.items()}
    found_members = [
        Member(one.design, name, named(one.ratios), score, name in shown, late.get(name))
        for one, score in zip(front, merit, strict=True)
        if (name := one.design.hash())
    ]
    return sorted(found_members, key=lambda one: one.score)
