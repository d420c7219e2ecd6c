"""The search for the best design for traces: the front, the choice, and what each of its choices is worth."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec
import numpy as np

from heapsmith.model.design.design import MAX_CLASSES, Design
from heapsmith.model.design.toml import Reason
from heapsmith.model.errors import BadInput, CheckFailed, printable
from heapsmith.model.memory.hardware import Hardware, load_hardware
from heapsmith.model.predict.ledgers import Ledgers
from heapsmith.model.predict.simulate import Progress
from heapsmith.model.predict.times import priced
from heapsmith.model.search import MOST_CLASSES, reasons
from heapsmith.model.search.choice import WEIGHTS, WORST, Favour, Limits, chosen, scores
from heapsmith.model.search.evaluate import Evaluator, Spent
from heapsmith.model.search.exact import Exact
from heapsmith.model.search.explore import BATCH, Budget, Explorer, Known
from heapsmith.model.search.outcome import OBJECTIVES, Outcome, ratios
from heapsmith.model.search.pareto import Floats, spread
from heapsmith.model.search.segregate import NOT_TRIED, Segregated, weighed
from heapsmith.model.search.source import Source, sources_for
from heapsmith.model.search.workers import Bench, Hire, Runner, Workers
from heapsmith.model.search.worth import Worth

SECONDS = 20.0
"""The default budget for a trace of a million events that touch few lines; it grows with the root of the work."""

LEAST_SECONDS, MOST_SECONDS = 6.0, 120.0

SEARCH_SHARE = 0.8
"""The search's share of the time; the rest is for what each choice is worth."""

MOST_SHOWN = 12
"""Designs of the front that stand for most of it."""

Figure = TypeVar("Figure")


class Asked(NamedTuple):
    """What a user asks of the search. seconds: its wall time, None: by the trace's length;
    simulations: the most designs simulated with caches, in place of the time.

    max_overhead: the most bytes of idle blocks in fronts by the exact choice of capacities, as a
    fraction of the peak live bytes. huge_pages: the program touches all that it asks for, so that
    huge pages and populated pages are considered; they are too if each trace tells what was touched.
    latency: p99.9 is an objective of the front too, as with a limit of p99.9. patient: Ctrl-C ends
    the search with the best so far. resume: begin with the outcomes of earlier searches.
    """

    favour: Favour = "balanced"
    limits: Limits = Limits()
    max_overhead: float = 1.0
    max_classes: int = MOST_CLASSES
    huge_pages: bool = False
    latency: bool = False
    seconds: float | None = None
    simulations: int | None = None
    seed: int = 1
    resume: bool = False
    patient: bool = False
    jobs: int | None = None

    def timed(self) -> bool:
        """Say whether p99.9 is asked for."""
        return self.latency or self.limits.p999_ns is not None


USUAL = Asked()


