"""The search against an exhaustive enumeration of a small space, and against random designs at the same cost."""

import random
import time
from functools import partial
from itertools import count, product
from pathlib import Path

import msgspec
import numpy as np
import pytest
from traces import random_trace, trace_of

from heapsmith.bench.studies.default import Candidate, General, least_worst, regrets
from heapsmith.bench.studies.search import compare
from heapsmith.model.design.design import Design, changed, load
from heapsmith.model.errors import BadInput
from heapsmith.model.memory.hardware import load_hardware
from heapsmith.model.search import MOST_CLASSES, explore
from heapsmith.model.search.asked import Asked
from heapsmith.model.search.evaluate import Evaluator
from heapsmith.model.search.exact import Exact
from heapsmith.model.search.explore import STILL, STILL_ROUNDS, Budget, Explorer
from heapsmith.model.search.pareto import hypervolume
from heapsmith.model.search.source import Source
from heapsmith.model.search.space import drawn
from heapsmith.model.search.starts import Starts
from heapsmith.model.search.tune import Tuned, tune
from heapsmith.model.search.workers import Bench, Workers
from heapsmith.model.trace.reader import Chunk, Op, TraceWriter

pytestmark = pytest.mark.usefixtures("own_outcomes")

BASE = msgspec.structs.replace(load("default"), name="x", transfer_bytes=131_072)
PLAIN = msgspec.structs.replace(load("registry"), name="x", transfer_bytes=131_072)
CHOICES = {
    "slab_choice": ("hot_index", "address_ordered", "fullest_first"),
    "run_cache_bytes": (0, 16_384, 262_144),
    "transfer_bytes": (0, 131_072),
    "freed_blocks": (None, "list"),
}
"""A space of 36 designs, which differ from PLAIN in these fields alone."""

STARTS = ("designs", "threads_apart")
"""What a search begins with besides its base."""


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    path = random_trace(tmp_path_factory.mktemp("explore") / "t.hst", 12_000, 9, threads=3, max_size=40_000, live=1500)
    return Bench([Source(path)], load_hardware())


def explorer_of(bench: Bench, base: Design = BASE) -> Explorer:
    exact = Exact(bench.sources, base, MOST_CLASSES, 1.0)
    evaluator = Evaluator(bench, base, resume=False, hire=partial(Workers, jobs=1))
    return Explorer(evaluator, exact, favour="balanced", huge_pages=False, seed=1)


@pytest.mark.parametrize(
    ("left", "waits", "told"), [(1.0, 500, False), (0.8, 500, False), (0.7, 500, True), (0.7, 20, False)]
)
def test_pages_that_never_go_back_need_a_trace_that_falls(left: float, waits: int, told: bool, tmp_path: Path) -> None:
    """A part of 1,000 blocks is left after the peak. Then one block is resized `waits` times."""
    gone = range(round(1000 * (1 - left)))
    events = [(Op.MALLOC, block, 800) for block in range(1000)] + [(Op.FREE, block, 0) for block in gone]
    events += [(Op.REALLOC, 999, 800)] * waits
    ops, blocks, sizes = zip(*events, strict=True)
    zeros = [0] * len(events)
    with TraceWriter(tmp_path / "t.hst", command=["test"], source="test") as writer:
        writer.append(Chunk.of(ops, zeros, blocks, sizes, zeros, range(len(events))))
    source = Source(tmp_path / "t.hst")
    assert source.tells_release is told
    explorer = explorer_of(Bench([source], load_hardware()))
    explorer.limit()
    explorer.search(Budget(None, 9))
    near = explorer.near(explorer.known[BASE.hash()]).values()
    assert any(one.release != BASE.release for one in near) is told
    assert told or all(one.design.release == BASE.release for one in explorer.known.values())


