"""The call stacks that allocated blocks in a core file, of those of which its library took a sample."""

from bisect import bisect_left
from collections.abc import Sequence

import numpy as np

from heapsmith.tools.sampled.profile import grouped
from heapsmith.tools.sampled.snapshot import Snapshot
from heapsmith.tools.sites.grouping import shown
from heapsmith.tools.top.blocks import Place
from heapsmith.tools.top.process import PAGE_BYTES

Stacks = tuple[list[str], list[str], list[str]]


def stacks_at(last: Snapshot, places: Sequence[Place]) -> list[Stacks]:
    """Return for each place the stacks of its block, and of the block before and behind it.

    A sample is a large block, however small it is (docs/machine-rooms.md, 'sampling'): so its neighbours are too.
    A stack has the names of its sites, innermost first; it is [] where there is no sample of a live block. Only the
    stacks that are asked for get names.
    """
    samples = last.samples[np.argsort(last.samples["block"])]
    blocks, sizes, sites = (samples[name].tolist() for name in ("block", "bytes", "site"))

    def site_in(begin: int, end: int) -> int:
        """The site of the first sample that begins there; 0: of none."""
        at = bisect_left(blocks, begin)
        return sites[at] if at < len(blocks) and blocks[at] < end else 0

    def site_before(end: int) -> int:
        """The site of the sample that ends in the page before."""
        at = bisect_left(blocks, end) - 1
        return sites[at] if at >= 0 and end - PAGE_BYTES < blocks[at] + sizes[at] <= end else 0

    found = []
    for place in places:
        begin = place.begin or place.address
        end = begin + (place.bytes or 0)
        is_large = bool(place.bytes) and place.slab is None
        near = (site_before(begin), site_in(end, end + PAGE_BYTES)) if is_large else (0, 0)
        found.append((site_in(begin, end), *near))
    wanted = sorted(site for site in {site for row in found for site in row} if 0 < site < len(last.sites))
    rows = last.sites.copy()
    rows["depth"][np.setdiff1d(np.arange(len(rows)), wanted)] = 0
    groups = grouped(last._replace(sites=rows), "site", 0)
    names = [[shown("site", spot) for spot in path] for path in groups.paths]
    stacks = {site: names[groups.group_of_site[site]] for site in wanted}
    return [(stacks.get(own, []), stacks.get(left, []), stacks.get(right, [])) for own, left, right in found]
