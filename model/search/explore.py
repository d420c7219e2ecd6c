"""The search over policies: single choices away from the front's designs, guessed first, then priced."""

import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice

import numpy as np

from heapsmith.model.design.design import Design
from heapsmith.model.search.choice import (
    NO_LIMITS,
    ROUNDING,
    WEIGHTS,
    WORST,
    Favour,
    Limits,
    chosen,
    scores,
    wanted,
    weights_of,
)
from heapsmith.model.search.evaluate import Evaluator
from heapsmith.model.search.exact import BUDGETS, Exact
from heapsmith.model.search.guess import Features, Guess
from heapsmith.model.search.known import BATCH as BATCH
from heapsmith.model.search.known import FEWEST, FEWEST_LOOKS, LOOKED_EVENTS, LOOKS
from heapsmith.model.search.known import Budget as Budget
from heapsmith.model.search.known import Known as Known
from heapsmith.model.search.outcome import OBJECTIVES, Outcome
from heapsmith.model.search.pareto import Floats, Volume, hypervolume, nondominated
from heapsmith.model.search.picks import FAVOURITES, TURNS, picked
from heapsmith.model.search.space import crossed, drawn, is_followed, joined, needs_time, neighbours, tokens
from heapsmith.model.search.starts import Starts

HOPE = 1.5
"""By how many standard deviations."""

CROSSINGS, JOINED = 24, 48
"""Designs per round that mix two of the front; and that join good choices of its best design."""

DRAWN, RATE = 24, 0.15
"""Designs per round that differ from one of the front in this share of all choices, at random."""

GOOD, MOST_JOINED = 16, 5
"""The number of the best single choices of which some are joined, and the most that are."""

STILL, STILL_ROUNDS = 1e-4, 4
"""A number of rounds with guessed gains of volume below this ends the search, once the front has no neighbour
that was not looked at.
"""

APART = 8
"""Of this many simulations, one is of a design with which threads share fewer lines, to begin with."""


