"""Comparisons on a shared machine: interleaved rounds in shuffled order, and when they end."""

import random
import statistics
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, Generic, Literal, NamedTuple, TypeVar

import msgspec

from heapsmith.model.errors import BadInput
from heapsmith.tools.common.host_memory import fetch
from heapsmith.tools.common.units import span

Run = TypeVar("Run")

Progress = Callable[[str, int, int], None]
"""Called as progress(what, done, total) during long work."""


def quiet(_what: str, _done: int, _total: int) -> None:
    """Report no progress."""


Say = Callable[[str], None]
"""Called as say(sentence) with what the user ought to know before the work ends."""


def silent(_sentence: str) -> None:
    """Say nothing."""


LONG_S = 60.0
"""An estimate of rounds that take longer is said, also where their number was asked for."""

UNRELIABLE = 0.05
"""A spread above which a row gets a note."""

SEED = 20260101
"""With what is measured, the seed of the order of each round."""


class Figure(msgspec.Struct, frozen=True):
    """One quantity over the rounds; `spread` is the distance of the quartiles over the median."""

    minimum: float
    median: float
    spread: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Figure":
        """From at least one value; the spread of a single value is 0."""
        if len(values) < 2:
            return cls(values[0], values[0], 0.0)
        low, median, high = statistics.quantiles(values, n=4, method="inclusive")
        return cls(min(values), median, (high - low) / median if median else 0.0)


def orders(what: str, groups: Sequence[Hashable]) -> Iterator[list[int]]:
    """The entries of each round in order: as named in the warm-up round, then shuffled, without end.

    In a fixed order, a library on huge pages pays for the small pages of its predecessor. `groups`
    has the group of each entry. Entries of one group stay together: both the groups and the entries
    of each are shuffled. The same `what` has the same orders.
    """
    yield list(range(len(groups)))
    drawn = random.Random(f"{SEED} {what}")
    whole = {group: [entry for entry, its in enumerate(groups) if its == group] for group in groups}
    while True:
        shuffled = [drawn.sample(entries, len(entries)) for entries in whole.values()]
        drawn.shuffle(shuffled)
        yield [entry for entries in shuffled for entry in entries]


def never(_found: list[list[Any]]) -> bool:
    """Ask for all rounds."""
    return False


class Stop(NamedTuple):
    """When the rounds end: after `rounds`, or `limit_s`, or once `enough` is known, if that is earlier.

    No round begins that would end after `limit_s`, the warm-up round included, if it takes as long
    as the round before, but for the first `least`. Rounds without an end of either kind are refused.
    """

    rounds: int | None = None
    limit_s: float | None = None
    enough: Callable[[list[list[Any]]], bool] = never
    """Called with the results of the counted rounds, after each."""
    least: int = 0
    """Counted rounds that there are whatever `limit_s` says."""
    run_limit_s: float | None = None
    """The limit of one run, for those who make runs; a run may know a better one."""
    clock: Callable[[], float] = time.monotonic
    say: Say = silent
    """Hears how long the rounds will take (`estimate`), after the first run and after the first round."""

    def estimate(self, round_s: float) -> str:
        """How long the rounds take if each takes `round_s`, where that is more than was asked for; else empty."""
        counted = self.least if self.rounds is None else self.rounds
        whole_s, asked_s = (1 + counted) * round_s, LONG_S if self.limit_s is None else self.limit_s
        if whole_s <= asked_s:
            return ""
        rest = "" if self.limit_s is None else f", more than the {span(self.limit_s)} for them"
        return f"{counted} rounds and one to warm up take about {span(whole_s)}{rest}"

    def check(self) -> None:
        """Raise BadInput for rounds that cannot begin, or do not end."""
        if self.rounds is None and self.limit_s is None:
            raise BadInput("rounds: expected a number of rounds or a time")
        if self.rounds is not None and self.rounds < 1:
            raise BadInput(f"rounds: expected at least 1, not {self.rounds}")
        if self.limit_s is not None and self.limit_s <= 0:
            raise BadInput(f"time: expected more than 0 s, not {self.limit_s:g}")


Ended = Literal["rounds", "known", "time"]
"""Which part of a Stop ended the rounds."""


class Taken(NamedTuple, Generic[Run]):
    """By entry, a result for each counted round, and why there is no further round."""

    runs: list[list[Run]]
    ended: Ended


def interleaved(
    what: str,
    names: Sequence[str],
    stop: Stop,
    run: Callable[[int], Run],
    progress: Progress,
    groups: Sequence[Hashable] | None = None,
    resident: Callable[[Run], int] = lambda _: 0,
) -> Taken[Run]:
    """Run every entry once per round; `run` is called with the index of the entry's name.

    `resident` tells the bytes that a run had. Before each run as many are fetched from the host as
    any entry had in its last run, so that no entry finds other memory than the others.

    The first round warms up. It counts only if the time allows no other round. `groups`: as for
    `orders`; without it all entries are shuffled. Raises BadInput as Stop.check does.
    """
    stop.check()
    found: list[list[Run]] = [[] for _ in names]
    had = [0] * len(names)
    begun = stop.clock()
    for number, order in enumerate(orders(what, groups or [0] * len(names))):
        taken: dict[int, Run] = {}
        round_begun = stop.clock()
        for place, entry in enumerate(order):
            progress(f"{what} under {names[entry]}", *_part(stop, number, place, len(names), begun))
            fetch(max(had))
            taken[entry] = run(entry)
            had[entry] = resident(taken[entry])
            if number == 0 and place in (0, len(order) - 1):
                _tell(stop, what, (stop.clock() - round_begun) * len(order) / (place + 1))
        ended = _ended(stop, number, round_begun - begun, stop.clock() - round_begun)
        for entry, result in taken.items() if number > 0 or ended else ():
            found[entry].append(result)
        if ended is None and number > 0 and stop.enough(found):
            ended = "known"
        if ended is not None:
            progress(what, 1, 1)
            return Taken(found, ended)
    raise AssertionError("orders has no end")


def _tell(stop: Stop, what: str, round_s: float) -> None:
    if estimate := stop.estimate(round_s):
        stop.say(f"{what}: {estimate}")


def _ended(stop: Stop, number: int, before_s: float, took_s: float) -> Ended | None:
    """Why the round `number` is the last; it took `took_s`, all rounds before it `before_s`."""
    if number == stop.rounds:
        return "rounds"
    if stop.limit_s is not None and number >= stop.least and before_s + 2 * took_s > stop.limit_s:
        return "time"
    return None


def _part(stop: Stop, number: int, place: int, entries: int, begun: float) -> tuple[int, int]:
    """The part of the rounds that is done, and the whole."""
    if stop.rounds is not None:
        return number * entries + place, (stop.rounds + 1) * entries
    assert stop.limit_s is not None
    whole = max(1, round(stop.limit_s * 1000))
    return min(round((stop.clock() - begun) * 1000), whole - 1), whole
