"""Peaks of a trace's live bytes without the blocks of a group."""

from collections.abc import Sequence

import numpy as np

from heapsmith.model.predict.pins_at_moments import Grouped
from heapsmith.model.predict.simulate import Progress
from heapsmith.model.trace.events import Op
from heapsmith.model.trace.reader import TraceReader
from heapsmith.model.trace.site_lives import NO_GROUP, SiteLives


def peaks_without(grouped: Grouped, chosen: Sequence[int], progress: Progress | None = None) -> list[int]:
    """Return, for each of these groups, the most live bytes of all other groups at one time: one pass."""
    live = [0] * len(chosen)
    most = [0] * len(chosen)
    with TraceReader(grouped.trace) as reader:
        lives = SiteLives(reader.footer.max_blocks, grouped.group_of_site, grouped.groups)
        for chunk, site in reader.sited():
            step = lives.feed(chunk, site)
            for number, group in enumerate(chosen):
                enters = (chunk.op < Op.FREE) & (step.group != group)
                leaves = (step.before != NO_GROUP) & (step.before != group)
                change = np.where(enters, chunk.size, 0) - np.where(leaves, step.bytes_before, 0)
                after = live[number] + np.cumsum(change)
                most[number] = max(most[number], int(after.max(initial=0)))
                live[number] = int(after[-1]) if after.size else live[number]
            if progress:
                progress("looking for other peaks", lives.events, reader.footer.events)
    return most
