"""The memory of a marked test in the trace of its process: from a mark at its begin to one at its end."""

from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from heapsmith.model.errors import CheckFailed
from heapsmith.model.trace.events import Chunk
from heapsmith.model.trace.reader import Op, TraceReader
from heapsmith.model.trace.site_lives import EVENT, GROUP_OF, I64, SiteLives
from heapsmith.tools.sites.grouping import Groups, group_sites

LAST_OF_BLOCKS = int(Op.FREE_SIZED)
"""The operations up to this one are of blocks."""


class Held(msgspec.Struct, frozen=True):
    """What a function holds or asked for."""

    name: str
    module: str
    blocks: int
    bytes: int


class Used(msgspec.Struct, frozen=True):
    """A test in figures, of the blocks that it made itself. left: bytes that each of its later runs left, at least."""

    allocations: int
    peak_bytes: int
    left: int


class Holders(msgspec.Struct, frozen=True):
    """The functions that hold most at the peak, make most allocations, and leave most in each run."""

    at_peak: list[Held]
    asked: list[Held]
    leaked: list[Held]


class Runs(NamedTuple):
    """The runs of a test in its trace. The first tells the figures; a leak is what each of the others leaves.

    left: of each site the blocks and bytes of each later run that are live at the end.
    """

    first: SiteLives
    left: list[I64]


def runs_of(trace: Path, mark: int, group_of_site: I64 | None = None, groups: int = 1) -> Runs:
    """Follow the blocks of a test by groups of sites, by default as one group.

    The marks are callocs of `mark` bytes: before and after each run, and at the end. Raises CheckFailed without them.
    """
    group_of = np.zeros(stacks_of(trace) + 1, np.int64) if group_of_site is None else group_of_site
    at = marks(trace, mark)
    if len(at) < 3 or len(at) % 2 == 0:
        raise CheckFailed(f"{trace}: {len(at)} marks of the begin and end of a test; expected an odd number")
    first, *later = zip(at[:-1:2], at[1:-1:2], strict=True)
    left = [survivors(born_within(trace, group_of, groups, (begin, at[-1])), end - begin) for begin, end in later]
    return Runs(born_within(trace, group_of, groups, first), left)


def stacks_of(trace: Path) -> int:
    """Return the number of stacks of a trace, which may have none."""
    with TraceReader(trace) as reader:
        tree = reader.stacks()
    return tree.innermost.size if tree else 0


def used(trace: Path, mark: int) -> Used:
    """Return the figures of a test; its trace needs no stacks."""
    runs = runs_of(trace, mark)
    return Used(
        int(runs.first.groups["requests"].sum()),
        runs.first.peak()[1],
        min((int(one[1].sum()) for one in runs.left), default=0),
    )


def holders(trace: Path, mark: int, allowed: int) -> Holders:
    """Return the functions of a test, of a trace with stacks. Leaks are more than `allowed` bytes in each run."""
    count = stacks_of(trace) + 1
    runs = runs_of(trace, mark, np.arange(count), count)
    made = np.flatnonzero(np.sum([runs.first.groups["requests"], *(one[0] for one in runs.left)], axis=0))
    named = group_sites(trace, "function", only=[site for site in made.tolist() if site])
    group_of = named.grouped.group_of_site

    def by_function(blocks: I64, held: I64) -> I64:
        rows = [np.bincount(group_of, weights=column, minlength=len(named.paths)) for column in (blocks, held)]
        return np.stack(rows).astype(np.int64)

    of = runs.first.groups
    leaked = np.minimum.reduce([by_function(*one) for one in runs.left] or [np.zeros((2, len(named.paths)), np.int64)])
    leaked[:, leaked[1] <= allowed] = 0
    return Holders(
        _held(named, by_function(of["peak_blocks"], of["peak_bytes"])),
        _held(named, by_function(of["requests"], of["bytes"]), most_of=0),
        _held(named, leaked),
    )


def marks(trace: Path, size: int) -> list[int]:
    """Return the numbers of the callocs of a size."""
    found, done = [], 0
    with TraceReader(trace) as reader:
        for chunk in reader:
            found.append(done + np.flatnonzero((chunk.op == Op.CALLOC) & (chunk.size == size)))
            done += chunk.op.size
    numbers: list[int] = np.concatenate(found).tolist() if found else []
    return numbers


def born_within(trace: Path, group_of: I64, groups: int, between: tuple[int, int]) -> SiteLives:
    """Follow the blocks that are born between two events, and no other block."""
    chunks, sites, done = [], [], 0
    with TraceReader(trace) as reader:
        blocks = reader.footer.max_blocks
        for chunk, site in reader.sited():
            a, b = (min(max(bound - done, 0), chunk.op.size) for bound in (between[0] + 1, between[1]))
            chunks.append(chunk.part(a, b))
            sites.append(site[a:b])
            done += chunk.op.size
    whole, site = Chunk.of(*map(np.concatenate, zip(*chunks, strict=True))), np.concatenate(sites)
    of_blocks = np.flatnonzero(whole.op <= LAST_OF_BLOCKS)
    _, places = np.unique(whole.block[of_blocks], return_index=True)
    firsts = of_blocks[places]  # of each block number the first event: what is freed there was born before
    op = whole.op.copy()
    op[firsts[op[firsts] == Op.REALLOC]] = Op.MALLOC
    kept = np.ones(op.size, bool)
    kept[firsts[op[firsts] >= Op.FREE]] = False
    lives = SiteLives(blocks, group_of, groups)
    lives.feed(Chunk.of(*(column[kept] for column in whole._replace(op=op))), site[kept])
    return lives


def survivors(lives: SiteLives, events: int) -> I64:
    """Return the live blocks of each group, and their bytes, of those that the first `events` events made."""
    live = lives.of_block[:, lives.live()]
    live = live[:, live[EVENT] < events]
    count = len(lives.groups)
    both = [np.bincount(live[GROUP_OF], weights=of, minlength=count) for of in (np.ones(live.shape[1]), live[1])]
    return np.stack(both).astype(np.int64)


def _held(groups: Groups, of: I64, most_of: int = 1) -> list[Held]:
    """The groups that have blocks; first those with most bytes, or with `most_of` 0 blocks."""
    order = np.argsort(-of[most_of], kind="stable")
    rows: list[int] = order[of[0, order] > 0].tolist()
    return [Held(groups.name(at), groups.paths[at][0].module, int(of[0, at]), int(of[1, at])) for at in rows]
