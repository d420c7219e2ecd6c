"""The emitted C's side of the policy tables: for each row what the audit expects of its C.

A row's template has the row's name: templates/front/array_stack.j2, and so on.
"""

from typing import NamedTuple

from heapsmith.codegen.hit import NOTHING, SELF, Hit, total

NO_CALLS = frozenset[str]()


class Function(NamedTuple):
    """A function of a class: alloc_<size> or free_<size>.

    leaves: the slow path that it leaves for; test: operator and right side of the condition for that, None where it
    always leaves; calls: the inline functions that it calls; hit: its hit path; hit_of_one: the same with a capacity of
    1, of which the compiler makes more.
    """

    leaves: str
    test: str | None = None
    calls: frozenset[str] = NO_CALLS
    hit: Hit | None = None
    hit_of_one: Hit | None = None


class Front(NamedTuple):
    """A kind of front. drain: the function that empties it, as C; has_slots: whether its functions name their slots."""

    allocate: Function
    free: Function
    drain: str
    has_slots: bool = False


FULL = ">= {capacity}"

FRONTS: dict[str, Front] = {
    "none": Front(Function("none_alloc"), Function("none_free"), "NULL"),
    "array_stack": Front(Function("array_stack_refill"), Function("array_stack_flush"), "array_stack_drain"),
    "fifo_ring": Front(
        # held, head and the slot read, held and head written
        Function("fifo_ring_refill", FULL, frozenset({"count_checked", "word_set"}), total(SELF, Hit(3, 2, 1))),
        # held and head read, slot and held written; a ring of capacity 1 has its head at 0
        Function(
            "fifo_ring_flush",
            FULL,
            frozenset({"count_checked", "word_set"}),
            total(SELF, Hit(2, 2, 1)),
            total(SELF, Hit(1, 2, 1)),
        ),
        "fifo_ring_drain",
        has_slots=True,
    ),
    "linked_list": Front(
        # list, the block's link and held read, list and held written
        Function(
            "linked_list_refill",
            "== NULL",
            frozenset({"count_checked", "link_take", "word_subtract"}),
            total(SELF, Hit(3, 2, 1)),
        ),
        # held and list read, all written
        Function(
            "linked_list_flush", FULL, frozenset({"count_checked", "link_set", "word_set"}), total(SELF, Hit(2, 3, 1))
        ),
        "linked_list_drain",
    ),
    "two_level": Front(Function("two_level_refill"), Function("two_level_spill"), "two_level_drain"),
}


class Question(NamedTuple):
    """What free asks of a block, and where it leaves for if the answer is not the usual one: a path for each test."""

    hit: Hit
    tests: tuple[str, ...] = ()
    leaves: tuple[str, ...] = ()
    calls: frozenset[str] = NO_CALLS


CLASSIFIERS: dict[str, Question] = {
    # all: the span's start and end; is the block in the span?
    "slab_map": Question(Hit(3, 0, 1)),  # and the slab's byte
    "class_region": Question(Hit(3, 0, 1)),  # and a region's width
    "header": Question(Hit(3, 0, 2), (">= CLASS_COUNT",), ("hs_free_large",)),  # and the header
}

REMOTES: dict[str, Question] = {
    "local_cache": Question(NOTHING),
    # the slab table's start, the owner; is it this thread's heap?
    "owner_list": Question(total(Hit(2, 0, 1), SELF), ("!= hs_self",), ("remote_free",), frozenset({"slab_of"})),
}


class Hardening(NamedTuple):
    """What stands between the program and the machine: the functions that malloc and free call."""

    born: frozenset[str]
    dies: frozenset[str]


HARDENINGS: dict[str, Hardening] = {
    "off": Hardening(NO_CALLS, NO_CALLS),
    "checks": Hardening(frozenset({"hs_born"}), frozenset({"hs_dies"})),
    "full": Hardening(frozenset({"hs_hand_out"}), frozenset({"hs_take_back"})),
}
