"""Pareto fronts: which points no other dominates, the volume that they dominate, and what a new point adds."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
"""Points: shape (points, objectives); less is better in each objective."""

SAMPLES = 8192
"""Random places by which Volume measures; the exact volume costs too much inside the search."""


def nondominated(points: Floats) -> list[int]:
    """Return the indexes of the points that no other dominates; of equal points the first."""
    kept: list[int] = []
    for index in np.lexsort(points.T[::-1]).tolist():
        if not (points[kept] <= points[index]).all(axis=1).any():
            kept.append(index)
    return sorted(kept)


def hypervolume(points: Floats, reference: Floats) -> float:
    """Return the exact volume between `reference` and the points that are better in each objective.

    By slices along the last objective (Knowles, "Local-search and hybrid evolutionary algorithms
    for Pareto optimization", 2002); exponential in the number of objectives, so for few of them.
    """
    inside = points[(points < reference).all(axis=1)]
    if len(inside) == 0:
        return 0.0
    inside = inside[nondominated(inside)]
    if inside.shape[1] == 1:
        return float(reference[0] - inside.min())
    inside = inside[np.argsort(inside[:, -1], kind="stable")]
    ends = [*inside[1:, -1].tolist(), float(reference[-1])]
    volume = 0.0
    for count, (begin, end) in enumerate(zip(inside[:, -1].tolist(), ends, strict=True), 1):
        if end > begin:
            volume += (end - begin) * hypervolume(inside[:count, :-1], reference[:-1])
    return volume


class Volume:
    """The volume that points dominate, by random places between `best` and `reference`."""

    def __init__(self, best: Floats, reference: Floats, seed: int) -> None:
        places = np.random.default_rng(seed).random((SAMPLES, len(reference)))
        self._places = np.ascontiguousarray((best + places * (reference - best)).T)

    def cover(self, points: Floats) -> None:
        """Take the places that these points dominate out of what is left to gain."""
        for point in points:
            self._places = self._places[:, ~self._behind(point)]

    def gains(self, points: Floats) -> Floats:
        """Return for each point the share of all places that it alone would newly dominate."""
        found = [np.count_nonzero(self._behind(point)) for point in points]
        return np.array(found, np.float64) / SAMPLES

    def _behind(self, point: Floats) -> npt.NDArray[np.bool_]:
        """Say of each place whether the point dominates it: a row of `_places` is an objective."""
        behind = self._places[0] >= point[0]
        for row, least in zip(self._places[1:], point[1:], strict=True):
            behind &= row >= least
        return np.asarray(behind)


def spread(points: Floats, reference: Floats, count: int) -> Sequence[int]:
    """Return up to `count` points that together dominate most, by greedy choice, in that order."""
    volume = Volume(np.minimum(points.min(axis=0), reference) - 1e-9, reference, 0)
    chosen: list[int] = []
    while len(chosen) < min(count, len(points)):
        gains = volume.gains(points)
        gains[chosen] = -1
        best = int(np.argmax(gains))
        chosen.append(best)
        volume.cover(points[[best]])
    return chosen
