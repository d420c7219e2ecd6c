"""Small attacks under guarded samples of every request: how many end with a report of the block and its call stacks.

python -m heapsmith.bench.attacks.guarded prints the table of docs/lab/hardening.md.
"""

import os
import re
import subprocess
from collections import defaultdict
from pathlib import Path

import msgspec

from heapsmith.bench.attacks.attacks import LINE, Attack, tool
from heapsmith.bench.common.command import exit_with
from heapsmith.codegen.built import library_of
from heapsmith.model.design.design import Design, changed, load
from heapsmith.tools.common.tables import Words, draw
from heapsmith.tools.peers.peers import Library, preload

BASES = ("sampled", "checks", "hardened")
GUARDS = 64
SIZES = {"small": 40, "medium": 8000, "large": 1_500_000}
"""The bytes of an attack's block."""
KINDS = {
    "use after free": ("write_after_free", "memset_after_free", "read_after_free", "realloc_after_free"),
    "double free": ("double_free",),
    "overflow": ("overflow_", "read_over_"),
    "underflow": ("underflow_", "read_under_"),
    "not the start of a block": ("realloc_near", "size_of_near", "free_page_off", "free_near", "free_end", "free_unal"),
}
"""By the words of a report, how the names of attacks begin. The address behind a block may be told as an overflow."""
ALSO = {"not the start of a block": "overflow"}
REPORT = re.compile(
    r"^heapsmith: ([a-z ]+): 0x[0-9a-f]+, \d+ bytes [a-z]+ a block of (\d+) bytes at 0x[0-9a-f]+$", re.M
)
STACK = re.compile(
    r"^  (accessed|found|freed|allocated) by thread \d+:\n(?:    #\d+ 0x.*\n)*    #\d+ 0x[0-9a-f]+ \(\S*/attacks-\w+\+",
    re.M,
)
"""A stack with the attack in it, perhaps behind functions of the C library."""


class Reported(msgspec.Struct, frozen=True):
    """An attack of a kind, and whether a report names the kind and the block, and shows the stacks that there are."""

    kind: str
    attack: Attack
    is_whole: bool


def guarded(base: str, guards: int = GUARDS) -> Design:
    """A built-in design, of which every request is a sample."""
    return changed(
        load(base), f"{base}-guarded", {"sampling": {"kind": "countdown", "mean_bytes": 1, "guards": guards}}
    )


def kind_of(name: str) -> str | None:
    """The kind of an attack that guards look for."""
    return next((kind for kind, names in KINDS.items() if name.startswith(names)), None)


def is_whole(said: str, kind: str, size: str) -> bool:
    """Whether one report says what was done to which block, and by whom it was allocated, freed and used."""
    found = REPORT.findall(said)
    wanted = {"allocated", "freed"} if kind in ("use after free", "double free") else {"allocated"}
    stacks = set(STACK.findall(said))
    return (
        len(found) == 1
        and found[0][0] in (kind, ALSO.get(kind))
        and int(found[0][1]) == SIZES[size]
        and wanted < stacks
        and bool(stacks & {"accessed", "found"})
    )


def reported(library: Path) -> list[Reported]:
    """Run the attacks of these kinds under a library."""
    environment = os.environ | {"LD_PRELOAD": preload(Library("guarded", library), {})}
    done = subprocess.run(
        [tool(), "reports"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True
    )
    found, at = [], 0
    for line in LINE.finditer(done.stdout):
        attack, said = Attack(*line.groups()), done.stdout[at : line.start()]
        at = line.end()
        kind = kind_of(attack.name)
        if kind is not None:
            found.append(Reported(kind, attack, is_whole(said, kind, attack.size)))
    return found


def table(bases: tuple[str, ...] = BASES) -> list[list[str]]:
    """A row for each kind: attacks, and for each design those that end, and those that end with a whole report."""
    rows: dict[str, list[str]] = defaultdict(list)
    for base in bases:
        each = reported(library_of(guarded(base)))
        for kind in KINDS:
            of = [one for one in each if one.kind == kind]
            rows[kind] = rows[kind] or [str(len(of))]
            rows[kind].append(f"{sum(one.is_whole for one in of)}")
    return [[kind, *cells] for kind, cells in rows.items()]


def main() -> int:
    """Print the table."""
    draw(Words("", ("attack", "tried", *(f"`{base}`" for base in BASES)), table()))
    return 0


if __name__ == "__main__":
    exit_with(main)