class OnTrace(msgspec.Struct, frozen=True):
    """The base and the choice on a trace; held_out: the search did not see the trace.

    ratios: of OBJECTIVES to the base. regret: how much worse the choice's score is than that of the
    best known design for this trace alone, 0.02 for 2 %; None for a trace that was held out. p999_ns:
    of the base and of the choice, where asked for. ledgers: the same two; None if Ctrl-C came first.
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


class Member(msgspec.Struct, frozen=True):
    """A design of the front: its ratios of OBJECTIVES to the base, and its score by the favour.

    shown: one of those that stand for most of the front, or the choice. p999_ns: the largest of the
    traces, where it is an objective.
    """

    design: Design
    hash: str
    ratios: dict[str, float]
    score: float
    shown: bool
    p999_ns: float | None


class Tuned(msgspec.Struct, frozen=True):
    """The choice and the front, the best score first; before and after: on the first trace.

    The choice is in the front, although a design with a choice that is worth next to nothing may
    be better by so little. interrupted: Ctrl-C ended the search. segregated: what came of trying it, where it was.
    """

    design: Design
    kept_base: bool
    favour: Favour
    reasons: list[Reason]
    worth: list[Worth]
    before: Outcome
    after: Outcome
    traces: list[OnTrace]
    front: list[Member]
    spent: Spent
    seed: int
    interrupted: bool
    segregated: Segregated | None


def tune(
    trace: Path | Sequence[tuple[Path, float]],
    *,
    base: Design,
    name: str,
    asked: Asked = USUAL,
    hold_out: Sequence[Path] = (),
    hardware: Hardware | None = None,
    hire: Hire | None = None,
    progress: Progress | None = None,
) -> Tuned:
    """Return the design of least predicted time and memory for a trace, or for several with weights.

    The objectives are time and resident bytes, priced on `hardware` (default: the built-in
    machine). `hire` says who simulates (default: `asked.jobs` processes of this machine). With
    `asked.simulations` the result depends only on the other arguments. Raises BadInput for arguments
    out of range, hardware without costs, and a trace that is damaged, has no allocation, or lacks
    time stamps that the base needs.
    """
    check_arguments(base, asked, name)
    begin, machine = time.monotonic(), priced(hardware or load_hardware())
    sources, held = sources_for([(trace, 1.0)] if isinstance(trace, Path) else trace, hold_out, base)
    base = msgspec.structs.replace(base, name=name)
    hire = hire or partial(Workers, jobs=asked.jobs)
    evaluator_of = partial(Evaluator, base=base, resume=asked.resume, hire=hire, progress=progress)
    evaluator = evaluator_of(Bench(sources, machine))
    exact = Exact(sources, base, asked.max_classes, asked.max_overhead)
    with evaluator.workers:
        explorer = _explorer(evaluator, exact, asked, timed=all(one.tells_time for one in held))
        until = _until(begin, asked, sources)
        with _patience(asked, evaluator.workers) as searching:
            explorer.search(Budget(_share(begin, until), asked.simulations))
        until = time.monotonic() if searching.interrupted else until
        found, worth, tried = _choice(explorer, asked), list[Worth](), NOT_TRIED
        with _patience(asked, evaluator.workers) as weighing:
            for step in weighed(found, explorer, until, evaluator_of(Bench(held, machine)), asked.favour):
                found, worth, tried = step
        held_bytes = _held_bytes(evaluator, found.design, asked)
        evaluator.write()
    design = _titled(found.design, sources, base)
    traces, ended = _everywhere(explorer, found, asked, held_bytes, evaluator_of(Bench(held, machine)))
    return Tuned(
        design=design,
        kept_base=design.hash() == base.hash(),
        favour=asked.favour,
        reasons=[*_reasons(explorer, exact, design, asked, found, worth), *tried.reasons],
        worth=[*worth, *tried.worth],
        before=explorer.known[base.hash()].outcomes[0],
        after=found.outcomes[0],
        traces=traces,
        front=_members(explorer, found, asked.favour),
        spent=evaluator.spent,
        seed=asked.seed,
        interrupted=searching.interrupted or weighing.interrupted or ended,
        segregated=tried.segregated,
    )


def _explorer(evaluator: Evaluator, exact: Exact, asked: Asked, *, timed: bool) -> Explorer:
    """Return the explorer with the limits; without `huge_pages` the traces must tell what the program touches.

    timed: the traces that are held out have time stamps.
    """
    sources = evaluator.bench.sources
    pages = asked.huge_pages or all(one.tells_touched for one in sources)
    # A number of simulations repeats exactly, whoever simulates.
    batch = BATCH if asked.simulations is not None else max(BATCH, evaluator.workers.jobs // len(sources))
    explorer = Explorer(
        *(evaluator, exact),
        favour=asked.favour,
        huge_pages=pages,
        seed=asked.seed,
        batch=batch,
        asked=msgspec.structs.replace(asked.limits, follows_p999=asked.timed()),
        timed=timed,
    )
    known = explorer.known[evaluator.base.hash()].outcomes
    weights = [one.weight for one in sources]
    explorer.limits = asked.limits.ratios(known, weights)
    return explorer


class _Stage:
    """A part of the work, which Ctrl-C may end."""

    interrupted = False


@contextmanager
def _patience(asked: Asked, workers: Runner | None = None) -> Iterator[_Stage]:
    """Let Ctrl-C end only this stage, and what its workers do, if the caller is patient."""
    stage = _Stage()
    try:
        yield stage
    except KeyboardInterrupt:
        if not asked.patient:
            raise
        stage.interrupted = True
        if workers:
            workers.stop()


def _reasons(
    explorer: Explorer, exact: Exact, design: Design, asked: Asked, found: Known, worth: Sequence[Worth]
) -> list[Reason]:
    """Return why the design is what it is, each field's reason by its name."""
    base = explorer.known[explorer.base.hash()]
    if found is base:
        return [reasons.why_base(base.design, len(explorer.known))]
    return [
        reasons.why_design(explorer.sources, base.design, base.outcomes[0], found.outcomes[0]),
        *reasons.why_choices(worth),
        *reasons.why_classes(design, base.design, exact, asked.max_classes),
        *reasons.why_fronts(design, exact),
    ]


