"""The limits of a marked test, and what its process says of it beside its trace."""

import re
from typing import Any, NamedTuple

import pytest

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([KMG]?)(?:i?B)?", re.IGNORECASE)

RUNS_FOR_LEAKS = 3
"""The first run fills caches; a leak is what each of the others leaves."""

SMALL = 256
"""Bytes that a function may leave in each run with no_leaks=True: pytest keeps some of each test itself."""


class Limits(NamedTuple):
    """What a marker says. leak: bytes that a function may leave in each run; None: it may leave anything."""

    max_peak: int | None
    max_allocations: int | None
    leak: int | None

    @property
    def runs(self) -> int:
        """How often the test runs."""
        return 1 if self.leak is None else RUNS_FOR_LEAKS


def limits_of(item: pytest.Item) -> Limits:
    """The limits of a marked test; UsageError for anything that is none."""
    marker = item.get_closest_marker("heapsmith")
    assert marker
    said: dict[str, Any] = {"max_peak": None, "max_allocations": None, "no_leaks": False}
    wrong = [str(one) for one in marker.args] + sorted(set(marker.kwargs) - set(said))
    said |= marker.kwargs
    count = said["max_allocations"]
    if wrong or not marker.kwargs or not (count is None or (type(count) is int and count >= 0)):
        text = ", ".join([*map(repr, marker.args), *(f"{name}={value!r}" for name, value in marker.kwargs.items())])
        raise pytest.UsageError(
            f"{item.nodeid}: heapsmith({text}): expected max_peak='10M', max_allocations=1000 or no_leaks=True"
        )
    leaks = said["no_leaks"]
    return Limits(
        None if said["max_peak"] is None else size_of(item, "max_peak", said["max_peak"]),
        count,
        None if leaks is False else SMALL if leaks is True else size_of(item, "no_leaks", leaks),
    )


def size_of(item: pytest.Item, name: str, value: object) -> int:
    """The bytes of 10240, '10K', '1.5 MB' or '2GiB'; all units are powers of 1024."""
    found = _SIZE.fullmatch(str(value)) if not isinstance(value, bool) else None
    if found is None:
        raise pytest.UsageError(f"{item.nodeid}: heapsmith({name}={value!r}): expected bytes such as 4096, '10M', '1G'")
    return int(float(found[1]) * UNITS[found[2].upper()])
