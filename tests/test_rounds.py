"""Rounds: shuffled orders, which a seed repeats, their end by number, intervals or time, limits, memory they find."""

import platform
import random
import resource
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import islice, pairwise
from pathlib import Path
from typing import NoReturn

import pytest

from heapsmith.model.constants import PAGE
from heapsmith.model.errors import BadInput, CheckFailed
from heapsmith.tools.common.host_memory import fetch
from heapsmith.tools.common.limited import run_limited
from heapsmith.tools.common.ratios import Ratio
from heapsmith.tools.common.rounds import Figure, Stop, Taken, interleaved, orders, quiet
from heapsmith.tools.compare.measure import Launched, Run, is_known, same_output

pytestmark = pytest.mark.quick

KERNEL = tuple(map(int, platform.release().split("-")[0].split(".")[:2]))


def first(what: str, groups: list[str], rounds: int) -> list[list[int]]:
    return list(islice(orders(what, groups), rounds))


def test_each_round_after_the_warm_up_is_shuffled_anew() -> None:
    found = first("x", [""] * 4, 200)
    assert found[0] == [0, 1, 2, 3]
    assert all(sorted(order) == [0, 1, 2, 3] for order in found)
    assert len({tuple(order) for order in found}) == 24  # every order comes up
    followers = [(one, two) for order in found[1:] for one, two in pairwise(order)]
    assert all(30 < followers.count((one, two)) < 70 for one in range(4) for two in range(4) if one != two)


def test_a_seed_repeats_the_orders() -> None:
    assert first("x", [""] * 4, 20) == first("x", [""] * 4, 20)
    assert first("x", [""] * 4, 20) != first("y", [""] * 4, 20)


def test_entries_of_a_group_stay_together() -> None:
    found = first("x", ["a", "b", "a", "b", "b"], 400)
    for order in found[1:]:
        names = ["ababb"[entry] for entry in order]
        assert "".join(names) in ("aabbb", "bbbaa")
    assert len({tuple(order) for order in found[1:]}) == 24  # 2 orders of the groups, 2 * 6 within them


class Clock:
    """Seconds that pass only in runs."""

    def __init__(self, *took: float) -> None:
        self.now, self.took = 100.0, iter(took)

    def __call__(self) -> float:
        return self.now

    def run(self, entry: int) -> int:
        self.now += next(self.took)
        return entry


def rounds(stop: Stop, run: Callable[[int], int]) -> Taken[int]:
    seen: list[tuple[int, int]] = []
    taken = interleaved("x", ["a", "b"], stop, run, lambda _, done, total: seen.append((done, total)))
    parts = [done / total for done, total in seen]
    assert parts == sorted(parts)
    assert parts[-1] == 1
    return taken


def test_rounds_end_by_their_number() -> None:
    taken = rounds(Stop(3), lambda entry: entry)
    assert taken == ([[0, 0, 0], [1, 1, 1]], "rounds")


def test_rounds_end_when_enough_is_known() -> None:
    taken = rounds(Stop(9, enough=lambda found: len(found[0]) == 4), lambda entry: entry)
    assert (len(taken.runs[1]), taken.ended) == (4, "known")


def test_no_round_begins_that_would_end_too_late() -> None:
    clock = Clock(*[1.0] * 99)  # two seconds a round: the warm-up and four more
    taken = rounds(Stop(limit_s=11, clock=clock), clock.run)
    assert (len(taken.runs[0]), taken.ended, clock.now) == (4, "time", 110)


def test_the_warm_up_counts_if_there_is_no_time_for_more() -> None:
    clock = Clock(20, 30)
    assert rounds(Stop(limit_s=60, clock=clock), clock.run) == ([[0], [1]], "time")


