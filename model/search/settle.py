"""The end of a search: the best design that is allowed, better than all designs one choice away, in few choices."""

import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from heapsmith.model.errors import CheckFailed
from heapsmith.model.search.choice_worth import Worth, simplest
from heapsmith.model.search.explore import Budget, Explorer, Known
from heapsmith.model.search.unseen import Binding

MOST_REFUSED = 64
"""The most designs that unseen traces may refuse, the best first, before the base is asked."""


class Near(msgspec.Struct, frozen=True):
    """The designs one choice away from the best: how many there are, and how many of them were simulated."""

    designs: int = 0
    simulated: int = 0


class Settled(NamedTuple):
    """The design so far, what its choices are worth, and what is known of those one choice away."""

    found: Known
    worth: list[Worth]
    near: Near


def choice(explorer: Explorer, binding: Binding | None) -> Known:
    """Return the design of the least score within the limits; CheckFailed if none is within them."""
    every = list(explorer.known.values())
    seen = explorer.allows
    explorer.allows = [one for one in seen if one is not binding]
    within = sorted((one for one in every if explorer.allowed(one)), key=explorer.score)
    explorer.allows = seen
    if not within:
        raise _beyond(explorer, every)
    if binding is None:
        return within[0]
    base = explorer.known[explorer.base.hash()]
    tried = [*within[:MOST_REFUSED], *([base] if base in within[MOST_REFUSED:] else [])]
    for first in range(0, len(tried), explorer.batch):
        some = tried[first : first + explorer.batch] if first else tried[:1]
        binding.look([one.design for one in some])
        found = next((one for one in tried[first : first + explorer.batch] if binding(one)), None)
        if found is not None:
            return found
    raise binding.fail()


def _beyond(explorer: Explorer, every: Sequence[Known]) -> CheckFailed:
    least = np.min(np.array([one.ratios for one in every])[:, :2], axis=0)
    late = [max(one) for one in explorer.p999_ns.values()]
    return CheckFailed(
        f"no design within the limits: of {len(every)} simulated designs the fastest takes {least[0]:.3f}x of the "
        f"base's time, and the leanest {least[1]:.3f}x of its peak"
        + (f"; the least p99.9 is {min(late):.0f} ns" if late and explorer.asked.p999_ns is not None else "")
    )


def between(until: float | None, share: float) -> float | None:
    """Return the time at which a share of what is left until then is over."""
    now = time.monotonic()
    return None if until is None else now + share * (until - now)


def settled(explorer: Explorer, binding: Binding | None, budget: Budget, until: float | None) -> Iterator[Settled]:
    """Yield the choice, as it becomes better than its neighbours and then simpler; the last is the result.

    budget: of the simulations of neighbours. until: when choices go back for one round and no more.
    """
    best = choice(explorer, binding)
    yield Settled(best, [], Near())
    while True:
        near = Near()
        for one, near in _climbed(best, explorer, budget):
            best = one
            yield Settled(best, [], near)
        found, worth = best, list[Worth]()
        for found, worth in simplest(best, explorer.base, explorer, until):
            yield Settled(found, worth, near)
        if found.design.hash() == best.design.hash():
            return
        better, near = _better_near(found, explorer, budget, explorer.score(best))
        yield Settled(found, worth, near)
        if better is None:
            return
        best = better


def _climbed(best: Known, explorer: Explorer, budget: Budget) -> Iterator[tuple[Known, Near]]:
    """Yield better and better designs, each one choice away from the one before, until none is or the budget is up."""
    while True:
        better, near = _better_near(best, explorer, budget, explorer.score(best))
        yield better or best, near
        if better is None:
            return
        best = better


def _better_near(found: Known, explorer: Explorer, budget: Budget, score: float) -> tuple[Known | None, Near]:
    """Return a design one choice away that is allowed and has a better score, or None; and what was simulated."""
    near = explorer.near(found)
    better: list[Known] = []
    while not better:
        some = explorer.promising(near, budget)
        if some:
            explorer.price(some, "designs one choice away")
        known = [explorer.known[name] for name in near if name in explorer.known]
        better = [one for one in known if explorer.score(one) < score and explorer.allowed(one)]
        if not some:
            break
    known_count = sum(name in explorer.known for name in near)
    return min(better, key=explorer.score, default=None), Near(len(near), known_count)
