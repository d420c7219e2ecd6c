"""The search for the best design for traces: the front, the choice, and what each of its choices is worth."""

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path

import msgspec

from heapsmith.model.compile import wait
from heapsmith.model.design.design import Design
from heapsmith.model.design.toml import Reason
from heapsmith.model.errors import CheckFailed, printable
from heapsmith.model.files import scratch
from heapsmith.model.memory.hardware import Hardware, load_hardware
from heapsmith.model.predict.ledgers import Ledgers
from heapsmith.model.predict.simulate import Progress
from heapsmith.model.predict.times import priced
from heapsmith.model.search import reasons
from heapsmith.model.search.asked import USUAL, Asked, check_arguments
from heapsmith.model.search.births import learn
from heapsmith.model.search.choice import Favour
from heapsmith.model.search.choice_worth import Worth
from heapsmith.model.search.confirm import Confirmed, Finalist, confirm
from heapsmith.model.search.evaluate import Evaluator, Spent
from heapsmith.model.search.exact import Exact
from heapsmith.model.search.explore import BATCH, Budget, Explorer, Known
from heapsmith.model.search.findings import Member, OnTrace, both, members, named, on_traces
from heapsmith.model.search.gain import Gain, gain_of
from heapsmith.model.search.outcome import Outcome, ratios
from heapsmith.model.search.segregate import NOT_TRIED, Segregated, Tried, segregated
from heapsmith.model.search.settle import Near, between, choice, settled
from heapsmith.model.search.source import Source, sources_for
from heapsmith.model.search.unseen import Binding, Refused, unseen
from heapsmith.model.search.workers import Bench, Hire, Runner, Workers

SECONDS = 20.0
"""The default budget for a trace of a million events that touch few lines; it grows with the root of the work."""

LEAST_SECONDS, MOST_SECONDS = 6.0, 120.0

SEARCH_SHARE, NEAR_SHARE = 0.6, 0.5
"""The search's share of the time; of the rest, that of the best's neighbours. The worth of choices has what is left."""

LAST = 5
"""The simulations that follow the search, about: the base and the choice on unseen traces, and the bytes of both."""

FIRST, NEAR_PART = 24, 4
"""The first simulations, and the part of the others that is for designs one choice away from the best: a fourth."""

REPLAY_SHARE, LEAST_REPLAY_SECONDS = 0.5, 10.0
"""The time for replays, in parts of the search's, and the least where no budget is given."""


class Tuned(msgspec.Struct, frozen=True):
    """The choice and the front, the best score first; before and after: on the first trace.

    The choice is in the front, although a design with a choice that is worth next to nothing may
    be better by so little. weights: those of the score, by name of OBJECTIVES. finalists: the designs
    that were replayed to confirm the choice; why_not_replayed: why none was. interrupted: Ctrl-C ended
    the search. cores: those on which waits for locks were counted. segregated: what came of trying it, where it was.
    near: how many designs are one choice away from the best, and were simulated: if all, none of them is better.
    unseen: what else binds the choice: traces held out, halves of the traces, a tiny run. refused: by these.
    """

    design: Design
    kept_base: bool
    gain: Gain
    favour: Favour
    weights: dict[str, float]
    reasons: list[Reason]
    worth: list[Worth]
    finalists: list[Finalist]
    why_not_replayed: str | None
    before: Outcome
    after: Outcome
    traces: list[OnTrace]
    front: list[Member]
    spent: Spent
    seed: int
    cores: int | None
    interrupted: bool
    segregated: Segregated | None
    near: Near
    unseen: list[str]
    refused: list[Refused]


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
    """Return the design of least time and memory for traces, predicted on `hardware` (default: the built-in machine).

    `hire` says who simulates (default: `asked.jobs` processes here). With `asked.simulations` and without replays the
    result depends only on the other arguments. Raises BadInput for bad arguments, hardware without costs, bad traces.
    """
    check_arguments(base, asked, name)
    known_as, begun, hire = base.name, time.monotonic(), hire or partial(Workers, jobs=asked.jobs)
    bench_of = partial(Bench, hardware=priced(hardware or load_hardware()), cores=asked.cores)
    with scratch() as folder, ExitStack() as at_work:
        with wait.counted_against(asked.seconds):
            sources, held = sources_for([(trace, 1.0)] if isinstance(trace, Path) else trace, hold_out, base)
            base = msgspec.structs.replace(base, name=name)
            learn(bench_of, [*sources, *held], base)
            evaluator_of = partial(Evaluator, base=base, resume=asked.resume, hire=hire, progress=progress)
            evaluator = evaluator_of(bench_of(sources))
            exact = Exact(sources, base, asked.max_classes, asked.max_overhead)
            at_work.enter_context(evaluator.workers)
            bound, asked = [*unseen(sources, held, folder, base)], _left(asked, begun)
        explorer, until = _explorer(evaluator, exact, asked, held)
        with _patience(asked, evaluator.workers) as searching:
            explorer.search(Budget(between(until, SEARCH_SHARE), _first(asked.simulations)))
        binding = Binding(evaluator_of(bench_of([one.source for one in bound])), bound, asked.limits, asked.favour)
        held_out, stages = evaluator_of(bench_of(held)), [searching]
        confirmed, tried, near = _answer(explorer, binding, asked, until, held_out, stages, evaluator.workers)
        held_bytes = _held_bytes(evaluator, confirmed.found.design, asked)
    traces, ended = _everywhere(explorer, confirmed.found, asked, held_bytes, evaluator_of(bench_of(held)))
    return Tuned(
        design=(design := _titled(confirmed.found.design, sources, base, known_as)),
        kept_base=design.hash() == base.hash(),
        gain=(gain := gain_of(confirmed.found, explorer, confirmed.finalists, known_as)),
        favour=asked.favour,
        weights=named(explorer.weights),
        reasons=[*_reasons(explorer, exact, design, asked, confirmed, gain, known_as), *tried.reasons],
        worth=[*confirmed.worth, *tried.worth],
        finalists=confirmed.finalists,
        why_not_replayed=confirmed.why_not,
        before=explorer.known[base.hash()].outcomes[0],
        after=confirmed.found.outcomes[0],
        traces=traces,
        front=members(explorer, confirmed.found),
        spent=evaluator.spent,
        seed=asked.seed,
        cores=asked.cores,
        interrupted=ended or any(stage.interrupted for stage in stages),
        segregated=tried.segregated,
        near=near,
        unseen=binding.names,
        refused=binding.said(),
    )


