"""Ranges and sets of numbers as options say them: FIRST:LAST, shares of a whole, and lists like 0,2-5."""

import re
from collections.abc import Callable

from heapsmith.model.errors import BadInput

MAX = (1 << 63) - 1
_BOUND = re.compile(r"([0-9]+(?:\.[0-9]+)?)(%?)")


def span(option: str, text: str, unit: int = 1, whole: Callable[[], int] | None = None) -> tuple[int, int]:
    """The numbers of FIRST:LAST, times `unit`. A bound that is missing is 0 or MAX.

    whole: of what a bound like 25% is a share; 100% is the end, as a missing bound is. BadInput for any other text.
    """
    first, colon, last = text.partition(":")
    bounds = [_bound(option, text, bound, unit, whole) for bound in (first, last)] if colon else []
    if not bounds:
        raise BadInput(f"{option} {text}: expected FIRST:LAST; either may be missing")
    low, high = bounds[0] or 0, MAX if bounds[1] is None else bounds[1]
    if low > high:
        raise BadInput(f"{option} {text}: expected a first bound that is not above the last")
    return low, high


def inside(option: str, text: str, bounds: tuple[int, int], size: int, extent: str) -> tuple[int, int]:
    """The bounds, from the first to before the last; BadInput if none of 0 to `size` - 1 lies in them.

    extent: what there is, for the message.
    """
    if bounds[0] >= min(bounds[1], size):
        where = "is empty" if bounds[0] >= bounds[1] and bounds[0] < size else "lies outside the trace"
        raise BadInput(f"{option} {text}: {where}; {extent}")
    return bounds


def _bound(option: str, text: str, bound: str, unit: int, whole: Callable[[], int] | None) -> int | None:
    """The number of a bound, None for a missing one."""
    if not bound:
        return None
    found = _BOUND.fullmatch(bound)
    if found is None or (found[2] and whole is None) or ("." in found[1] and unit == 1 and not found[2]):
        kinds = "a number" if whole is None else "a number or a share like 25%"
        raise BadInput(f"{option} {text}: {bound!r} is no bound; expected {kinds}")
    if found[2] and whole is not None:
        share = float(found[1]) / 100
        return round(share * whole()) if share < 1 else MAX
    return min(round(float(found[1]) * unit), MAX) if "." in found[1] else min(int(found[1]) * unit, MAX)


def members(option: str, text: str) -> frozenset[int]:
    """The numbers of a list like 0,2-5; BadInput for any other text."""
    found: set[int] = set()
    for word in text.split(","):
        low, dash, high = word.partition("-")
        if not low.isdecimal() or (dash and not high.isdecimal()) or int(high or low) - int(low) not in range(1 << 20):
            raise BadInput(f"{option} {text}: expected numbers and ranges such as 0,2-5")
        found.update(range(int(low), int(high or low) + 1))
    return frozenset(found)