class Explorer:
    """The designs of a search.

    known: those that were priced, by hash; the base is the first. p999_ns: of all known designs
    on each trace, where p99.9 is an objective of the front. favour: by whose weights and limits (the largest
    ratios that the choice may have) designs are judged; what is priced does not depend on it. allows: further
    judges of what is allowed. until: from then on nothing is `affordable` that is not known. reference: the ratios
    from which volumes are measured. batch: designs that are priced together. operations: of all traces. timed: further
    traces, which the search does not see, have time stamps.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        exact: Exact,
        *,
        favour: Favour,
        huge_pages: bool,
        seed: int,
        timed: bool = True,
        batch: int = BATCH,
        asked: Limits = NO_LIMITS,
    ) -> None:
        self._evaluator, self._exact, self.asked, self.batch = evaluator, exact, asked, batch
        self._draw = random.Random(seed)
        self.known: dict[str, Known] = {}
        self._given = 0  # of them, those that earlier searches priced
        self.p999_ns: dict[str, list[float]] = {}
        self._waiting: dict[str, Design] = {}  # looked at, not priced
        self._glances: dict[str, Floats] = {}
        self._features: dict[str, Features] = {}
        self._expanded: dict[str, None] = {}
        self._looked: dict[str, Design] = {}
        self._parent: dict[str, str] = {}  # of designs one choice away from another
        self.base, self.sources = evaluator.base, evaluator.bench.sources
        processors = all(source.tells_processors for source in self.sources)
        release = any(source.tells_release for source in self.sources)
        self._free = {"huge_pages": huge_pages, "processors": processors, "release": release}
        self._starts = Starts(self.base, exact, self._free)
        self._timed = timed and all(source.tells_time for source in self.sources)
        events = sum(source.events for source in self.sources)
        self.operations = sum(source.operations for source in self.sources)
        self._looks = max(FEWEST_LOOKS, min(LOOKS, LOOKED_EVENTS // events)) * batch // BATCH
        self._base_glance = evaluator.glanced([self.base], "the base")[0]
        self._base_outcomes = evaluator.priced([self.base], "the base")[0]
        self._take([self.base], [self._base_outcomes], "the base")
        self.favour, self._turn = favour, 0
        self.allows: list[Callable[[Known], bool]] = []
        self.until: float | None = None
        self._of_trace = [source.weight for source in self.sources]
        self._weights = {one: weights_of(one, self._base_outcomes, self._of_trace) for one in WEIGHTS}
        self._screen([self.base])
        self.reference = np.full(len(OBJECTIVES), WORST)
        self._most = {one: np.full(len(OBJECTIVES), np.inf) for one in WEIGHTS}

    @property
    def weights(self) -> Floats:
        """The weights of the score."""
        return self._weights[self.favour]

    @property
    def limits(self) -> Floats:
        """The largest ratios that the choice may have."""
        return self._most[self.favour]

    def limit(self, most: Floats | None = None) -> None:
        """Set the limits: those that were asked for, by favour, or the same for all."""
        asked, base = self.asked, self._base_outcomes
        self._most = {
            one: asked.ratios(base, self._of_trace, one) if most is None else np.asarray(most) for one in WEIGHTS
        }

    def no_more_than(self, found: Known, favour: Favour) -> Callable[[Known], bool]:
        """Return what allows designs that take no more of what this favour wants least of."""

        def of(one: Known) -> float:
            return wanted(favour, one.outcomes, self._base_outcomes, self._of_trace)

        most = of(found) + ROUNDING
        return lambda one: of(one) <= most

    def take_up(self, earlier: Iterable[Design], max_classes: int) -> None:
        """Know the designs that earlier searches priced, where this one may answer with them; no budget counts them."""
        designs = [one for one in earlier if self._usable(one) and self._starts.reach(one, max_classes)]
        before = len(self.known)
        self.price(designs, "earlier searches")
        self._given = len(self.known) - before

    def search(self, budget: Budget) -> None:
        """Look for better designs until the budget is spent or nothing better is to be expected."""
        fresh = self._starts.designs()
        self._screen(islice(self._new(fresh), self._looked_in(budget)))
        bench = self._evaluator.bench
        apart = list(filter(self._usable, self._starts.threads_apart(bench)))
        share = self.batch if budget.simulations is None else min(self.batch, budget.simulations // APART)
        if apart := apart[: budget.left(self.met(), share)]:
            self._screen(apart)
            self.price(apart, "threads apart")
        still = 0
        # The first simulations are free: a busy machine may spend the time before them.
        while still < STILL_ROUNDS:
            count = budget.left(self.met(), self.batch, self.took_s()) or FEWEST * (self.met() == 1)
            if not count:
                return
            gain = self._price(count)
            looks = self._looked_in(budget)
            random = list(islice(self._new(chain(self._drawn(), self._joined())), looks // 2))
            room = looks - len(random)
            near = list(islice(self._new(fresh), room))
            if len(near) < room:
                fresh = self._children(self._parents())
                near += islice(self._new(fresh), room - len(near))
            still = 0 if near or gain >= STILL else still + 1
            self._screen([*random, *near])
            self._evaluator.write()

    def took_s(self) -> float:
        """Return about how many seconds a simulation takes."""
        return self._evaluator.took_s("outcome") + self._evaluator.took_s("p999")

    def affordable(self, designs: Sequence[Design]) -> list[Design]:
        """Return the designs that are known, and as many others as may be priced before `until`."""
        new = [one for one in designs if one.hash() not in self.known]
        beyond = {one.hash() for one in new[Budget(self.until, None).left(0, len(new), self.took_s()) :]}
        return [one for one in designs if one.hash() not in beyond]

    def _looked_in(self, budget: Budget) -> int:
        """Return how many designs to look at: fewer if a batch and as many looks as usual end too late."""
        looks = self._looks * self._evaluator.took_s("glance")
        return int(self._looks * budget.part(looks + self.batch * self.took_s()))

    def met(self) -> int:
        """Return how many designs this search has come to and priced."""
        return len(self.known) - self._given

    def _new(self, designs: Iterable[Design]) -> Iterator[Design]:
        """Yield the designs that were not looked at and that every trace can be simulated with."""
        return filter(self._usable, (design for design in designs if design.hash() not in self._glances))

    def _usable(self, design: Design) -> bool:
        """Return whether every trace can be simulated with it, and tells what its waits and kept pages cost."""
        waits = self._evaluator.bench.cores is None or is_followed(design)
        kept = self._free["release"] or design.release == self.base.release
        return waits and kept and (self._timed or not needs_time(design))

    def front(self) -> list[Known]:
        """Return the designs that no other dominates."""
        every, points = list(self.known.values()), np.array([one.ratios for one in self.known.values()])
        if self.asked.follows_p999:
            points = np.column_stack([points, [max(self.p999_ns[name]) for name in self.known]])
        return [every[index] for index in nondominated(points)]

    def volume(self) -> float:
        """Return the volume that the front dominates."""
        return hypervolume(np.array([one.ratios for one in self.front()]), self.reference)

    def price(self, designs: Sequence[Design], stage: str) -> list[Known]:
        """Simulate these designs; they count as known."""
        self._take(designs, self._evaluator.priced(designs, stage), stage)
        return [self.known[design.hash()] for design in designs]

    def allowed(self, one: Known) -> bool:
        """Say whether a known design is within all limits: of means, of each trace, and further ones."""
        within = bool((one.ratios <= self.limits + ROUNDING).all()) and self.asked.allow_bytes(one.outcomes)
        within = within and self.asked.allow_p999(self.p999_ns.get(one.design.hash(), []))
        return within and all(allows(one) for allows in self.allows)

    def near(self, found: Known) -> dict[str, Design]:
        """Return all designs one choice away, by hash, with which every trace can be simulated."""
        busy = self._exact.busy(found.design)
        near = [*neighbours(found.design, busy, **self._free), *self._reshaped(found.design)]
        return {one.hash(): one for one in filter(self._usable, near)}

    def promising(self, near: dict[str, Design], budget: Budget) -> list[Design]:
        """Return a batch of designs that were not priced, those of the best guessed score first.

        Where not all can be looked at in half of the time that the budget has left, some of all kinds are.
        """
        if not budget.left(self.met(), self.batch):
            return []
        new = [design for name, design in near.items() if name not in self._glances]
        looks = math.ceil(len(new) * budget.part(2 * len(new) * self._evaluator.took_s("glance")))
        self._screen(new[place * len(new) // looks] for place in range(looks))
        count = budget.left(self.met(), self.batch, self.took_s())
        names = [name for name in near if name not in self.known and name in self._glances]
        if not names:
            return []
        glances = np.array([self._glances[name] for name in names])
        points = self._guess()([self._features[name] for name in names], glances)
        order = np.argsort(self._merit(points, self.favour), kind="stable")[:count].tolist()
        return [near[names[index]] for index in order]

    def _children(self, parents: Sequence[Known]) -> Iterator[Design]:
        """Return the designs a choice away from the parents, and mixtures of the front's, in any order."""
        children = list(self._near(parents))
        self._draw.shuffle(children)
        return iter(children)

    def _near(self, parents: Sequence[Known]) -> Iterator[Design]:
        for parent in parents:
            design = parent.design
            self._expanded[design.hash()] = None
            near = [*neighbours(design, self._exact.busy(design), **self._free), *self._reshaped(design)]
            self._parent |= {one.hash(): design.hash() for one in near if one.hash() not in self._parent}
            yield from near
        if parents:
            yield from self._mixtures(self.front())

    def _reshaped(self, design: Design) -> Iterator[Design]:
        """Yield the design with other capacities, and with the classes of other slab sizes or limits."""
        yield from filter(None, (self._exact.fronted(design, part) for part in BUDGETS))
        shapes = list(self._exact.shapes())
        now = min((limit for _, limit in shapes), key=lambda limit: abs(limit - design.sizes[-1]))
        near = [shape for shape in shapes if shape[1] == now or shape[0] == design.slab_bytes]
        for shape in near:
            if shaped := self._exact.shaped(design, *shape):
                yield shaped
        yield from self._exact.retuned(design, BUDGETS, near)

    def _mixtures(self, front: Sequence[Known]) -> Iterator[Design]:
        """Yield designs that have each choice of one of two."""
        for _ in range(CROSSINGS):
            one, other = self._draw.choice(front), self._draw.choice(front)
            if one is not other and (mixed := crossed(one.design, other.design, self._draw)):
                yield mixed

    def _drawn(self) -> Iterator[Design]:
        """Yield members of the front with some choices at random, and the capacities for them."""
        front, shapes = self.front(), list(self._exact.shapes())
        for _ in range(DRAWN):
            design = drawn(self._draw.choice(front).design, self._draw, rate=RATE, **self._free)
            if self._draw.random() < 0.5:
                design = self._exact.shaped(design, *self._draw.choice(shapes)) or design
            yield self._exact.fronted(design, self._draw.choice(BUDGETS)) or design

    def _joined(self) -> Iterator[Design]:
        """Yield the best expanded designs with several of the choices that are guessed to gain, together."""
        names = [name for name in self._expanded if name in self.known]
        points = np.array([self.known[name].ratios for name in names])
        front = [names[index] for index in nondominated(points)] if names else []
        weights = self._weights[self._on_turn()]
        for name in sorted(front, key=lambda name: float(scores(self.known[name].ratios[None], weights)[0]))[:2]:
            design = self.known[name].design
            near = [one for one, parent in self._parent.items() if parent == name and one in self._glances]
            if len(near) < GOOD:
                continue
            glances = np.array([self._glances[one] for one in near])
            guessed = self._guess()([self._features[one] for one in near], glances)
            order = np.argsort(scores(guessed, weights), kind="stable")[:GOOD].tolist()
            good = [self._looked[near[index]] for index in order]
            for _ in range(JOINED // 2):
                some = self._draw.sample(good, self._draw.randint(2, MOST_JOINED))
                if (made := joined(design, some)) is not None:
                    yield made

    def score(self, one: Known) -> float:
        """Return the score of a known design."""
        return float(scores(one.ratios[None], self.weights)[0])

    def _on_turn(self) -> Favour:
        return TURNS[self._turn % len(TURNS)]

    def _parents(self) -> list[Known]:
        """Return the next designs to vary: the best by the score on turn, and the one that adds most volume."""
        weights, most = self._weights[self._on_turn()], self._most[self._on_turn()]
        self._turn += 1
        inside = [one for one in self.front() if (one.ratios < self.reference).all()]
        front = [one for one in inside if one.design.hash() not in self._expanded]
        if not front:
            return []
        points = np.array([one.ratios for one in front])
        quick = [self.asked.allow_p999(self.p999_ns.get(one.design.hash(), [])) for one in front]
        best = chosen(np.where(np.array(quick)[:, None], points, np.inf), most, weights)
        best = int(np.argmin(scores(points, weights))) if best is None else best
        volume = Volume(points.min(axis=0), self.reference, 1)
        volume.cover(np.array([one.ratios for one in inside if one.design.hash() in self._expanded]))
        volume.cover(points[[best]])
        other = int(np.argmax(volume.gains(points)))
        return [front[index] for index in dict.fromkeys((best, other))]

    def _screen(self, designs: Iterable[Design]) -> None:
        """Glance at new designs."""
        new = {name: design for design in designs if (name := design.hash()) not in self._glances}
        found = self._evaluator.glanced(list(new.values()), "looking at designs")
        for (name, design), glances in zip(new.items(), found, strict=True):
            self._looked[name] = design
            self._glances[name] = np.maximum(self._evaluator.ratios(glances, self._base_glance), 1e-6)
            shares: Features = {}
            for glance in glances:
                for kind, share in glance.fronts.items():
                    shares[f"front={kind}"] = shares.get(f"front={kind}", 0.0) + share / len(glances)
            self._features[name] = tokens(design, self.base) | shares
            if name not in self.known:
                self._waiting[name] = design

    def _take(self, designs: Sequence[Design], outcomes: Sequence[list[Outcome]], stage: str) -> None:
        if self.asked.follows_p999:
            timed = self._evaluator.p999_ns(designs, stage)
            self.p999_ns |= zip((design.hash() for design in designs), timed, strict=True)
        for design, found in zip(designs, outcomes, strict=True):
            ratios = self._evaluator.ratios(found, self._base_outcomes)
            self.known[design.hash()] = Known(design, found, ratios)
            self._waiting.pop(design.hash(), None)

    def _price(self, count: int) -> float:
        """Price the most promising designs; return the guessed gain of volume of the best of them."""
        if not self._waiting:
            return 0.0
        names = list(self._waiting)
        guess = self._guess()
        known = [self._features[name] for name in names], np.array([self._glances[name] for name in names])
        points, hoped = guess(*known), guess(*known, HOPE)
        front = np.array([one.ratios for one in self.front()])
        best = np.minimum(np.vstack([hoped, front]).min(axis=0), self.reference - 1e-9)
        volume = Volume(best, self.reference, len(self.known))
        volume.cover(front)
        late = self._late(known[0])
        merits = [self._merit(points, favour) + late for favour in FAVOURITES]
        some, gained = picked(count, points, hoped, merits, volume)
        self.price([self._waiting[names[index]] for index in some], "pricing designs")
        return gained

    def _merit(self, points: Floats, favour: Favour) -> Floats:
        """Return the scores by a favour; those beyond its limits come behind all others."""
        return scores(points, self._weights[favour]) + (points > self._most[favour]).any(axis=1)

    def _late(self, features: Sequence[Features]) -> Floats:
        """Return 1 for designs whose p99.9 is guessed beyond its limit, by the choices of those timed; else 0."""
        if self.asked.p999_ns is None:
            return np.zeros(len(features))
        names = [name for name in self.p999_ns if name in self._features]
        known = np.array([[max(1.0, *self.p999_ns[name])] for name in names])
        guess = Guess([self._features[name] for name in names], np.ones((len(names), 1)), known)
        guessed = guess(features, np.ones((len(features), 1)))
        return np.asarray((guessed[:, 0] > self.asked.p999_ns).astype(np.float64))

    def _guess(self) -> Guess:
        names = [name for name in self.known if name in self._glances]
        return Guess(
            [self._features[name] for name in names],
            np.array([self._glances[name] for name in names]),
            np.array([np.maximum(self.known[name].ratios, 1e-6) for name in names]),
        )
