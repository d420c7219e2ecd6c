"""Callers that a file names: each is the only frame of a site, and code without a file."""

import numpy as np

from heapsmith.model.trace.imports.format import About
from heapsmith.model.trace.stacks import CallTree


class Callers:
    """The sites of callers. With the first of them the trace gets sites."""

    def __init__(self, about: About) -> None:
        self._about = about
        self._sites: dict[str, int] = {}
        self._addresses: list[int] = []

    def site(self, name: str, address: int | None = None) -> int:
        """Return the site of a caller, 0 without a name; address: that of the code, if the file tells it."""
        if name and name not in self._sites:
            self._about.tree = self._tree
            self._sites[name] = len(self._sites) + 1
            self._addresses.append(len(self._sites) if address is None else address)
        return self._sites[name] if name else 0

    def _tree(self) -> CallTree:
        names = dict(zip(self._addresses, self._sites, strict=True))
        self._about.extra["perf_map"] = [[address, 1, names[address]] for address in sorted(names)]
        none = np.full(len(self._addresses), -1)
        return CallTree([], none, none, np.array(self._addresses, np.int64), np.arange(none.size))
