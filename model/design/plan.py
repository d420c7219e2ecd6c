"""The Plan: every number that follows from a Design, the only input of simulator and templates."""

from typing import Any

import msgspec

from heapsmith.model import constants, policy
from heapsmith.model.constants import LEAST_PAGE, MOST_PAGE, NEVER, PAGE
from heapsmith.model.design.class_plan import RECIPROCAL_SHIFT, ClassPlan, class_plans, size_classes_of
from heapsmith.model.design.design import Design
from heapsmith.model.design.legal import header_bytes, tail_bytes
from heapsmith.model.memory.layout import WORD, Layout, layout_of
from heapsmith.model.policy.emitted import BEHIND_COUNTS, Field

RUN_STEP_BYTES = 1 << 22
"""Bytes of the run span that are made accessible together, if the system permits."""
FROM_DESIGN = ("grain", "slab_bytes", "superslab_bytes", "run_span_bytes", "huge_bytes")
MAX_DIRECT_LIMIT = 1024
"""The largest request with an entry in a heap's own table, a byte for each size."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """All numbers of a heap. Spans and sizes are in bytes, counts in the units of their names.

    A number with a default is the same for all designs.
    """

    design: Design
    hash: str
    grain: int
    grain_shift: int
    bias: int
    header_bytes: int
    tail_bytes: int
    small_limit: int
    direct_limit: int
    has_above: bool
    size_class: list[int]
    classes: list[ClassPlan]
    class_count: int
    slots_per_heap: int
    slab_bytes: int
    slab_shift: int
    superslab_bytes: int
    slabs_per_superslab: int
    guard_slabs: int
    slab_span_bytes: int
    span_slabs: int
    regions: int
    region_bytes: int
    region_shift: int
    region_slabs: int
    region_superslabs: int
    slab_classes_bytes: int
    class_map_bytes: int
    live_map: int
    bitmap_words: int
    record_bytes: int
    record_counts_at: int
    head_slabs: int
    reciprocal_shift: int = RECIPROCAL_SHIFT
    page_bytes: int
    least_page_bytes: int = LEAST_PAGE
    huge_page_bytes: int = constants.HUGE_PAGE
    run_span_bytes: int
    run_span_pages: int
    run_step_bytes: int = RUN_STEP_BYTES
    run_step_pages: int
    run_bins: int = constants.RUN_BINS
    run_best_of: int = constants.RUN_BEST_OF
    huge_bytes: int
    slab_budget_bytes: int
    run_budget_bytes: int
    most_budget_bytes: int
    share_percent: int
    share_slab_bytes: int
    share_run_bytes: int
    share_wait_bytes: int
    share_wait_percent: int
    share_wait_parts: int = constants.SHARE_WAIT_PARTS
    share_miss_bytes: int
    share_drawn_bytes: int
    share_lesson_bytes: int
    peak_percent: int
    remap_bytes: int
    room_share: int = constants.ROOM_SHARE
    hardening: str
    stops: int
    check_given: int
    check_last: int
    encode_links: int
    quarantine: int
    dispatch: str
    inline_alloc: bool
    inline_free: bool
    release_lazily: int
    budget_growth: int = constants.BUDGET_GROWTH
    shrunk: int = constants.SHRUNK
    guard_bytes: int
    front_records: int
    store_records: int
    quarantine_slots: int
    zero_freed: int
    numbers: dict[str, int]  # of the rows that the design chose (model/policy)
    first_locks: dict[str, int]  # by table of policies with numbered locks, the first of them
    numbered_locks: int
    layout: Layout
    bounds: dict[str, int] = {}  # of a bounded design: what its loops are bounded by

    @property
    def block_slabs(self) -> int:
        """The slabs of a superslab that are for blocks."""
        return self.slabs_per_superslab - self.guard_slabs - self.head_slabs

    @property
    def sized(self) -> list[ClassPlan]:
        """The classes of the sizes alone; the further classes of groups of call sites follow them."""
        return [row for row in self.classes if not row.group]

    @property
    def has_drains(self) -> bool:
        """Whether some front keeps blocks that go to the store at its thread's end."""
        return any(policy.row("front", row.front.kind).CODE.drain != "NULL" for row in self.classes)

    @property
    def has_levels(self) -> bool:
        """Whether some front has levels below level 0."""
        return any(row.front.levels for row in self.classes)

    @property
    def has_levels_table(self) -> bool:
        """Whether the C has a table of levels: some front has other levels than one list below level 0."""
        return any(not row.front.has_plain_levels for row in self.classes)

    @property
    def has_stretches_below(self) -> bool:
        """Whether of some front the last level is a stretch of fresh blocks."""
        return any(row.front.stretch_depth for row in self.classes)

    @property
    def has_guards(self) -> bool:
        """Whether pages that no access may touch bound the slots of each class."""
        return any(row.front.guard_slots for row in self.classes)

    @property
    def by_table(self) -> bool:
        """Whether a table says what the C does for a class, since classes differ in it."""
        kinds = {row.front.kind for row in self.classes}
        has_hits = any(policy.row("front", kind).CODE.has_hits for kind in kinds)
        return len(kinds) > 1 or (self.dispatch == "table" and has_hits)

    @property
    def group_classes(self) -> list[list[int]]:
        """By group of call sites and class of a size, the class of the group's blocks of that size."""
        own = {(row.size, row.group): row.index for row in self.classes}
        groups = range(1 + max(row.group for row in self.classes))
        return [[own.get((row.size, group), row.index) for row in self.sized] for group in groups]

    @property
    def size_table(self) -> list[int]:
        """The library's table of classes, by the step of the design's size lookup; empty: no table."""
        step = self.design.row("size_lookup").table_step(self.design)
        return size_classes_of(self.sized, step, self.bias) if step else []