def check_arguments(base: Design, asked: Asked, name: str) -> None:
    """Raise BadInput for arguments that `tune` refuses whatever the trace."""
    if asked.favour not in WEIGHTS:
        raise BadInput(f"favour: {asked.favour!r}; expected one of {', '.join(WEIGHTS)}")
    if not 0 < asked.max_overhead <= 1:
        raise BadInput(
            f"max overhead: {asked.max_overhead} is no fraction of peak live bytes; expected above 0, at most 1"
        )
    if not 1 <= asked.max_classes <= MAX_CLASSES:
        raise BadInput(f"max classes: {asked.max_classes} is out of range; expected 1 to {MAX_CLASSES}")
    if asked.simulations is not None and asked.simulations < 2:
        raise BadInput(f"simulations: {asked.simulations}; expected 2 or more: the base is one")
    if asked.seconds is not None and not 0 < asked.seconds <= 86_400:
        raise BadInput(f"budget: {asked.seconds} s; expected above 0, at most a day")
    if reason := msgspec.structs.replace(base, name=name).why_not_valid():
        raise BadInput(reason)


def _until(begin: float, asked: Asked, sources: Sequence[Source]) -> float | None:
    """Return when the search ends by the clock, or None if the number of simulations ends it."""
    if asked.simulations is not None and asked.seconds is None:
        return None
    work = sum(source.work for source in sources)
    usual = min(MOST_SECONDS, max(LEAST_SECONDS, SECONDS * (work / 1e6) ** 0.5))
    return begin + (usual if asked.seconds is None else asked.seconds)


def _share(begin: float, until: float | None) -> float | None:
    """Return when the search has had its share of the time."""
    return None if until is None else begin + SEARCH_SHARE * (until - begin)


def _titled(design: Design, sources: Sequence[Source], base: Design) -> Design:
    """Return the design with what it was tuned for, unless it is the base."""
    if design.hash() == base.hash():
        return design
    names = [printable(source.path.name) for source in sources]
    about = f"Tuned for {names[0]}{f' and {len(names) - 1} more' if names[1:] else ''} from {base.name}"
    return msgspec.structs.replace(design, about=about)


def _choice(explorer: Explorer, asked: Asked) -> Known:
    """Return the design of the least score within the limits; CheckFailed if none is within them."""
    every = list(explorer.known.values())
    within = [one for one in every if explorer.allowed(one)]
    if not within:
        least = np.min(np.array([one.ratios for one in every])[:, :2], axis=0)
        late = [max(one) for one in explorer.p999_ns.values()] if asked.limits.p999_ns is not None else []
        raise CheckFailed(
            f"no design within the limits: of {len(every)} simulated designs the fastest takes {least[0]:.3f}x of the "
            f"base's time, and the leanest {least[1]:.3f}x of its peak"
            + (f"; the least p99.9 is {min(late):.0f} ns" if late else "")
        )
    return within[int(np.argmin(scores(np.array([one.ratios for one in within]), asked.favour)))]


