"""One instruction, as objdump shows it, and what differs between processors in reading it."""

import re
from collections.abc import Callable
from typing import Literal, NamedTuple

from heapsmith.model.policy.emitted import Hit

Way = Literal["on", "branch", "jump", "call", "ret", "dispatch"]
"""Where an instruction leads: to the next, there or elsewhere, elsewhere, into a function, back, through a table."""


class Unreadable(Exception):
    """The machine code has a form that this module cannot count."""


class Instruction(NamedTuple):
    """One instruction; `following` is the address after it."""

    address: int
    mnemonic: str
    operands: tuple[str, ...]
    following: int

    def __str__(self) -> str:
        return f"{self.mnemonic} {','.join(self.operands)}".strip()


def split(comment: str, between: str, shown: str) -> tuple[str, tuple[str, ...]]:
    """The mnemonic and the operands of an instruction, without objdump's comment; between: what parts operands."""
    parts = shown.partition(comment)[0].split(maxsplit=1)
    operands = re.split(between, parts[1].strip()) if len(parts) > 1 else []
    return parts[0], tuple(operands)


class Processor(NamedTuple):
    """How objdump's listings of a processor are read.

    split: an instruction's mnemonic and operands. way: where it leads; the last operand of a jump, branch or call
    is its target. effect: what it adds to a hit path; raises Unreadable for a form outside the tables.
    """

    format: str
    split: Callable[[str], tuple[str, tuple[str, ...]]]
    way: Callable[[Instruction], Way]
    effect: Callable[[Instruction], Hit]


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())
