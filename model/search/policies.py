"""Policies for large blocks and pages: successive halving over designs, each pull on a slice of a trace.

K. Jamieson and A. Talwalkar, "Non-stochastic best arm identification and hyperparameter
optimization", AISTATS 2016: all arms are pulled, the better half goes on to twice as many pulls. A
pull continues a design's own simulation. So a slice begins with the heap that the design has there,
and no free is of an unknown block.
"""

import random
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import msgspec

from heapsmith.model.design.design import Design, ask_sites, changed
from heapsmith.model.design.toml import Reason
from heapsmith.model.errors import BadInput, printable
from heapsmith.model.memory.hardware import Hardware
from heapsmith.model.predict.simulate import Follower, Operations, Progress, feed_chunks, simulation, warmed
from heapsmith.model.predict.times import priced
from heapsmith.model.search.choice import WEIGHTS, scores
from heapsmith.model.search.outcome import OBJECTIVES, huge_ahead, ratios
from heapsmith.model.trace.reader import TraceReader

ARMS = 16
"""Designs to draw, unless the caller says otherwise."""

CHOICES: dict[str, tuple[Any, ...]] = {
    "release": (
        {"kind": "keep"},
        {"kind": "budget"},
        {"kind": "budget", "slab_budget_bytes": 1 << 20, "run_budget_bytes": 1 << 18, "most_budget_bytes": 1 << 23},
        {"kind": "delay", "delay": 64},
        {"kind": "delay", "delay": 1024},
    ),
    "run_cache_bytes": (0, 1 << 18, 1 << 22),
    "huge_bytes": (1 << 18, 1 << 20, 1 << 23),
    "huge_cache": (None, {"kind": "delayed"}, {"kind": "delayed", "kept_bytes": 1 << 27, "slack_percent": 50}),
    "populate": (None, {"kind": "batches", "pages": 16}),
    "thp": ("system", "never", "grown"),
}
"""The values of the fields that an arm draws; all else is the base's."""


class Pull(msgspec.Struct, frozen=True):
    """A design on a slice of the trace; bytes unless the name says otherwise.

    cost: of the trace up to the slice's end, time and memory in parts of the base's (choice.scores).
    stays: whether the design goes on to the next slice.
    """

    round: int
    first_event: int
    end_event: int
    design: str
    allocator_ns: float
    committed_peak: int
    cost: float
    stays: bool


class Policies(msgspec.Struct, frozen=True):
    """The chosen design, every design that was tried by name, and the log of all pulls."""

    design: Design
    kept_base: bool
    seed: int
    reasons: list[Reason]
    arms: dict[str, dict[str, Any]]
    pulls: list[Pull]


class Arm:
    """A design with its simulation up to the end of the last slice."""

    def __init__(self, design: Design, fields: dict[str, Any], hardware: Hardware) -> None:
        self.design, self.fields, self._hardware = design, fields, hardware
        self.simulator = warmed(design, hardware)
        self.figures = (0.0,) * len(OBJECTIVES)
        self.peak = 0

    def measure(self, operations: int) -> float:
        """Take over what the simulation has found so far; return the allocator's time of the last slice."""
        found = simulation(self.simulator, operations, self._hardware)
        assert found.price is not None
        assert found.touches is not None
        before, memory = self.figures[0], found.touches
        ns = found.price.allocator_ns_per_op * operations
        sizes = memory.resident_peak, memory.resident_average, memory.resident_bytes
        ahead = huge_ahead(self.simulator.plan, found)
        self.figures = (ns, *(size + ahead for size in sizes))
        self.peak = found.committed_peak
        return ns - before

    def cost(self, base: "Arm") -> float:
        """Return the score of OBJECTIVES, balanced: a weighted geometric mean of ratios to the base."""
        return float(scores(ratios(self.figures, base.figures)[None], WEIGHTS["balanced"])[0])