def _named(points: Floats) -> dict[str, float]:
    return dict(zip(OBJECTIVES, points.tolist(), strict=True))


def _held_bytes(evaluator: Evaluator, design: Design, asked: Asked) -> dict[str, list[Ledgers]]:
    """Return the ledgers of the base and of the design on each trace, by their hashes; none after Ctrl-C."""
    both = [evaluator.base, design]
    with _patience(asked, evaluator.workers):
        return dict(zip((one.hash() for one in both), evaluator.ledgers(both, "counting bytes"), strict=True))
    return {}


def _on_traces(
    explorer: Explorer, found: Known, asked: Asked, held_bytes: dict[str, list[Ledgers]]
) -> Iterator[OnTrace]:
    """Yield the choice on each trace, with its regret against the best known design for that trace."""
    base = explorer.known[explorer.base.hash()]
    for index, source in enumerate(explorer.sources):
        known = [
            ratios(one.outcomes[index].figures(), base.outcomes[index].figures())
            for one in explorer.known.values()
            if asked.limits.allow_p999(explorer.p999_ns.get(one.design.hash(), [])[index : index + 1])
        ]
        points = np.array(known).reshape(-1, len(OBJECTIVES))
        most = asked.limits.ratios([base.outcomes[index]], [1.0])
        alone = chosen(points, most, asked.favour)
        here = ratios(found.outcomes[index].figures(), base.outcomes[index].figures())
        least = scores(points[[alone]], asked.favour)[0] if alone is not None else 1.0
        regret = float(scores(here[None], asked.favour)[0] / least - 1)
        yield OnTrace(
            *(source.path.name, source.weight, False, base.outcomes[index], found.outcomes[index]),
            *(_named(here), regret, _both(explorer.p999_ns, explorer.base, found.design, index)),
            _both(held_bytes, explorer.base, found.design, index),
        )


def _everywhere(
    explorer: Explorer, found: Known, asked: Asked, held_bytes: dict[str, list[Ledgers]], held: Evaluator
) -> tuple[list[OnTrace], bool]:
    """Return the choice on all traces, and whether Ctrl-C ended that."""
    traces = list(_on_traces(explorer, found, asked, held_bytes))
    with _patience(asked) as holding:
        traces += _held_out(held, found.design, asked)
    return traces, holding.interrupted or any(one.ledgers is None for one in traces)


def _held_out(evaluator: Evaluator, design: Design, asked: Asked) -> Iterator[OnTrace]:
    """Yield the choice on traces that the search did not see."""
    base, held = evaluator.base, evaluator.bench.sources
    if not held:
        return
    with evaluator.workers:
        befores, afters = evaluator.priced([base, design], "held out")
        late = evaluator.p999_ns([base, design], "held out") if asked.timed() else []
        held_bytes = _held_bytes(evaluator, design, asked)
    evaluator.write()
    timed = dict(zip((base.hash(), design.hash()), late, strict=False))
    for index, (source, before, after) in enumerate(zip(held, befores, afters, strict=True)):
        here = _named(ratios(after.figures(), before.figures()))
        both = _both(timed, base, design, index), _both(held_bytes, base, design, index)
        yield OnTrace(source.path.name, source.weight, True, before, after, here, None, *both)


def _both(
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


def _members(explorer: Explorer, found: Known, favour: Favour) -> list[Member]:
    """Return the front and the choice, the best score first."""
    front = explorer.front()
    if all(one.design.hash() != found.design.hash() for one in front):
        front.append(found)
    merit = scores(np.array([one.ratios for one in front]), favour).tolist()
    shown = {one.hash() for one in _shown(explorer, found)}
    late = {name: max(each) for name, each in explorer.p999_ns.items()}
    members = [
        Member(one.design, name, _named(one.ratios), score, name in shown, late.get(name))
        for one, score in zip(front, merit, strict=True)
        if (name := one.design.hash())
    ]
    return sorted(members, key=lambda one: one.score)
