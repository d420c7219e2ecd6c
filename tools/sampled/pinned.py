"""Whose live blocks keep slabs resident that they do not fill, from samples: by size class and site.

The samples of a class tell which share of its live blocks a site has; the slabs of the class, with the live blocks of
each, are known from outside. Where in the slabs the blocks of a site lie is not known. So the value takes them to be
spread as all others are, and the bounds are those of the best and the worst place: all in the fullest slabs, or all in
the emptiest. The interval of the share is that of Korn and Graubard ("Confidence intervals for proportions with small
expected number of positive counts estimated from survey data", 1998): of Clopper and Pearson, for as many samples as
would tell as much if they all stood for the same number of blocks.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv

from heapsmith.tools.sampled.estimates import TAIL, Estimate, shares

I64 = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]


class SitePins(msgspec.Struct, frozen=True):
    """What live blocks of a site keep in the slabs of a class.

    samples: of the site's live blocks, and of all of the class. live_blocks: of the site, in slabs. kept_bytes: bytes
    of these slabs that no live block has; those of a slab count for each of its live blocks alike.
    """

    size: int
    site: str
    samples: int
    class_samples: int
    live_blocks: Estimate
    kept_bytes: Estimate


class Slabs(NamedTuple):
    """The slabs of a class that have a live block: how many each has, and its committed bytes that none of them has."""

    live: I64
    unused: I64

    def kept(self, low: float, value: float, high: float) -> Estimate:
        """What this many blocks keep, wherever they lie."""
        each = self.unused / self.live
        order = np.argsort(each)
        bounds = [
            float(np.interp(count, _sums(self.live[rows]), _sums(self.unused[rows])))
            for count, rows in ((low, order), (high, order[::-1]))
        ]
        return Estimate(value * int(self.unused.sum()) / int(self.live.sum()), *bounds)


def _sums(of: I64) -> F64:
    return np.concatenate([[0], np.cumsum(of)]).astype(np.float64)


def share(own: F64, every: F64) -> Estimate:
    """Which part of a population has the property of some of its samples; of what each sample stands for."""
    whole, squares = float(every.sum()), float((every**2).sum())
    value = float(own.sum()) / whole
    count = whole**2 / squares
    has = value * count
    low = float(betaincinv(has, count - has + 1, TAIL)) if has > 0 else 0.0
    high = float(betaincinv(has + 1, count - has, 1 - TAIL)) if has < count * (1 - 1e-12) else 1.0
    return Estimate(value, min(low, value), max(high, value))


def estimate(slabs: Slabs, own: F64, every: F64) -> tuple[Estimate, Estimate]:
    """The live blocks of a site in these slabs, and what they keep; of the blocks that its samples stand for, and all.

    Blocks that are samples lie in no slab: each stands for those that are not.
    """
    of, count = share(own, every), int(slabs.live.sum())
    low, value, high = float(np.floor(of.low * count)), of.value * count, float(np.ceil(of.high * count))
    return Estimate(value, low, high), slabs.kept(low, value, high)


def unsampled(sizes: Any, means: Any) -> F64:
    """How many blocks that are no samples each sample stands for."""
    chance = shares(sizes, means)
    found: F64 = (1 - chance) / chance
    return found


def by_site(classes: Mapping[int, Slabs], usable: I64, samples: Any, site: I64, names: list[str]) -> list[SitePins]:
    """The rows of all classes and sites with a sample: first those that keep most.

    classes: slabs by the usable bytes of their blocks; usable: of all classes of the library, in order. samples: of
    live blocks (snapshot.SAMPLE), with the number of the name of each one's site.
    """
    small = samples["bytes"] <= usable[-1]
    samples, site = samples[small], site[small]
    size_of = usable[np.searchsorted(usable, samples["bytes"])]
    stands = unsampled(samples["bytes"], samples["mean"])
    found = []
    for size, slabs in classes.items():
        inside = size_of == size
        if not slabs.live.sum() or not stands[inside].sum():
            continue
        for number in np.unique(site[inside]).tolist():
            own = inside & (site == number)
            figures = estimate(slabs, stands[own], stands[inside])
            found.append(SitePins(size, names[number], int(own.sum()), int(inside.sum()), *figures))
    return sorted(found, key=lambda row: (-row.kept_bytes.value, row.size, row.site))
