"""Guesses: what a design without a price will cost, learned from those that have been simulated both ways."""

from collections.abc import Sequence

import numpy as np

from heapsmith.model.search.pareto import Floats

RIDGE = 1.0
"""How much the guess distrusts a feature that few designs have."""

Features = dict[str, float]


class Guess:
    """A ridge regression of log(priced / glanced), for each objective, on the features of designs.

    Without caches a simulation knows the bytes and the instructions, but no miss. What a policy
    costs in misses is much the same in all designs of a trace, so a few priced designs tell it.
    """

    def __init__(self, features: Sequence[Features], glanced: Floats, priced: Floats) -> None:
        self._names = {name: index for index, name in enumerate(sorted({name for one in features for name in one}))}
        errors = np.log(priced) - np.log(glanced)
        self._mean = errors.mean(axis=0)
        matrix = self._matrix(features)
        self._centre = matrix.mean(axis=0)
        matrix = matrix - self._centre
        # Features outnumber designs: the inverse is that of the designs (Woodbury's identity).
        self._rows = matrix
        self._inverse = np.linalg.inv(matrix @ matrix.T + RIDGE * np.eye(len(matrix)))
        self._weights = matrix.T @ (self._inverse @ (errors - self._mean))
        self._spread = errors.std(axis=0)

    def __call__(self, features: Sequence[Features], glanced: Floats, hope: float = 0.0) -> Floats:
        """Return the guessed ratios of designs with these features and glances.

        hope: how many standard deviations of the guess they are taken to be better; it is large for
        features that no priced design has (the upper confidence bound of bandits: Auer, 2002).
        """
        known = self._matrix(features)
        new = np.array([sum(value for name, value in one.items() if name not in self._names) for one in features])
        known = known - self._centre
        shared = known @ self._rows.T
        explained = np.einsum("ij,jk,ik->i", shared, self._inverse, shared)
        doubt = np.sqrt(np.maximum((known**2).sum(axis=1) - explained, 0) / RIDGE + new / RIDGE)
        logs = np.log(glanced) + self._mean + known @ self._weights
        return np.asarray(np.exp(logs - hope * doubt[:, None] * self._spread))

    def _matrix(self, features: Sequence[Features]) -> Floats:
        found = np.zeros((len(features), len(self._names)))
        for row, one in enumerate(features):
            for name, value in one.items():
                if name in self._names:
                    found[row, self._names[name]] = value
        return found
