"""The designs with which a search begins: the base for its traces, the built-in designs, and those for threads."""

from collections.abc import Iterator
from itertools import chain, zip_longest

import msgspec

from heapsmith.model.design.design import Design, builtin_names, load
from heapsmith.model.search.draft import with_sizes
from heapsmith.model.search.exact import BUDGETS, Exact
from heapsmith.model.search.space import is_priced, kept_fields, paged, unpriced_fields
from heapsmith.model.search.workers import Bench

RUN_CACHES = (0, 65_536, 262_144)
"""Bytes of run caches to begin with, besides the base's."""


class Starts:
    """The first designs of a search from a base. free: what it may change, as keywords of `space`."""

    def __init__(self, base: Design, exact: Exact, free: dict[str, bool]) -> None:
        self._base, self._exact, self._free = base, exact, free

    def designs(self) -> Iterator[Design]:
        """Yield the designs with which the search begins; the same design may come twice.

        Built-in and `paged` designs come early: a short search looks at no more than the first of all these.
        """
        first = zip_longest(self._shaped_base(), self.built_ins(), paged(self._base, **self._free))
        return chain(filter(None, chain.from_iterable(first)), self._others())

    def _shaped_base(self) -> Iterator[Design]:
        """Yield the base with the classes and capacities for the traces, and with other run caches."""
        yield from self._exact.retuned(self._base, BUDGETS, list(self._exact.shapes()))
        for cache in RUN_CACHES:
            yield msgspec.structs.replace(self._base, run_cache_bytes=cache)

    def _others(self) -> Iterator[Design]:
        """Yield the built-in designs with classes and capacities for the traces."""
        largest = max(limit for _, limit in self._exact.shapes())
        for design in self.built_ins():
            shapes = [(design.slab_bytes, largest), (min(16_384, self._base.slab_bytes), 2048)]
            yield from self._exact.retuned(design, BUDGETS[:2], shapes)

    def built_ins(self) -> Iterator[Design]:
        """Yield the built-in designs with the base's values of what the search may not change, where they are legal."""
        offered = (one for one in map(load, builtin_names()) if is_priced(one))
        return filter(None, map(self._as_base, offered))

    def reach(self, design: Design, max_classes: int) -> bool:
        """Say whether a design differs from the base only in what the search may change, within its bounds."""
        kept = kept_fields(**self._free) | {"grain"} | unpriced_fields(design)
        most = max(max_classes, len(self._base.sizes)), self._base.sizes[-1]
        same = all(getattr(design, name) == getattr(self._base, name) for name in kept)
        return same and len(design.sizes) <= most[0] and design.sizes[-1] <= most[1]

    def _as_base(self, design: Design) -> Design | None:
        """Return a design with the base's values of what the search may not change, or None."""
        kept = kept_fields(**self._free) | {"grain", "slab_span_bytes"}
        fields = {name: getattr(self._base, name) for name in kept}
        made = msgspec.structs.replace(design, name=self._base.name, about="", **fields)
        if design.sizes[-1] > self._base.sizes[-1]:
            return None
        return made if made.why_not_valid() is None else None

    def threads_apart(self, bench: Bench) -> Iterator[Design]:
        """Yield designs with which threads share fewer lines, and wait less where waits count.

        No look without caches tells them from others. They are the base with classes of whole lines, the base with the
        other shards of the built-in designs, and a built-in design of each other policy for remote frees.
        """
        if all(source.footer.threads == 1 for source in bench.sources):
            return
        built_ins = list(self.built_ins())
        line = bench.hardware.line_bytes
        sizes = sorted({-(-size // line) * line for size in self._base.sizes})
        whole = with_sizes(self._base, sizes, self._base.slab_bytes)
        if sizes[-1] <= self._base.sizes[-1] and whole.why_not_valid() is None:
            yield self._exact.fronted(whole, BUDGETS[0]) or whole
        if bench.cores is not None:
            others = {repr(one.shards): one.shards for one in (self._base, *built_ins)}
            apart = [msgspec.structs.replace(self._base, shards=shards) for shards in list(others.values())[1:]]
            yield from (one for one in apart if one.why_not_valid() is None)
        kinds = {self._base.remote: self._base} | {one.remote: one for one in built_ins}
        yield from list(kinds.values())[1:]
