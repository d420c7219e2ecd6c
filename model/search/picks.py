"""Picks: which of the designs that were looked at are priced next, by their guessed figures."""

from collections.abc import Sequence

import numpy as np

from heapsmith.model.search.choice import Favour
from heapsmith.model.search.pareto import Floats, Volume

FAVOURITES: tuple[Favour, ...] = ("balanced", "time", "memory")
PLAIN = 6
"""Of a batch, the first have the best guessed score by each favour, those up to PLAIN add most volume by the guess, and
the others add most if the guess is wrong in their favour. So all favours choose among the same designs.
"""

TURNS: tuple[Favour, ...] = ("balanced", "time", "balanced", "memory")
"""By whose score the designs to vary are the best, in turns."""


def picked(
    count: int, points: Floats, hoped: Floats, merits: Sequence[Floats], volume: Volume
) -> tuple[list[int], float]:
    """Return the indexes of up to `count` points to price, and the most volume that one of them is guessed to add.

    hoped: the points if the guess is wrong in their favour. merits: the least is best, by each of FAVOURITES.
    """
    found: list[int] = []
    gained = 0.0
    for _ in range(min(count, len(points))):
        merit = merits[len(found) % len(merits)]
        gains = -merit
        if len(found) >= len(FAVOURITES):
            gains = volume.gains(hoped if len(found) >= PLAIN else points)
        gains[found] = -np.inf
        top = float(gains.max())
        # Where no guess adds volume, the best scores are the next to learn from.
        ties = np.flatnonzero(gains >= top)
        index = int(ties[np.argmin(merit[ties])])
        gained = max(gained, top) if len(FAVOURITES) <= len(found) < PLAIN else gained
        found.append(index)
        volume.cover(points[[index]])
    return found, gained