@pytest.mark.parametrize(
    ("stop", "complaint"),
    [
        (Stop(), "expected a number of rounds or a time"),
        (Stop(0), "expected at least 1, not 0"),
        (Stop(limit_s=0), "expected more than 0 s, not 0"),
    ],
)
def test_rounds_without_an_end_are_refused(stop: Stop, complaint: str) -> None:
    with pytest.raises(BadInput, match=complaint):
        rounds(stop, lambda entry: entry)


def test_each_run_finds_the_memory_of_the_last_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    happened: list[int | str] = []

    def run(entry: int) -> int:
        happened.append("ab"[entry])
        return (8 << 20, 40 << 20)[entry]

    monkeypatch.setattr("heapsmith.tools.common.rounds.fetch", happened.append)
    interleaved("x", ["a", "b"], Stop(1), run, quiet, resident=int)
    assert happened[:4] == [0, "a", 8 << 20, "b"]
    assert [happened[4], happened[6]] == [40 << 20] * 2


@pytest.mark.skipif(KERNEL < (5, 14), reason=f"Linux {platform.release()} has no MADV_POPULATE_WRITE")
def test_fetched_memory_is_free_again() -> None:
    def seen() -> tuple[int, int]:
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt, int(Path("/proc/self/statm").read_text().split()[1])

    faults, pages = seen()
    fetch(64 << 20)
    faults_after, pages_after = seen()
    assert faults_after - faults >= 32, "one for each huge page, or for each small one"
    assert pages_after - pages < (32 << 20) // PAGE


def test_refused_memory_is_not_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> NoReturn:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr("heapsmith.tools.common.host_memory.mmap.mmap", refused)
    fetch(64 << 20)


def test_no_more_is_fetched_than_half_of_what_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heapsmith.tools.common.host_memory.free_bytes", lambda: 127 << 20)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    fetch(64 << 20)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before < 32


def test_figures() -> None:
    assert Figure.of([4.0]) == Figure(4.0, 4.0, 0.0)
    assert Figure.of([1.0, 2.0, 3.0, 4.0, 9.0]) == Figure(1.0, 3.0, 2 / 3)


def test_what_an_interval_says() -> None:
    one, less, wide = Ratio(0.8, None, None), Ratio(0.8, 0.79, 0.801), Ratio(1.0, 0.9, 1.1)
    assert [each.is_less() for each in (one, less, wide)] == [False, True, False]
    assert [each.is_narrow() for each in (one, less, wide)] == [False, True, False]
    assert [each.words() for each in (one, less)] == ["0.80", "0.80 (0.79-0.80)"]
    assert Ratio(1.2, 1.1, 1.3).is_more()


def launched(cpu: int = 100, rss: int = 100, output: str = "", status: int = 0, number: int = 0) -> Run:
    used = Launched(0, status, number, cpu, cpu, 0, rss, rss, 1, 1, 1)
    return Run(used, f"{output} {status} {number}", "")


@pytest.mark.slow
def test_known_are_narrow_intervals_to_the_pivot() -> None:
    steady, unsteady = [launched(100)] * 5, [launched(cpu) for cpu in (100, 100, 130, 100, 130)]
    assert is_known([steady, steady], pivot=0)
    assert not is_known([steady[:4], steady[:4]], pivot=0)
    assert not is_known([steady, unsteady], pivot=0)
    assert not is_known([steady, [launched(100, rss) for rss in (1, 2, 3, 4, 5)]], pivot=0)
    drifting = [launched(cpu) for cpu in (100, 110, 120, 130, 140)]
    assert is_known([drifting, drifting], pivot=-1)
    assert not is_known([steady, drifting, drifting], pivot=-1)


@pytest.mark.parametrize(
    ("its", "wanted", "same"),
    [
        ([launched(output="a")], [launched(output="a")] * 2, True),
        ([launched(output="b")], [launched(output="a")] * 2, False),
        ([launched(output="a"), launched(output="b")], [launched(output="a")] * 2, False),
        ([launched(output="a")], [launched(output="a"), launched(output="b")], None),
        ([launched(status=1)], [launched(output="a"), launched(output="b")], False),  # no wanted run ends so
        ([launched(number=11)], [launched(), launched(status=3)], False),
    ],
)
def test_outputs(its: list[Run], wanted: list[Run], same: bool | None) -> None:
    assert same_output(its, wanted) is same