def make_plan(design: Design, page_bytes: int = PAGE) -> Plan:
    """Return the plan of a valid design on a system whose pages have this length (`fitted` for one of other pages)."""
    header, tail = header_bytes(design), tail_bytes(design)
    bias = header + tail
    classes = class_plans(design, header, tail, _first_slot(design))
    sized = classes[: len(design.sizes)]
    options, numbers = _options(design), _numbers(design)
    heaps = design.row("heaps")
    stacks = any(row.stack for row in classes)
    dispatch = heaps.DISPATCH if stacks and design.dispatch != "class" else "table"
    by_thread = dispatch == policy.default("heaps").DISPATCH
    inlines = stacks and heaps.DISPATCH == policy.default("heaps").DISPATCH and not design.row("hardening").STOPS
    inlines = inlines and not design.row("counting").COUNTS_HITS and not design.segregation
    inlines = inlines and not design.sampling
    inlines = inlines and not any(row.front.guard_slots for row in classes)
    per_byte = by_thread and design.row("size_lookup").PER_BYTE
    direct_limit = min(sized[-1].usable, MAX_DIRECT_LIMIT) if per_byte else 0
    slots_per_heap = classes[-1].slots_end
    return Plan(
        design=design,
        hash=design.hash(),
        grain_shift=design.grain.bit_length() - 1,
        bias=bias,
        header_bytes=header,
        tail_bytes=tail,
        small_limit=sized[-1].usable,
        direct_limit=direct_limit,
        has_above=0 < direct_limit < sized[-1].usable,
        size_class=size_classes_of(sized, design.grain, bias),
        classes=classes,
        class_count=len(classes),
        slots_per_heap=slots_per_heap,
        slab_shift=design.slab_bytes.bit_length() - 1,
        slabs_per_superslab=design.superslab_bytes // design.slab_bytes,
        bitmap_words=max(row.bitmap_words for row in classes),
        page_bytes=page_bytes,
        run_span_pages=design.run_span_bytes // page_bytes,
        run_step_pages=RUN_STEP_BYTES // page_bytes,
        hardening=design.row("hardening").NAME,
        check_last=int(by_thread and options["check_given"] and not any(row.front.guard_slots for row in classes)),
        dispatch=dispatch,
        inline_alloc=inlines,
        inline_free=inlines and _frees_by_size(design),
        layout=layout_of(
            len(classes),
            direct_limit,
            _records(options),
            slots_per_heap,
            *_heap_words(design),
            PAGE,
        ),
        **{field: getattr(design, field) for field in FROM_DESIGN},
        numbers=numbers,
        bounds=_bounds(design, classes),
        **design.row("slab_record").record(design)._asdict(),
        **_locks(design),
        **_slab_span(design),
        **options,
    )


def _first_slot(design: Design) -> int:
    """Return how many slots would fit before the first slot of a heap in its page, without a table of requests."""
    layout = layout_of(len(design.classes()), 0, _records(_options(design)), 0, *_heap_words(design), PAGE)
    return int(layout.slot) // WORD % (PAGE // WORD)


def _records(options: dict[str, Any]) -> tuple[int, int, int]:
    return options["front_records"], options["store_records"], options["quarantine_slots"]


def _bounds(design: Design, classes: list[ClassPlan]) -> dict[str, int]:
    """Return what bounds the loops of a bounded design: the most blocks of a refill and of what a front gives, and
    what rows add."""
    if not design.bounded:
        return {}
    most_given = max(max(row.front.flush, row.room, row.front.stretch) for row in classes)
    most_refill = max(max(row.front.refill, row.front.stretch) for row in classes)
    found = {"bounded": 1, "most_refill": most_refill, "most_given": most_given}
    for row in map(design.row, policy.TABLES):
        found |= row.bounds(design) if hasattr(row, "bounds") else {}
    return found


