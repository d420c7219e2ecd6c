"""Random traces that reach every corner of a small design soon: waves of few classes, four threads, odd sizes."""

import random

from heapsmith.model.design.plan import Plan
from heapsmith.model.trace.reader import Chunk, Op

LENT = 22
"""Blocks that the fronts of larger classes hold for a class, at most, in the designs here."""
THREADS = 4
EVENT_NS = 10_000
"""From an event to the next: milliseconds pass between waves."""


class _Writer:
    """Events in the order written, with block numbers as docs/trace.md has them."""

    def __init__(self, plan: Plan, seed: int) -> None:
        self.plan = plan
        self.random = random.Random(seed)
        self.events: list[tuple[int, int, int, int, int]] = []
        self.live: list[int] = []
        self.dead: list[int] = []
        self.blocks = 0

    def add(self, op: Op, thread: int, block: int = 0, size: int = 0, align_log2: int = 0) -> None:
        self.events.append((op, thread, block, size, align_log2))

    def times(self) -> range:
        return range(0, len(self.events) * EVENT_NS, EVENT_NS)

    def birth(self, thread: int, size: int, align_log2: int = 0) -> int:
        """A block by one of the three ways to get one."""
        if self.dead:
            block = self.dead.pop()
        else:
            block, self.blocks = self.blocks, self.blocks + 1
        op = Op.ALIGNED if align_log2 else self.random.choice((Op.MALLOC, Op.MALLOC, Op.CALLOC))
        self.add(op, thread, block, size, align_log2)
        self.live.append(block)
        return block

    def death(self, thread: int, block: int) -> None:
        self.live.remove(block)
        self.dead.append(block)
        if self.random.random() < 0.1:
            self.add(Op.FREE_SIZED, thread, block, self.random.randrange(100), self.random.choice((0, 0, 5)))
        else:
            self.add(Op.FREE, thread, block)


