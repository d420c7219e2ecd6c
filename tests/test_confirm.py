"""The confirmation: replays correct the predicted times of the finalists, and the choice follows them."""

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest
from traces import random_trace

from heapsmith.model.design.design import Design, load
from heapsmith.model.memory.application import TOUCHED_FROM, WHOLE_SHARE
from heapsmith.model.search import confirm
from heapsmith.model.search.asked import Asked
from heapsmith.model.search.choice import NO_LIMITS, WEIGHTS, Limits
from heapsmith.model.search.confirm import FINALISTS, PREDICTION_ERROR, Replays, Shift, _mended, base_runs
from heapsmith.model.search.explore import Explorer
from heapsmith.model.search.outcome import PROCESS_BYTES
from heapsmith.model.search.tune import Tuned, tune
from heapsmith.tools.common.ratios import LEAST_ROUNDS
from heapsmith.tools.peers.peers import Library
from heapsmith.tools.replay import finalists as bench
from heapsmith.tools.replay.finalists import replay_finalists
from heapsmith.tools.replay.replay import Replayed, replay_once
from heapsmith.tools.report.searched import finalists

DEFAULT = load("default")

pytestmark = pytest.mark.usefixtures("own_outcomes")


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("confirm") / "random.hst"
    return random_trace(path, 10_000, 4, threads=1, max_size=3000, live=4000)


@pytest.fixture(scope="module", autouse=True)
def the_same_search_again() -> Iterator[None]:
    """What is stored saves simulations here, and is nothing to go on from."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Explorer, "take_up", lambda *_: None)
        yield


def searched(trace: Path, replays: Replays | None, limits: Limits = NO_LIMITS, seconds: float = 3600.0) -> Tuned:
    asked = Asked(simulations=9, jobs=1, limits=limits, replays=replays, seconds=seconds, resume=True)
    return tune(trace, base=DEFAULT, name="made", asked=asked)


@pytest.fixture(scope="module")
def predicted(trace: Path, own_outcomes: None) -> Tuned:
    """What the search chooses without replays."""
    return searched(trace, None)


def timed(ns: float, error_ns: float) -> Shift:
    """A shift of replays that say nothing of peaks."""
    return Shift(ns, error_ns, -math.inf)


def replays_of(shift: Callable[[Design], Shift], seen: list[Design] | None = None) -> Replays:
    """Replays that find this shift of each design."""

    def told(traces: Sequence[Path], designs: Sequence[Design], seconds: float) -> list[list[Shift]]:
        assert designs[0].hash() == DEFAULT.hash()
        assert seconds > 0
        if seen is not None:
            seen.extend(designs[1:])
        return [[shift(one) for one in designs[1:]] for _ in traces]

    return told


@pytest.mark.thorough
def test_nothing_is_replayed_unasked(predicted: Tuned) -> None:
    assert not predicted.kept_base
    assert (predicted.finalists, predicted.why_not_replayed, [*finalists(predicted)]) == ([], None, [])


def test_a_choice_whose_replays_peak_higher_gives_way(trace: Path, predicted: Tuned) -> None:
    """The predicted choice is as fast as predicted, and its replays have 1.2 of the base's peak RSS."""
    refuted = predicted.design.hash()
    found = searched(trace, replays_of(lambda one: Shift(0.0, 0.001, math.log(1.2 if one.hash() == refuted else 0.01))))
    assert found.design.hash() != refuted
    told = {one.hash: one for one in found.finalists}
    assert told[refuted].peak == pytest.approx(1.2)
    assert 0.1 < max(one.peak for one in found.finalists if one.hash != refuted) < 1.2  # as predicted


def test_a_choice_that_replays_refute_gives_way(trace: Path, predicted: Tuned) -> None:
    """The predicted choice is replayed at .3 more than the base: a design beside it is chosen, and explained."""
    seen: list[Design] = []
    refuted, slow_ns = predicted.design.hash(), 0.3 * predicted.before.allocator_ns_per_op
    found = searched(trace, replays_of(lambda one: timed(slow_ns * (one.hash() == refuted), 0.001), seen))
    assert seen[0].hash() == refuted
    assert len({one.hash() for one in seen}) == len(seen)
    assert found.design.hash() not in (refuted, DEFAULT.hash())
    told = {one.hash: one for one in found.finalists}
    assert set(told) == {one.hash() for one in seen}
    assert told[refuted].what == "the choice"
    assert told[refuted].replayed == pytest.approx(1.3)
    assert told[refuted].score > 1 > told[found.design.hash()].score
    assert told[found.design.hash()].score == min(one.score for one in found.finalists)
    assert {name for one in found.worth for name in one.fields} >= {
        name
        for name in DEFAULT.__struct_fields__
        if name not in ("name", "about", "slab_span_bytes") and getattr(found.design, name) != getattr(DEFAULT, name)
    }
    assert "In replays the allocator took 1.000 of the base's time" in found.reasons[0].why
    (table,) = finalists(found)
    assert table.rows[0][0] == f"{found.design.hash()}, chosen"
    assert msgspec.json.decode(msgspec.json.encode(found), type=Tuned) == found