def heap_fields(design: Design) -> list[tuple[str, Field]]:
    """Return what the rows that the design chose add to struct heap, by its place, each field with its row's table."""
    rows = [(table, design.row(table)) for table in policy.TABLES]
    fields = [(table, field) for table, row in rows if hasattr(row, "heap_fields") for field in row.heap_fields(design)]
    return sorted(fields, key=lambda field: field[1].place)


def _heap_words(design: Design) -> tuple[int, int]:
    """Return the words of these fields in front of the remote list, and those behind the counters."""
    words = [(field.place == BEHIND_COUNTS, field.words) for _, field in heap_fields(design)]
    return sum(count for last, count in words if not last), sum(count for last, count in words if last)


def _has_records(design: Design) -> bool:
    """Return whether a heap has records of its fronts: not where each is a plain stack whose capacity is stated."""
    rows = [policy.front.row_of(design.front_of(size)) for size in design.sizes]
    return design.learner is not None or any(getattr(row, "RECORD", True) for row in rows)


def _frees_by_size(design: Design) -> bool:
    """Return whether any thread may push a block on the stack of its size's class, unasked."""
    return not design.row("remote").OWNED and not design.row("foreign").PROBES and design.rounding is None


def _numbers(design: Design) -> dict[str, int]:
    """Return the numbers of the rows that the design chose, by name."""
    rows = [row for row in map(design.row, policy.TABLES) if hasattr(row, "NUMBERS")]
    return {name: number for row in rows for name, number in row.numbers(design).items()}


def _locks(design: Design) -> dict[str, Any]:
    """Return the plan's numbers of the locks that have numbers: those of each table's row, one after the other."""
    first: dict[str, int] = {}
    count = 0
    for field in policy.TABLES:
        if hasattr(row := design.row(field), "locks"):
            first[field] = count
            count += row.locks(design)
    return {"first_locks": first, "numbered_locks": count}


def _slab_span(design: Design) -> dict[str, Any]:
    """Return the plan's numbers of the slab span: its regions, and the map of its slabs' classes."""
    classifier = design.row("classifier")
    regions = len(design.classes()) if classifier.REGIONS else 1
    region = design.region_bytes() if classifier.REGIONS else design.slab_span_bytes
    span_slabs = regions * region // design.slab_bytes
    map_bytes = classifier.map_bytes(design) if hasattr(classifier, "map_bytes") else 1
    return {
        "slab_span_bytes": regions * region,
        "span_slabs": span_slabs,
        "regions": regions,
        "region_bytes": region,
        "region_shift": region.bit_length() - 1,
        "region_slabs": region // design.slab_bytes,
        "region_superslabs": region // design.superslab_bytes,
        "class_map_bytes": map_bytes,
        "slab_classes_bytes": -(-span_slabs * map_bytes // MOST_PAGE) * MOST_PAGE if classifier.CLASS_MAP else 0,
    }


def _options(design: Design) -> dict[str, Any]:
    """Return the plan's numbers of page release and hardening; a policy without a number has 0.

    Guard slabs are never part of a huge page: a superslab that is always huge has none.
    """
    hardening = design.row("hardening")
    has_guards = hardening.GUARDED and design.superslab_bytes > design.slab_bytes
    has_guards = has_guards and not hasattr(design.row("thp"), "WHOLE")
    quarantine = getattr(design.hardening, "quarantine", 0)
    budgets = ["slab_budget_bytes", "run_budget_bytes", "most_budget_bytes"]
    budgets += ["share_percent", "share_slab_bytes", "share_run_bytes", "share_wait_bytes"]
    budgets += ["share_wait_percent", "peak_percent"]
    return {name: getattr(design.release, name, 0) for name in budgets} | {
        "share_miss_bytes": constants.SHARE_MISS_SLABS * design.slab_bytes,
        "share_drawn_bytes": constants.SHARE_DRAWN_SLABS * design.slab_bytes,
        "share_lesson_bytes": getattr(design.release, "share_wait_bytes", 0) // constants.SHARE_LESSONS,
        "remap_bytes": NEVER if design.remap_bytes is None or hardening.LIVE_MAP else design.remap_bytes,
        "release_lazily": int(getattr(design.release, "advice", "dontneed") == "free"),
        "guard_slabs": int(has_guards),
        "guard_bytes": has_guards * design.slab_bytes,
        "live_map": int(hardening.LIVE_MAP),
        "stops": int(hardening.STOPS),
        "check_given": int(hasattr(hardening, "LOOKS")),
        "encode_links": int(hardening.ENCODES_LINKS),
        "quarantine": quarantine,
        "front_records": len(design.classes()) if _has_records(design) else 1,
        "store_records": len(design.classes()) if design.row("remote").OWNED else 1,
        "quarantine_slots": max(1, quarantine),
        "zero_freed": int(hardening.TAIL_BYTES > 0),
    }
