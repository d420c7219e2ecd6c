"""The first designs for traces with several threads, which no look without caches tells from others."""

from collections.abc import Iterator, Sequence

import msgspec

from heapsmith.model.design.design import Design
from heapsmith.model.search.draft import with_sizes
from heapsmith.model.search.exact import BUDGETS, Exact
from heapsmith.model.search.workers import Bench


def threads_apart(bench: Bench, base: Design, exact: Exact, built_ins: Sequence[Design]) -> Iterator[Design]:
    """Yield designs with which threads share fewer lines, and wait less where waits count.

    They are the base with classes of whole lines, the base with the other shards of the built-in designs, and a
    built-in design of each other policy for remote frees.
    """
    if all(source.footer.threads == 1 for source in bench.sources):
        return
    line = bench.hardware.line_bytes
    sizes = sorted({-(-size // line) * line for size in base.sizes})
    whole = with_sizes(base, sizes, base.slab_bytes)
    if sizes[-1] <= base.sizes[-1] and whole.why_not_valid() is None:
        yield exact.fronted(whole, BUDGETS[0]) or whole
    if bench.cores is not None:
        others = {repr(one.shards): one.shards for one in (base, *built_ins)}
        apart = [msgspec.structs.replace(base, shards=shards) for shards in list(others.values())[1:]]
        yield from (one for one in apart if one.why_not_valid() is None)
    kinds = {base.remote: base} | {one.remote: one for one in built_ins}
    yield from list(kinds.values())[1:]