def choose_policies(
    trace: Path,
    *,
    base: Design,
    hardware: Hardware,
    name: str,
    arms: int = ARMS,
    seed: int = 1,
    progress: Progress | None = None,
) -> Policies:
    """Return the design of least cost among `base` and `arms` designs drawn by `seed`.

    The base is pulled on every slice, as the measure of the others. Reads the trace once. Raises
    BadInput for hardware without costs, arms out of range, and a damaged or too short trace.
    """
    priced(hardware)
    if arms < 2:
        raise BadInput(f"arms: {arms}; expected 2 or more")
    drawn = draw(base, arms, seed, name)
    reference = Arm(base, {}, hardware)
    running = [Arm(design, fields, hardware) for design, fields in drawn]
    every = {arm.design.name: arm.fields for arm in running}
    pulls: list[Pull] = []
    with TraceReader(trace, sited=ask_sites([base])) as reader:
        operations = Operations()
        for number, (first, end) in enumerate(slices(reader.footer.events, len(running))):
            followers: list[Follower] = [operations, *(arm.simulator for arm in (reference, *running))]
            stage = f"round {number + 1}, {len(running)} designs"
            feed_chunks(reader.part(first, end), followers, stage, progress, end - first)
            spent = {arm.design.name: arm.measure(operations.count) for arm in (reference, *running)}
            ranked = sorted(running, key=lambda arm: arm.cost(reference))
            running = ranked[: (len(ranked) + 1) // 2]
            pulls += [
                Pull(
                    *(number + 1, first, end, arm.design.name, spent[arm.design.name], arm.peak),
                    *(arm.cost(reference), arm in (reference, *running)),
                )
                for arm in (reference, *ranked)
            ]
    best = running[0] if running[0].cost(reference) < reference.cost(reference) else reference
    kept = best is reference
    design = msgspec.structs.replace(best.design, name=name)
    if not kept:
        design = msgspec.structs.replace(design, about=f"Policies for {printable(trace.name)} from {base.name}")
    return Policies(design, kept, seed, [_why(best, reference, len(every), seed)], every, pulls)


def _why(best: Arm, reference: Arm, arms: int, seed: int) -> Reason:
    if best is reference:
        why = f"The base, because none of {arms} designs drawn by seed {seed} costs less on the whole trace."
        return Reason("policies", "base", why)
    fields = ", ".join(f"{field} = {value}" for field, value in best.fields.items())
    ms, before = best.figures[0] / 1e6, reference.figures[0] / 1e6
    why = (
        f"The cheapest of {arms} designs drawn by seed {seed}: {fields}. The allocator takes {ms:.2f} ms instead of "
        f"{before:.2f}, and {best.peak:,} bytes are committed at the peak instead of {reference.peak:,}."
    )
    return Reason("policies", best.design.name, why, {"cost": best.cost(reference)})


def draw(base: Design, arms: int, seed: int, name: str) -> list[tuple[Design, dict[str, Any]]]:
    """Return up to `arms` different legal designs, with the values of CHOICES that each has."""
    every = [dict(zip(CHOICES, values, strict=True)) for values in product(*CHOICES.values())]
    random.Random(seed).shuffle(every)
    found: dict[str, tuple[Design, dict[str, Any]]] = {}
    for fields in every:
        if len(found) == arms:
            break
        try:
            design = changed(base, f"{name}-{len(found) + 1}", fields)
        except BadInput:
            continue
        if design.hash() != base.hash():
            found.setdefault(design.hash(), (design, fields))
    return list(found.values())


def slices(events: int, arms: int) -> Iterator[tuple[int, int]]:
    """Yield the first event and the end of each round's slice; each is twice as long as the one before."""
    rounds = max(1, (arms - 1).bit_length())
    parts = (1 << rounds) - 1
    if events < parts:
        raise BadInput(f"the trace has {events} events; expected {parts} or more for {arms} designs")
    for number in range(rounds):
        yield events * ((1 << number) - 1) // parts, events * ((2 << number) - 1) // parts