def _answer(
    explorer: Explorer,
    binding: Binding,
    asked: Asked,
    until: float | None,
    held_out: Evaluator,
    stages: "list[_Stage]",
    workers: Runner,
) -> tuple[Confirmed, Tried, Near]:
    """Return the choice, what came of groups of call sites, and what is next to it; add this stage to those so far."""
    confirmed, tried, near = Confirmed(choice(explorer, None), [], [], None), NOT_TRIED, Near()
    explorer.allows = [binding]
    with binding.workers, _patience(asked, workers, binding.workers) as weighing:
        stages.append(weighing)
        for step in _settled(explorer, binding, asked, until, interrupted=stages[0].interrupted):
            confirmed, near = step
        explorer.allows.remove(binding)  # not all of its traces have call sites
        found, tried = segregated(confirmed.found, explorer, held_out)
        confirmed = confirmed._replace(found=found)
    explorer.favour, explorer.allows = asked.favour, []
    return confirmed, tried, near


def _explorer(
    evaluator: Evaluator, exact: Exact, asked: Asked, held: Sequence[Source]
) -> tuple[Explorer, float | None]:
    """Return the explorer with the limits, and when it ends (`_until`); held: the traces that are held out.

    Without `huge_pages` the traces must tell what the program touches.
    """
    begin = time.monotonic()
    sources = evaluator.bench.sources
    pages = asked.huge_pages or all(one.tells_touched for one in sources)
    # A number of simulations repeats exactly, whoever simulates.
    batch = BATCH if asked.simulations is not None else max(BATCH, evaluator.workers.jobs // len(sources))
    explorer = Explorer(
        evaluator,
        exact,
        favour=asked.favour,
        huge_pages=pages,
        seed=asked.seed,
        batch=batch,
        asked=msgspec.structs.replace(asked.limits, follows_p999=asked.timed()),
        timed=all(one.tells_time for one in held),
    )
    explorer.limit()
    explorer.take_up(evaluator.earlier(timed=asked.timed()) if asked.resume else (), asked.max_classes)
    return explorer, _until(begin, asked, explorer)


class _Stage:
    """A part of the work, which Ctrl-C may end."""

    interrupted = False


@contextmanager
def _patience(asked: Asked, *workers: Runner) -> Iterator[_Stage]:
    """Let Ctrl-C end only this stage, and what its workers do, if the caller is patient."""
    stage = _Stage()
    try:
        yield stage
    except KeyboardInterrupt:
        if not asked.patient:
            raise
        stage.interrupted = True
        for one in workers:
            one.stop()


def _settled(
    explorer: Explorer, binding: Binding, asked: Asked, until: float | None, *, interrupted: bool
) -> Iterator[tuple[Confirmed, Near]]:
    """Yield the choice as it becomes better, simpler, and then as replays confirm it, with what its choices are worth.

    A favour begins with the balanced choice, and takes no more than this of what it wants least of.
    """
    explorer.until = None if interrupted else until
    until = time.monotonic() if interrupted else until
    for favour in dict.fromkeys(("balanced", asked.favour)):
        explorer.favour = binding.favour = favour
        with suppress(*([CheckFailed] if favour != asked.favour else [])):  # limits may leave nothing to `balanced`
            for step in settled(explorer, binding, _near_budget(asked, explorer, until), until):
                yield Confirmed(step.found, step.worth, [], None), step.near
            explorer.allows = [*explorer.allows, explorer.no_more_than(step.found, asked.favour)]
    if asked.replays is None or interrupted:
        why_not = "the search was interrupted" if interrupted and asked.replays else None
        yield Confirmed(step.found, step.worth, [], why_not), step.near
        return
    seconds = REPLAY_SHARE * _seconds(asked, explorer.sources)
    seconds = max(LEAST_REPLAY_SECONDS, seconds) if asked.seconds is None else seconds
    for confirmed in confirm(step.found, step.worth, explorer, asked.replays, seconds):
        yield confirmed, step.near


def _reasons(
    explorer: Explorer, exact: Exact, design: Design, asked: Asked, confirmed: Confirmed, gain: Gain, known_as: str
) -> list[Reason]:
    """Return why the design is what it is, each field's reason by its name; known_as: the name of the base."""
    base, found = explorer.known[explorer.base.hash()], confirmed.found
    if found is base:
        return [reasons.why_base(known_as, len(explorer.known), confirmed.finalists)]
    return [
        reasons.why_design(explorer.sources, known_as, base, found, confirmed.finalists, gain),
        *reasons.why_choices(confirmed.worth),
        *reasons.why_classes(design, base.design, exact, asked.max_classes),
        *reasons.why_fronts(design, exact),
    ]


def _left(asked: Asked, begun: float) -> Asked:
    """Return what is asked with the seconds that are left since `begun`, but half of them in any case."""
    return asked._replace(seconds=asked.seconds and max(asked.seconds / 2, asked.seconds - time.monotonic() + begun))


def _until(begin: float, asked: Asked, explorer: Explorer) -> float | None:
    """Return when the search ends by the clock, or None if the number of simulations ends it; the base is priced."""
    if asked.simulations is not None and asked.seconds is None:
        return None
    seconds = _seconds(asked, explorer.sources)
    return begin + max(seconds / 2, seconds - LAST * explorer.took_s())


def _seconds(asked: Asked, sources: Sequence[Source]) -> float:
    """Return the wall time of the search without its replays, as asked for or by the traces' length."""
    if asked.seconds is not None:
        return asked.seconds / (1 + REPLAY_SHARE * (asked.replays is not None))
    work = float(sum(source.work for source in sources))
    return min(MOST_SECONDS, max(LEAST_SECONDS, SECONDS * math.sqrt(work / 1e6)))


def _first(simulations: int | None) -> int | None:
    """Return how many simulations the search has before it looks at what is next to the best."""
    return None if simulations is None else simulations - max(0, simulations - FIRST) // NEAR_PART


def _near_budget(asked: Asked, explorer: Explorer, until: float | None) -> Budget:
    """Return the budget for what is next to the best: what the search has left, but no less than its part."""
    simulations, met = asked.simulations, explorer.met()
    if simulations is not None:
        simulations = max(simulations, met + simulations - (_first(simulations) or 0))
    return Budget(between(until, NEAR_SHARE), simulations)


def _titled(design: Design, sources: Sequence[Source], base: Design, known_as: str) -> Design:
    """Return the design with what it was tuned for, unless it is the base."""
    if design.hash() == base.hash():
        return design
    names = [printable(source.path.name) for source in sources]
    about = f"Tuned for {names[0]}{f' and {len(names) - 1} more' if names[1:] else ''} from {known_as}"
    return msgspec.structs.replace(design, about=about)


def _held_bytes(evaluator: Evaluator, design: Design, asked: Asked) -> dict[str, list[Ledgers]]:
    """Return the ledgers of the base and of the design on each trace, by their hashes; none after Ctrl-C.

    Stores what the evaluator knows.
    """
    both, found = [evaluator.base, design], dict[str, list[Ledgers]]()
    with _patience(asked, evaluator.workers):
        found = dict(zip((one.hash() for one in both), evaluator.ledgers(both, "counting bytes"), strict=True))
    evaluator.write()
    return found


def _everywhere(
    explorer: Explorer, found: Known, asked: Asked, held_bytes: dict[str, list[Ledgers]], held: Evaluator
) -> tuple[list[OnTrace], bool]:
    """Return the choice on all traces, and whether Ctrl-C ended that."""
    traces = list(on_traces(explorer, found, asked.favour, asked.limits, held_bytes))
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
    timed = dict(zip((base.hash(), design.hash()), late, strict=False))
    for index, (source, before, after) in enumerate(zip(held, befores, afters, strict=True)):
        here = named(ratios(after.figures(), before.figures()))
        late_and_bytes = both(timed, base, design, index), both(held_bytes, base, design, index)
        births = source.application.births
        yield OnTrace(source.path.name, source.weight, True, before, after, here, None, *late_and_bytes, births=births)