@pytest.mark.parametrize(("gain", "stays"), [(0.004, True), (0.3, False)])
def test_a_choice_stays_where_no_finalist_is_clearly_better(
    trace: Path, predicted: Tuned, gain: float, stays: bool
) -> None:
    """Replays of the choice are as predicted, and each design beside it takes so much less of the base's time."""
    base_ns, now = predicted.before.allocator_ns_per_op, predicted.design.hash()
    as_predicted = predicted.after.allocator_ns_per_op - base_ns

    def shift(one: Design) -> Shift:
        return timed(as_predicted - gain * base_ns * (one.hash() != now), 1e-6 * base_ns)

    assert (searched(trace, replays_of(shift)).design.hash() == now) == stays


def test_the_base_stays_where_replays_refute_all(trace: Path) -> None:
    found = searched(trace, replays_of(lambda _: timed(50.0, 0.001)))
    assert found.kept_base
    assert found.finalists
    assert "is clearly better" in found.reasons[0].why
    assert "were replayed beside it" in found.reasons[0].why


def test_the_choice_stays_where_replays_put_all_beyond_the_limits(trace: Path) -> None:
    """The base is beyond a limit on memory, and all that is within it beyond that on time, by the replays."""
    found = searched(trace, replays_of(lambda _: timed(50.0, 0.001)), Limits(rss=0.99))
    assert not found.kept_base
    assert {one.hash for one in found.finalists} >= {found.design.hash()}


@pytest.mark.thorough
def test_slower_designs_within_the_limits_may_stay(trace: Path, predicted: Tuned) -> None:
    """Limits hold for the corrected time: 2 % more than the base is too much without a limit of its own."""
    base_ns = predicted.before.allocator_ns_per_op
    replays = replays_of(lambda _: timed(0.02 * base_ns, 1e-6 * base_ns))
    assert searched(trace, replays).kept_base
    assert not searched(trace, replays, Limits(time=1.05)).kept_base


@pytest.mark.thorough
def test_times_are_means_by_their_errors(trace: Path, predicted: Tuned) -> None:
    """One finalist alone: its replays are trusted by their error and by that of a prediction."""
    base_ns, memory = predicted.before.allocator_ns_per_op, list[float]()
    for error, trust in ((1e-6, 1.0), (PREDICTION_ERROR, 0.5), (1e3, 0.0)):
        replays = replays_of(lambda _, error=error: timed(-0.1 * base_ns, error * 0.9 * base_ns))  # type: ignore[misc]
        one = searched(trace, replays, seconds=6.0).finalists[0]
        assert one.hash == predicted.design.hash()
        assert one.error == pytest.approx(error)
        assert one.replayed == pytest.approx(0.9)
        assert one.time == pytest.approx(np.exp(trust * np.log(0.9) + (1 - trust) * np.log(one.predicted)), rel=1e-6)
        memory.append(one.score / one.time ** WEIGHTS["balanced"][0])
    assert memory == pytest.approx([memory[0]] * 3)


def test_what_all_finalists_share_is_told_from_what_is_their_own() -> None:
    """Replays within their errors of predictions and a shared part say nothing of one design; far beyond them, all."""
    predicted = np.log([0.9, 0.92, 0.95, 0.96])
    by_chance = predicted + np.array([-0.03, -0.08, -0.04, -0.05])
    found = _mended(predicted, by_chance, np.full(4, 0.03), np.full(4, 2))
    assert np.diff(found) == pytest.approx(np.diff(predicted))
    assert by_chance.mean() < found.mean() < predicted.mean()
    outlier = predicted + np.array([0.0, 0.0, 0.4, 0.0])
    found = _mended(predicted, outlier, np.full(4, 0.01), np.full(4, 2))
    assert found == pytest.approx(outlier, abs=0.01)
    assert _mended(predicted, outlier, np.zeros(4), np.full(4, 2)) == pytest.approx(outlier, abs=1e-6)


def test_a_design_far_slower_than_predicted_makes_no_other_faster() -> None:
    """Of two finalists the first replays at twice its prediction: that is its own, and no part that both share."""
    predicted, replayed = np.log([0.59, 1.0]), np.log([1.18, 1.05])
    found = np.exp(_mended(predicted, replayed, np.array([0.071, 0.058]), np.full(2, 1)))
    assert 1.1 < found[0] < 1.18
    assert 1.0 < found[1] < 1.05


