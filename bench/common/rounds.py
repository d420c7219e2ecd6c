"""Comparisons on a shared machine: interleaved rounds in rotated order, figures with spread."""

import statistics
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import msgspec

Run = TypeVar("Run")

Progress = Callable[[str, int, int], None]
"""Called as progress(what, done, total) during long work."""


def quiet(_what: str, _done: int, _total: int) -> None:
    """Report no progress."""


UNRELIABLE = 0.05
"""A spread above which a row gets a note."""


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


def quotients(values: Sequence[float], first: Sequence[float]) -> list[float]:
    """Values / first, round by round: drift over the rounds is in both and cancels. 0 / 0 is 1."""
    return [1.0 if v == f else v / f if f else float("inf") for v, f in zip(values, first, strict=True)]


def ratios(values: Sequence[float], first: Sequence[float]) -> Figure:
    """The figure of the quotients."""
    return Figure.of(quotients(values, first))


def schedule(entries: int, rounds: int) -> Iterator[tuple[int, int]]:
    """(round, entry) in order: each round begins one entry later; round 0 is the warm-up."""
    for number in range(rounds + 1):
        for i in range(entries):
            yield number, (number + i) % entries


def never(_found: object) -> bool:
    """Ask for all rounds."""
    return False


def interleaved(
    what: str,
    names: Sequence[str],
    rounds: int,
    run: Callable[[int], Run],
    progress: Progress,
    enough: Callable[[list[list[Run]]], bool] = never,
) -> list[list[Run]]:
    """By name, the results of the counted rounds; `run` is called with the name's index.

    After each counted round, `enough` says of the results whether the other rounds may be left out.
    """
    found: list[list[Run]] = [[] for _ in names]
    total = (rounds + 1) * len(names)
    for done, (number, entry) in enumerate(schedule(len(names), rounds)):
        if number > 1 and done % len(names) == 0 and enough(found):
            break
        progress(f"{what} under {names[entry]}", done, total)
        result = run(entry)
        if number > 0:
            found[entry].append(result)
    progress(what, total, total)
    return found


def spread_note(figure: Figure, what: str) -> str:
    """A warning if the rounds differ too much, else empty."""
    if figure.spread <= UNRELIABLE:
        return ""
    return f"{what} spreads {figure.spread:.0%} between quartiles: smaller differences mean nothing"
