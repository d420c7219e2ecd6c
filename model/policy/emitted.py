"""The record of the emitted C that each row has: functions, calls, tests and instruction counts.

The audit holds the C against these records. A row's template and its runtime file have the row's
name, in the folders of its room. A hit path is counted in machine instructions that read memory,
write memory, or branch on a condition. An instruction that updates memory is a load and a store.
Instructions that compute an address (lea), unconditional jumps and the return are not counted. The
counts are for GCC 12 on x86-64 with codegen/build.py's flags.
"""

from typing import Any, NamedTuple


class Hit(NamedTuple):
    """Machine instructions of one hit path that read memory, write memory, and branch."""

    loads: int
    stores: int
    branches: int

    def __str__(self) -> str:
        """For example: 4 loads, 1 store, 1 branch."""
        return (
            f"{self.loads} load{'s' * (self.loads != 1)}, {self.stores} store{'s' * (self.stores != 1)}, "
            f"{self.branches} branch{'es' * (self.branches != 1)}"
        )


def total(*parts: Hit) -> Hit:
    """Return the sum of the parts of a path."""
    return Hit(*(sum(column) for column in zip(*parts, strict=True)))


NOTHING = Hit(0, 0, 0)

SELF = Hit(2, 0, 0)
"""hs_self: its offset (a word of the global offset table), then its value."""

NO_CALLS = frozenset[str]()


class Function(NamedTuple):
    """A function of a class: alloc_<size> or free_<size>.

    leaves: the slow path that the function leaves for, empty where a fault of the processor is all
    that leads to one; test: operator and right side of the condition for leaving ({capacity} and
    {name} are the class's), None if there is nothing but the slow path; calls: the inline functions
    that it calls; hit: its hit path; hit_of_one: its hit path with a capacity of 1, which the
    compiler simplifies more; numbers: those of the class that it names besides its capacity and its
    blocks.
    """

    leaves: str
    test: str | None = None
    calls: frozenset[str] = NO_CALLS
    hit: Hit | None = None
    hit_of_one: Hit | None = None
    numbers: tuple[str, ...] = ()


class FrontCode(NamedTuple):
    """The code of a front. drain: the C function that empties it; has_slots: if it has slots.

    lend: the C function that takes a block of level 0 for another class (rounding). resize: the
    function that changes the capacity of level 0 (learner).
    """

    allocate: Function
    free: Function
    drain: str
    has_slots: bool = False
    lend: str = "stack_lend"
    resize: str = "NULL"

    @property
    def has_hits(self) -> bool:
        """Whether its functions do anything but call the slow paths."""
        return self.allocate.hit is not None


FULL = ">= {capacity}"
"""The condition under which a front that counts its blocks is full."""


class Question(NamedTuple):
    """The questions that free() asks about a block, and the slow path of each unusual answer.

    ranged: loads in `hit` that serve only the comparison with the span's bounds. emits: the functions
    that the template emits besides, each with the function that it calls; none with a quarantine,
    for which each thread that frees has a heap, or gets none. goes_on: the slow paths that the
    template emits, each with what it asks before it goes on as free() does. by_record: whether the
    answer is in the slab's record; `hit` has the load of the address of their table.
    """

    hit: Hit
    tests: tuple[str, ...] = ()
    leaves: tuple[str, ...] = ()
    calls: frozenset[str] = NO_CALLS
    ranged: int = 1
    emits: tuple[tuple[str, str], ...] = ()
    goes_on: tuple[tuple[str, "Question"], ...] = ()
    by_record: bool = False


def code_of(design: Any, field: str) -> Any:
    """Return the record of the row that a design has of a field: the row's CODE, or its `code(design)`."""
    row = design.row(field)
    return row.code(design) if hasattr(row, "code") else row.CODE


SPAN_FIRST = Question(NOTHING, ("!in_slab_span(block)",), ("hs_free_large",), frozenset({"in_slab_span"}))
"""The first question of free(): is the block in the slab span? Its loads are the classifier's."""


def first_question(design: Any) -> Question:
    """Return the first question of a free() that trusts no pointer: the classifier's, or the span's."""
    found: Question = getattr(design.row("classifier"), "FIRST", SPAN_FIRST)
    return found


BEHIND_FRONTS, BEFORE_LIST, BEHIND_COUNTS = range(3)
"""Places in struct heap, in their order: behind the fronts; right in front of the list of blocks that other threads
freed; and behind the counters, where only slow paths of the heap's own thread come.
"""


class Field(NamedTuple):
    """A field that a row adds to struct heap: its declaration in C, its words of 8 bytes, what it holds, and where."""

    declaration: str
    words: int
    about: str
    place: int = BEHIND_FRONTS


class Guard(NamedTuple):
    """The functions that malloc and free call to check, fill or hold back a block.

    born: for one of a stack. born_any: for any block, or none. dies: for one that is freed. straight:
    they have no loop, and call inline functions alone. pushed: for one
    that goes to a stack; `looks` is what that costs. made: for one of C++'s operator new.
    """

    born: frozenset[str]
    born_any: frozenset[str]
    dies: frozenset[str]
    straight: bool = True
    pushed: frozenset[str] = NO_CALLS
    looks: Hit = NOTHING
    made: frozenset[str] = NO_CALLS