def test_the_luckiest_of_many_replays_is_not_believed() -> None:
    """Nine designs that take the same time, replayed with errors beside a base with its own: the least corrected time
    is near the truth, and where the designs differ the corrected times are nearer to it than the replays are.
    """
    drawn, least, far = np.random.default_rng(1), list[float](), list[tuple[float, float]]()
    error, runs = np.full(9, 0.03 * (4 / 3) ** 0.5), np.full(9, 3)
    for _ in range(400):
        noise = drawn.normal(0, 0.03, 9) + drawn.normal(0, 0.03 / 3**0.5)
        least.append(_mended(np.full(9, -0.1), noise - 0.1, error, runs).min() + 0.1)
        own = drawn.normal(0, 0.03, 9)
        found = _mended(np.zeros(9), own + noise, error, runs)
        far.append((float(np.abs(noise).mean()), float(np.abs(found - own).mean())))
    assert abs(np.mean(least)) < 0.012  # of the replays -.045
    replays, corrected = np.mean(far, axis=0)
    assert corrected < 0.9 * replays


@pytest.mark.thorough
def test_no_more_is_replayed_than_the_time_allows(trace: Path) -> None:
    counts: list[int] = []

    def told(traces: Sequence[Path], designs: Sequence[Design], seconds: float) -> list[list[Shift]]:
        counts.append(len(designs))
        return [[timed(0.0, 1.0)] * (len(designs) - 1)] * len(traces)

    searched(trace, told)
    assert 2 < counts[0] <= FINALISTS
    searched(trace, told, seconds=6.0)
    assert counts[-1] == 2
    found = searched(trace, told, seconds=1.5)
    assert found.why_not_replayed == "enough rounds of replays take too long"
    assert searched(trace, lambda *_: None).why_not_replayed == found.why_not_replayed


def test_a_trace_that_does_not_fit_the_memory_is_not_replayed(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confirm, "free_bytes", lambda: 1 << 20)
    found = searched(trace, replays_of(lambda _: timed(0.0, 1.0)))
    assert found.why_not_replayed is not None
    assert "1,048,576 are free" in found.why_not_replayed
    assert not found.kept_base


@pytest.mark.thorough
def test_shifts_are_medians_of_rounds(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each round has its own speed, in which all designs share: the shift has no error, but where a design varies."""
    slow, shaky = (msgspec.structs.replace(DEFAULT, run_cache_bytes=size) for size in (65_536, 131_072))
    rounds: dict[str, int] = {}

    def replayed(script: Path, library: Library, *, touched: Sequence[int]) -> Replayed:
        assert script.exists()
        assert touched == [WHOLE_SHARE] * len(TOUCHED_FROM)
        once = replay_once(script, library, touched=touched)
        number = rounds[library.name] = rounds.get(library.name, -1) + 1
        ns = 1000 + 100 * number + {slow.hash(): 7, shaky.hash(): 3 * (number % 3)}.get(library.name, 0)
        peak = {slow.hash(): 1.0, shaky.hash(): 0.5 + number % 2}.get(library.name, 0.5) * PROCESS_BYTES
        return msgspec.structs.replace(once, operations=10, cpu_ns=10 * ns, peak_rss_bytes=int(peak))

    monkeypatch.setattr(bench, "replay_once", replayed)
    found = replay_finalists([trace], [DEFAULT, slow, shaky], 600.0)
    assert found is not None
    ((more, varying),) = found
    assert more == Shift(7.0, 0.0, pytest.approx(math.log(4 / 3)))  # with the process's own bytes
    assert 0 <= varying.ns <= 6
    assert 0 < varying.error_ns < 3
    assert varying.peak < math.log(4 / 3)
    assert max(rounds.values()) == LEAST_ROUNDS  # beside one to warm up: each is known by then


@pytest.mark.thorough
def test_the_base_is_replayed_as_often_as_the_root_of_the_others(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shift is the difference to the mean of the base's runs of a round; the time has room for them."""
    assert [base_runs(others) for others in (0, 1, 2, 4, 6, 9)] == [1, 1, 1, 2, 2, 3]
    others = [msgspec.structs.replace(DEFAULT, run_cache_bytes=65_536 * number) for number in range(1, 5)]
    base, runs = [1000, 1020], list[str]()

    def replayed(script: Path, library: Library, *, touched: Sequence[int]) -> Replayed:
        once, again = replay_once(script, library, touched=touched), library.name == DEFAULT.hash()
        ns = base[runs.count(library.name) % 2] if again else 1015
        runs.append(library.name)
        return msgspec.structs.replace(once, operations=10, cpu_ns=10 * ns, peak_rss_bytes=1)

    monkeypatch.setattr(bench, "replay_once", replayed)
    found = replay_finalists([trace], [DEFAULT, *others], 600.0)
    assert found == [[Shift(5.0, 0.0, 0.0)] * 4]
    assert runs.count(DEFAULT.hash()) == 2 * runs.count(others[0].hash())


def test_too_little_time_gives_no_shifts(trace: Path) -> None:
    assert replay_finalists([trace], [DEFAULT, load("hardened")], 0.001) is None
