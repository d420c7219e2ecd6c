"""Heap profiles of other tools as sizes and lifetimes (docs/other-tools.md, 'heap profiles')."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from heapsmith.model.errors import BadInput
from heapsmith.model.trace.imports.aggregates import (
    DHAT,
    GPERFTOOLS,
    JEMALLOC,
    PPROF,
    profile_of,
)
from heapsmith.model.trace.imports.source import Source
from heapsmith.model.trace.synth import dhat, heap_text, pprof
from heapsmith.model.trace.synth.fit import Blocks, LivesFit, Mix
from heapsmith.model.trace.synth.sums import Profile

READERS: dict[str, Callable[[Source], Profile]] = {
    JEMALLOC: heap_text.read_jemalloc,
    GPERFTOOLS: heap_text.read_gperftools,
    DHAT: dhat.read,
    PPROF: pprof.read,
}
"""By what `profile_of` says of the file."""


SHORTEST = 1e-3
"""The lifetime, in births, of blocks of which a profile tells only that none lives: they die before the next birth."""


class _Sum(NamedTuple):
    """Sums over the sites of one size."""

    births: float
    live: float


def fit_profile(path: Path) -> LivesFit | None:
    """Return the fit of a heap profile, or None if the file is none; BadInput if it is damaged or has no blocks.

    Sites with blocks of one mean size become one kind of blocks. Its weight is the births of these sites. Its mean
    lifetime in births of all blocks follows from the blocks live on average, by Little's law: they are the rate of
    births times the mean lifetime.
    """
    with Source(path) as source:
        what = profile_of(source.head)
        if what is None:
            return None
        if what not in READERS:
            raise BadInput(f"{path}: this is {what}, which does not tell sizes of blocks; expected another profile")
        profile = READERS[what](source)
    kinds: dict[int, _Sum] = defaultdict(lambda: _Sum(0, 0))
    for site in profile.sites:
        if site.births > 0:
            size = round(site.bytes / site.births)
            kinds[size] = _Sum(kinds[size].births + site.births, kinds[size].live + site.live)
    if not kinds:
        raise BadInput(f"{path}: has no blocks; expected a heap profile with some")
    births = sum(kind.births for kind in kinds.values())
    blocks = [_blocks(size, kind, births) for size, kind in sorted(kinds.items())]
    about = f"a program of which {what} was made"
    return LivesFit(_events(blocks, births), [Mix(blocks)], about=about, assumed=[*profile.assumed, *ASSUMED])


ASSUMED = [
    "all blocks of a site have its mean size",
    "births come at random, in no order",
    "lifetimes are exponential",
    "one thread makes all calls",
]


def _blocks(size: int, kind: _Sum, births: float) -> Blocks:
    """Return a kind of blocks; those that all live at the end of the profile never die."""
    lifetime = None if kind.live >= kind.births else max(kind.live * births / kind.births, SHORTEST)
    return Blocks(size, weight=kind.births, lifetime=lifetime)


def _events(blocks: Iterable[Blocks], births: float) -> int:
    """Return how many events these births and their deaths are."""
    lives = [(kind.weight, kind.lifetime) for kind in blocks if kind.lifetime is not None]
    return max(1, round(births + sum(weight * max(0.0, 1 - lifetime / births) for weight, lifetime in lives)))