@pytest.mark.thorough
def test_a_small_space_is_solved(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a third of the simulations of all designs, the front dominates 98 % of what all of them dominate."""

    def near(design: Design, busy: object, **free: bool) -> list[Design]:
        fields = ((name, value) for name, values in CHOICES.items() for value in values)
        return [msgspec.structs.replace(design, **{name: value}) for name, value in fields]

    explorer = explorer_of(bench, PLAIN)
    every = [
        msgspec.structs.replace(PLAIN, **dict(zip(CHOICES, values, strict=True)))
        for values in product(*CHOICES.values())
    ]
    for owner, names in ((Starts, STARTS), (Explorer, ("_reshaped", "_mixtures", "_drawn"))):
        for name in names:
            monkeypatch.setattr(owner, name, lambda *_: iter(()))
    monkeypatch.setattr(explore, "neighbours", near)
    explorer.search(Budget(None, len(every) // 3))
    assert len(explorer.known) <= len(every) // 3
    found = explorer.volume()
    everything = np.array([one.ratios for one in explorer.price(every, "all")])
    assert {design.hash() for design in every} == set(explorer.known)
    assert found >= 0.98 * hypervolume(everything, explorer.reference)


@pytest.mark.big
def test_the_search_ends_where_random_designs_promise_nothing(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random designs never run out; without a gain they are looked at in STILL_ROUNDS rounds."""
    explorer = explorer_of(bench)
    gains = iter([1.0, 0.0, 0.0, STILL, *[0.0] * STILL_ROUNDS])
    for owner, names in ((Starts, STARTS), (Explorer, ("_near",))):
        for name in names:
            monkeypatch.setattr(owner, name, lambda *_: iter(()))
    monkeypatch.setattr(Explorer, "_price", lambda *_: next(gains))
    explorer.search(Budget(None, 10_000))
    assert next(gains, None) is None
    assert len(explorer._glances) > 4 * STILL_ROUNDS


@pytest.mark.big
def test_the_search_is_better_than_as_many_random_designs(bench: Bench) -> None:
    explorer = explorer_of(bench)
    explorer.search(Budget(None, 17))
    draw = random.Random(1)
    other = explorer_of(bench)
    points = [one.ratios for one in other.price([drawn(BASE, draw, huge_pages=False) for _ in range(16)], "random")]
    assert explorer.volume() > 1.5 * hypervolume(np.array(points), explorer.reference)


def test_a_default_keeps_general_classes() -> None:
    general = General(BASE)
    made = [general.shaped(BASE, *shape) for shape in general.shapes()]
    assert len({one.slab_bytes for one in made if one}) > 3
    for one in made:
        assert one is not None
        assert one.sizes == BASE.sizes[: len(one.sizes)]
        assert not one.class_front


def test_the_least_worst_regret_is_that_of_the_worst_trace() -> None:
    """The last gains nearly most on both traces, but takes more bytes than it may."""
    helped = load("background")
    rows = [(BASE, 1.0, 1.0, 1.0), (BASE, 0.5, 1.0, 1.0), (BASE, 0.7, 0.8, 1.0), (BASE, 0.5, 0.8, 1.02)]
    every = [Candidate(one, np.array([[a, p, 1, 1], [b, p, 1, 1]])) for one, a, b, p in rows]
    assert regrets(every).argmin(axis=0).tolist() == [1, 2]
    assert least_worst(every, never_worse=False) == 3
    assert least_worst(every, never_worse=True) == 1
    best = Candidate(helped, np.full((2, 4), 0.1))
    assert least_worst([*every, best], never_worse=False) != len(every)


@pytest.mark.big
def test_the_gate_holds_on_a_random_trace(tmp_path: Path) -> None:
    found = compare(random_trace(tmp_path / "t.hst", 40_000, 3, threads=4, max_size=3000, live=4000), 100, 1)
    assert found.share() >= 0.98


def test_a_delay_in_milliseconds_goes_by_the_time_of_the_events(tmp_path: Path) -> None:
    """Of 2,000 blocks, freed in order, a free each 0.1 ms: after a delay of 1 ms the slabs go one by one."""
    path = trace_of(tmp_path / "t.hst", [1000] * 2000, freed=True, event_ns=100_000)
    explorer = explorer_of(Bench([Source(path)], load_hardware()))
    release = {"kind": "delay", "unit": "milliseconds"}
    designs = [changed(BASE, "x", {"release": release | {"delay": delay}}) for delay in (1, 1 << 40)]
    early, never = (known.outcomes[0].committed_average for known in explorer.price(designs, "tested"))
    assert early < 0.9 * never


@pytest.mark.parametrize("held", [False, True])
def test_tune_refuses_a_trace_without_times_before_it_searches(tmp_path: Path, held: bool) -> None:
    base = changed(BASE, "x", {"release": {"kind": "delay", "unit": "milliseconds"}})
    timely, timeless = (trace_of(tmp_path / f"{ns}.hst", [16] * 9, event_ns=ns) for ns in (1, 0))
    seen, hold_out, told = timely if held else timeless, [timeless] if held else [], list[object]()
    with pytest.raises(BadInput, match=r"0\.hst: no time stamps"):
        tune(seen, base=base, name="made", hold_out=hold_out, progress=lambda *one: told.append(one))
    assert told == []


def test_nothing_to_tune_for(tmp_path: Path) -> None:
    with TraceWriter(tmp_path / "t.hst", command=["test"], source="test") as writer:
        writer.append(Chunk.of([Op.THREAD_START], [0], [0], [0], [0], [0]))
    with pytest.raises(BadInput, match=r"t\.hst: no allocation to tune for"):
        tune(tmp_path / "t.hst", base=BASE, name="made")
    with pytest.raises(BadInput, match=r"absent\.hst"):
        tune(tmp_path / "absent.hst", base=BASE, name="made")


@pytest.mark.big
def test_threads_are_kept_apart_from_the_start(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A first part of the simulations goes to classes of whole lines, and to other policies for remote frees."""
    explorer = explorer_of(bench)
    monkeypatch.setattr(Explorer, "_price", lambda *_: 0.0)
    explorer.search(Budget(None, 24))
    base, lines, *others = (one.design for one in explorer.known.values())
    assert base == BASE
    assert all(size % 64 == 0 for size in lines.sizes)
    assert lines.remote == BASE.remote
    assert len(others) == 2
    assert len({BASE.remote, *(one.remote for one in others)}) == 3


@pytest.mark.big
def test_where_waits_count_other_shards_come_early_and_unknown_locks_never(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    explorer = explorer_of(bench._replace(cores=8))
    monkeypatch.setattr(Explorer, "_price", lambda *_: 0.0)
    explorer.search(Budget(None, 40))
    _, _, *others = (one.design for one in explorer.known.values())
    assert len({repr(one.shards) for one in (BASE, *others[:2])}) == 3
    assert all(msgspec.structs.replace(one, shards=BASE.shards) == BASE for one in others[:2])
    assert [explorer._usable(load(name)) for name in ("owner", "owner-mutex")] == [True, False]
    assert explorer_of(bench)._usable(load("owner-mutex"))
    assert "owner_mutex" not in {one.row("remote").NAME for one in explorer._looked.values()}


@pytest.mark.big
def test_the_compilation_of_the_model_is_no_part_of_the_search(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock moves with each look at it, and jumps while the workers get ready."""
    ticks, jump = count(), [0]

    class Cold(Workers):
        def __enter__(self) -> "Cold":
            jump[0] += 1000
            return super().__enter__()

    def found(hire: type[Workers]) -> Tuned:
        asked, hired = Asked(seconds=25), partial(hire, jobs=1)
        return tune(bench.sources[0].path, base=BASE, name="x", asked=asked, hire=hired)

    tune(bench.sources[0].path, base=BASE, name="x", asked=Asked(simulations=9))  # compiles the search's own loops
    monkeypatch.setattr(time, "monotonic", lambda: float(next(ticks) + jump[0]))
    first, second = found(Workers), found(Cold)
    assert first.spent.simulations == second.spent.simulations > 20
    assert first.design == second.design