@pytest.mark.thorough
@pytest.mark.slow
def test_a_limit_ends_all_that_was_started(tmp_path: Path) -> None:
    with pytest.raises(CheckFailed, match=r"killed: it had not ended after 1 s"):
        run_limited(["sh", "-c", f"sleep 36000 & echo $! > '{tmp_path}/pid'; wait"], 1.0)
    status = Path("/proc", (tmp_path / "pid").read_text().strip(), "stat")
    deadline = time.monotonic() + 300
    with suppress(FileNotFoundError, ProcessLookupError):  # it is gone
        while status.read_text().split()[2] != "Z":  # an orphan may wait for its new parent
            assert time.monotonic() < deadline
            time.sleep(0.01)
    done = run_limited(["sh", "-c", "read line; echo out; echo err >&2; exit 3"], None)
    assert (done.returncode, done.stdout, done.stderr) == (3, "out\n", "err\n")


def test_least_rounds_are_taken_whatever_the_time() -> None:
    clock = Clock(*[1.0] * 99)
    taken = rounds(Stop(limit_s=1, least=5, clock=clock), clock.run)
    assert (len(taken.runs[0]), taken.ended) == (5, "time")


@pytest.mark.parametrize(
    ("stop", "round_s", "said"),
    [
        (Stop(limit_s=60, least=5), 10.0, ""),
        (Stop(limit_s=60, least=5), 30.0, "5 rounds and one to warm up take about 3 min, more than the 60 s for them"),
        (Stop(limit_s=0.5, least=5), 0.1, "5 rounds and one to warm up take about 0.6 s, more than the 0.5 s for them"),
        (Stop(9), 6.0, ""),
        (Stop(9), 10.0, "9 rounds and one to warm up take about 100 s"),
        (Stop(99), 90.0, "99 rounds and one to warm up take about 2.5 h"),
    ],
)
def test_the_estimate_of_rounds(stop: Stop, round_s: float, said: str) -> None:
    assert stop.estimate(round_s) == said


def test_the_estimate_is_said_after_the_first_run_and_after_the_first_round() -> None:
    """Nothing is said where the time suffices."""
    clock, heard = Clock(1.0, 4.0, *[2.0] * 99), list[tuple[float, str]]()
    stop = Stop(limit_s=10, least=5, clock=clock, say=lambda text: heard.append((clock.now, text)))
    interleaved("x", ["a", "b"], stop, clock.run, quiet)
    rest = "more than the 10 s for them"
    assert heard == [
        (101, f"x: 5 rounds and one to warm up take about 12 s, {rest}"),
        (105, f"x: 5 rounds and one to warm up take about 30 s, {rest}"),
    ]
    heard.clear()
    rapid = Clock(*[0.1] * 999)
    stop = stop._replace(clock=rapid)
    interleaved("x", ["a", "b"], stop, rapid.run, quiet)
    assert heard == []


@pytest.mark.parametrize("seed", range(40))
def test_rounds_end_within_their_time_and_a_quarter_on_a_busy_machine(seed: int) -> None:
    """Other work makes each run up to twice as long as the run before; five rounds there are whatever the time."""
    drawn = random.Random(seed)
    each_s = drawn.uniform(0.05, 3.0)
    clock = Clock(*(each_s * drawn.uniform(1, 2) for _ in range(9999)))
    taken = rounds(Stop(limit_s=30, least=5, clock=clock), clock.run)
    assert clock.now - 100 <= 1.25 * 30 or len(taken.runs[0]) == 5
    if 12 * 2 * each_s < 30:
        assert len(taken.runs[0]) > 5 or clock.now - 100 > 15
