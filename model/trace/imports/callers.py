"""Callers that a table names: each is the only frame of a site, and code without a file."""

import numpy as np

from heapsmith.model.trace.imports.format import About
from heapsmith.model.trace.stacks import CallTree


class Callers:
    """The sites of callers, by name."""

    def __init__(self, about: About) -> None:
        self._about = about
        self._sites: dict[str, int] = {}

    def are_told(self) -> None:
        """Give the trace sites, though no call may have one yet."""
        self._about.tree = self._tree

    def site(self, name: str) -> int:
        """Return the site of a caller, 0 without a name."""
        return self._sites.setdefault(name, len(self._sites) + 1) if name else 0

    def _tree(self) -> CallTree:
        if self._sites:
            self._about.extra["perf_map"] = [[site, 1, name] for name, site in self._sites.items()]
        count = len(self._sites)
        none = np.full(count, -1)
        return CallTree([], none, none, np.arange(1, count + 1), np.arange(count))