def nasty_trace(plan: Plan, seed: int = 1, waves: int = 60, crowd: int = 280) -> Chunk:
    """Some thousand events, the same for the same arguments. Threads appear in order, and exit and come back.

    crowd: huge blocks that live at once; 280 are more than the library's table of them has room for at first.
    """
    writer = _Writer(plan, seed)
    _begin(writer)
    _huge_crowd(writer, crowd)
    _every_entry(writer)
    _without_a_heap(writer)
    _fill_slabs(writer)
    _fill_run_cache(writer)
    _crowd_a_bin(writer)
    _grow_in_place(writer)
    _merge_much(writer)
    for wave in range(waves):
        thread = writer.random.choice((0, 0, 0, 1, 2, 3))
        other = writer.random.choice((thread, 0, 1, 2, 3))
        (_small_wave, _small_wave, _small_wave, _large_wave, _odd_wave)[wave % 5](writer, thread, other)
        if wave % 3 == 2:
            writer.add(Op.THREAD_EXIT, writer.random.choice((thread, other)))
    for block in writer.random.sample(writer.live, len(writer.live) * 3 // 4):
        writer.death(writer.random.randrange(THREADS), block)
    _fill_fronts(writer)  # last, so that batches wait in the transfer cache at the end
    columns = list(zip(*writer.events, strict=True))
    return Chunk.of(*columns, writer.times())


def _begin(writer: _Writer) -> None:
    """Threads appear. Each of them but the first frees a block of the first before it allocates."""
    writer.birth(0, 1)
    for thread in range(1, THREADS):
        writer.death(thread, writer.birth(0, 1))
        writer.birth(thread, 1)


def exhausting_trace(plan: Plan, seed: int = 1) -> Chunk:
    """A short life that uses up both spans of a plan, slabs first; then room for a little, and for more."""
    writer = _Writer(plan, seed)
    for thread in range(THREADS):
        writer.birth(thread, 1)
    for thread in range(THREADS):
        _small_wave(writer, thread, 0)
    _large_wave(writer, 0, 1)
    _fill_slab_span(writer)
    _small_wave(writer, 1, 0)
    _fill_run_span(writer)
    for thread in (0, 3, THREADS):  # the last is new: its prewarm finds nothing
        _at_the_end(writer, thread)
    for share in (9, 2):
        for block in writer.random.sample(writer.live, len(writer.live) // share):
            writer.death(writer.random.randrange(THREADS), block)
        writer.add(Op.THREAD_EXIT, 2)
        _small_wave(writer, 0, 1)
        _at_the_end(writer, 1)
    columns = list(zip(*writer.events, strict=True))
    return Chunk.of(*columns, writer.times())


def _small_wave(writer: _Writer, thread: int, other: int) -> None:
    """Many blocks of a class or two; most of them freed again, often by another thread, in some order; and again."""
    rows = writer.random.choices(writer.plan.classes, k=2)
    blocks = []
    for _ in range(writer.random.choice((5, 20, 50))):
        row = writer.random.choice(rows)
        blocks.append(writer.birth(thread, max(0, row.usable - writer.random.choice((0, 0, 0, 1, 7)))))
    if writer.random.random() < 0.5:
        writer.random.shuffle(blocks)
    for block in blocks[: len(blocks) * writer.random.choice((2, 3, 4)) // 4]:
        writer.death(writer.random.choice((thread, other)), block)
    for _ in range(writer.random.choice((3, 15))):
        writer.birth(thread, rows[0].usable)


def _large_wave(writer: _Writer, thread: int, other: int) -> None:
    """Runs that split, merge, grow, shrink and become huge, and huge blocks that become runs."""
    page, huge = writer.plan.page_bytes, writer.plan.huge_bytes
    lengths = sorted({1, 2, 3, 5, 9, 33, 40, 100, huge // page, huge // page - 1})
    pages = [length for length in lengths if writer.plan.small_limit < length * page <= huge]
    blocks = [writer.birth(thread, writer.random.choice(pages) * page) for _ in range(12)]
    for block in writer.random.sample(blocks, 5):
        for _ in range(3):
            size = writer.random.choice((*(length * page for length in pages), huge + 1, huge + 3 * page, 100))
            writer.add(Op.REALLOC, thread, block, size)
    last = writer.birth(thread, pages[0] * page - page // 2)
    for size in (pages[0] * page + 1, pages[-1] * page, huge + page, huge + page, huge + 2 * page):
        writer.add(Op.REALLOC, thread, last, size)
    for block in (*writer.random.sample(blocks, 9), last):
        writer.death(other, block)
    for align_log2 in (5, 12, 13, 16):
        writer.death(other, writer.birth(thread, writer.random.choice(pages) * page, align_log2))


def _run_pages(plan: Plan) -> list[int]:
    """Lengths of runs that a request can have."""
    most = plan.huge_bytes // plan.page_bytes
    return [length for length in range(1, min(most, 40) + 1) if length * plan.page_bytes > plan.small_limit]


def _run(writer: _Writer, thread: int, pages: int) -> int:
    """The birth of a run of `pages` pages."""
    return writer.birth(
        thread, max(writer.plan.small_limit + 1, pages * writer.plan.page_bytes - writer.plan.tail_bytes)
    )


def _fill_run_cache(writer: _Writer) -> None:
    """More runs than a heap keeps are freed by one thread, which then asks for some of these lengths again."""
    lengths = [writer.random.choice(_run_pages(writer.plan)[:3]) for _ in range(22)]
    for block in [_run(writer, 2, pages) for pages in lengths]:
        writer.death(2, block)
    blocks = [_run(writer, 2, pages) for pages in lengths[8::2]]
    for block in blocks:
        writer.death(writer.random.choice((1, 2)), block)


def _crowd_a_bin(writer: _Writer) -> None:
    """More free runs of one bin than an allocation looks at, kept apart by live ones; a thread without a heap frees."""
    lengths = _run_pages(writer.plan)
    several = [pages for pages in lengths if pages >= 33][:7] or lengths[-1:]
    walls, blocks = [], []
    for _ in range(40):
        blocks.append(_run(writer, 1, writer.random.choice(several)))
        walls.append(_run(writer, 1, lengths[0]))
    writer.add(Op.THREAD_EXIT, 3)
    for block in writer.random.sample(blocks, len(blocks)):
        writer.death(3, block)
    blocks = [_run(writer, 3, pages) for pages in writer.random.choices(several, k=25)]
    for block in walls + blocks:
        writer.death(3, block)
    writer.birth(3, 1)


def _grow_in_place(writer: _Writer) -> None:
    """Runs that grow over a free run behind them, and over the top: the heap's cache is emptied first."""
    lengths = _run_pages(writer.plan)
    if len(lengths) < 2:
        return
    for _ in range(3):
        first, second = _run(writer, 1, lengths[0]), _run(writer, 1, lengths[0])
        last = _run(writer, 1, writer.random.choice(lengths))
        writer.death(1, second)
        writer.add(Op.THREAD_EXIT, 1)
        for block in (first, last):
            writer.add(Op.REALLOC, 1, block, lengths[1] * writer.plan.page_bytes - writer.plan.tail_bytes)
        writer.birth(1, 1)


def _merge_much(writer: _Writer) -> None:
    """Runs that merge to one of over 10,240 pages, in the upper half of the bins, below a live one; then some of it.

    Where the longest run has 100 to 1,000 pages: shorter ones are too many, and longer ones cost more than they show.
    """
    longest = writer.plan.huge_bytes // writer.plan.page_bytes
    if not 100 <= longest <= 1000:
        return
    blocks = [_run(writer, 0, longest) for _ in range(1 + 10_240 // longest)]
    wall = _run(writer, 0, longest)
    for block in blocks:
        writer.death(0, block)
    for block in [*(_run(writer, 0, longest) for _ in range(20)), wall]:
        writer.death(0, block)


def _huge_crowd(writer: _Writer, crowd: int) -> None:
    """Many huge blocks, freed in another order."""
    blocks = [writer.birth(0, writer.plan.huge_bytes + 1) for _ in range(crowd)]
    for block in writer.random.sample(blocks, crowd):
        writer.death(0, block)


def _every_entry(writer: _Writer) -> None:
    """A block for each entry of the table from size to class."""
    for entry in range(len(writer.plan.size_class)):
        writer.death(0, writer.birth(0, max(0, entry * writer.plan.grain - writer.plan.bias)))


def _without_a_heap(writer: _Writer) -> None:
    """The first that a thread does after its exit is to free a block, or to allocate one: of every class."""
    for row in writer.plan.classes:
        block = writer.birth(0, row.usable)
        writer.add(Op.THREAD_EXIT, 3)
        writer.death(3, block)
        writer.add(Op.THREAD_EXIT, 3)
        block = writer.birth(3, row.usable)
        writer.death(0, block)


def _fill_fronts(writer: _Writer) -> None:
    """Every level of every front filled beyond its capacity, and emptied."""
    for row in writer.plan.classes:
        held = 2 * row.front.capacity + row.front.list_capacity + 2
        for _ in range(2):
            blocks = [writer.birth(0, row.usable) for _ in range(held)]
            for block in blocks:
                writer.death(0, block)


def _fill_slabs(writer: _Writer) -> None:
    """More blocks of every class than a slab has and larger classes lend, freed in another order."""
    more = 2 + LENT * (writer.plan.design.rounding is not None)
    for row in writer.plan.classes:
        blocks = [writer.birth(1, row.usable) for _ in range(row.blocks + more)]
        for block in writer.random.sample(blocks, len(blocks)):
            writer.death(1, block)


def _odd_wave(writer: _Writer, thread: int, other: int) -> None:
    """Every edge of every class, alignments, and reallocs of whatever lives."""
    for row in writer.plan.classes:
        for size in (row.usable - 1, row.usable, row.usable + 1):
            writer.birth(thread, size, writer.random.choice((0, 0, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)))
    for size in (0, 1, writer.plan.small_limit + 1, writer.plan.huge_bytes, writer.plan.huge_bytes + 1):
        writer.birth(other, size)
    for block in writer.random.sample(writer.live, min(len(writer.live), 25)):
        row = writer.random.choice(writer.plan.classes)
        edges = (1, row.usable // 2, (row.usable + 1) // 2, row.usable, row.usable + 1)
        writer.add(Op.REALLOC, writer.random.choice((thread, other)), block, max(1, writer.random.choice(edges)))
    for block in writer.random.sample(writer.live, len(writer.live) // 3):
        writer.death(writer.random.choice((thread, other)), block)


def _fill_slab_span(writer: _Writer) -> None:
    """More blocks of the class with the fewest in a slab than the span has room for; of a region, of two classes."""
    rows = sorted(writer.plan.classes, key=lambda row: row.blocks)[: 2 if writer.plan.regions > 1 else 1]
    slabs = writer.plan.region_superslabs * writer.plan.block_slabs
    for row in rows:
        for count in range(slabs * row.blocks + 20):
            writer.birth(count // 40 % 2, row.usable)
    for row in writer.plan.classes:  # what is left of their slabs
        for _ in range(row.blocks + 20):
            writer.birth(0, row.usable)


def _fill_run_span(writer: _Writer) -> None:
    """Runs until there is no room for the longest, then until there is none for the shortest."""
    lengths = _run_pages(writer.plan)
    for pages in (lengths[-1], lengths[0]):
        for _ in range(writer.plan.run_span_pages // (pages if pages > 8 else 64) + 2):
            _run(writer, 2, pages)


def _at_the_end(writer: _Writer, thread: int) -> None:
    """Every way to ask for memory, where there may be none."""
    for size in (1, writer.plan.small_limit, writer.plan.small_limit + 1, writer.plan.huge_bytes):
        for align_log2 in (0, 0, 6, 12):
            writer.birth(thread, size, align_log2)
        for block in writer.random.sample(writer.live, 4):
            writer.add(Op.REALLOC, thread, block, size)
