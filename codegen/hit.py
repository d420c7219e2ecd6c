"""Hit: what a hit path costs, in machine instructions; the unit of the claims and of what the audit finds.

Counted are machine instructions that read memory, write it, or branch on a condition; one that updates memory is a
load and a store. Addresses made without memory (lea), jumps always taken and the return are not counted. The figures
of the claims are those of GCC 12 for x86-64 with codegen/build.py's flags.
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
