"""What a row says of the emitted C: the functions, calls, tests and machine instructions that the audit expects.

A row's template and its runtime file have the row's name, in the folders of its room. A hit path is counted in machine
instructions that read memory, write it, or branch on a condition; an instruction that updates memory is a load and a
store. Addresses made without memory (lea), jumps always taken and the return are not counted. The figures are those of
GCC 12 for x86-64 with codegen/build.py's flags.
"""

from typing import NamedTuple


class Hit(NamedTuple):
    """Machine instructions of one hit path that read memory, write it, and branch on a condition."""

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
    """A path that is made of parts."""
    return Hit(*(sum(column) for column in zip(*parts, strict=True)))


NOTHING = Hit(0, 0, 0)

SELF = Hit(2, 0, 0)
"""hs_self: where it lies from the thread's base (a word of the global offset table), then itself."""

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


class FrontCode(NamedTuple):
    """A kind of front. drain: the function that empties it, as C; has_slots: whether its functions name their slots."""

    allocate: Function
    free: Function
    drain: str
    has_slots: bool = False


FULL = ">= {capacity}"
"""The condition under which a front that counts its blocks takes no more."""


class Question(NamedTuple):
    """What free asks of a block, and where it leaves for if the answer is not the usual one: a path for each test."""

    hit: Hit
    tests: tuple[str, ...] = ()
    leaves: tuple[str, ...] = ()
    calls: frozenset[str] = NO_CALLS


class Guard(NamedTuple):
    """What stands between the program and the machine: the functions that malloc and free call."""

    born: frozenset[str]
    dies: frozenset[str]
