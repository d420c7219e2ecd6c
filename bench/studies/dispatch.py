"""Dispatch by row and by class: the instructions and mispredictions of a malloc and its free, and their bytes.

python -m heapsmith.bench.studies.dispatch writes the table of docs/lab/dispatch.md.
"""

import re
import subprocess
from pathlib import Path
from typing import NamedTuple

from heapsmith.bench.common.command import exit_with
from heapsmith.bench.programs.instructions import BRANCH_SIM, events_per_operation
from heapsmith.bench.programs.micro_rows import MICRO
from heapsmith.codegen.built import library_of
from heapsmith.codegen.claims import exits
from heapsmith.codegen.toolchain import find_tool
from heapsmith.model.design.design import Design, changed, load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.errors import CheckFailed
from heapsmith.model.files import write_text
from heapsmith.model.toml_text import read_text

FORMS = {row.name: row for row in MICRO if row.name in ("pair-32", "mixed", "skewed")}
"""One size in turn; all classes at random; mostly small sizes at random."""

DESIGNS = {
    "array stacks, by row": load("default"),
    "the same, by class": changed(load("default"), "default-by-class", {"dispatch": "class"}),
    "FIFO rings, by class": load("ring"),
    "linked lists, by class": load("sll"),
}
"""Equal classes and slabs."""

OPERATIONS = 20_000
PAGE = Path(__file__).resolve().parents[2] / "docs" / "lab" / "dispatch.md"
TABLE = re.compile(r"(?<=<!-- by python -m heapsmith\.bench\.studies\.dispatch -->\n\n).*?(?=\n\n)", re.DOTALL)


class Cost(NamedTuple):
    """A malloc and its free with call and PLT; of the indirect `jumps`, two are the PLT's."""

    instructions: float
    jumps: float
    mispredicted: float


def cost(form: str, design: Design, *, operations: int = OPERATIONS) -> Cost:
    """The cost of a pair in a row of FORMS under a design. Raises Missing without valgrind."""
    counted = events_per_operation(FORMS[form], library_of(design), operations, (BRANCH_SIM,))
    instructions, _, branches_missed, jumps, jumps_missed = map(float, counted)
    return Cost(instructions, jumps, branches_missed + jumps_missed)


def code_bytes(design: Design) -> int:
    """The bytes of malloc and free and of the functions that they go on to, but for slow paths. Raises without nm."""
    command = [find_tool("nm"), "-S", "--defined-only", str(library_of(design))]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    own = {*exits(make_plan(design)), "malloc_miss", "free_miss", "hs_free_small"}
    sizes = [
        (row[3], int(row[1], 16)) for row in map(str.split, shown.splitlines()) if len(row) == 4 and row[2] in "tT"
    ]
    return sum(size for name, size in sizes if re.split(r"[.@]", name)[0] in own)


def table() -> str:
    """The table of the page."""
    rows = [["", "", *DESIGNS], [":--", ":--", *["--:"] * len(DESIGNS)]]
    for form in FORMS:
        costs = [cost(form, design) for design in DESIGNS.values()]
        rows.append([f"`{form}`", "instructions", *[f"{one.instructions:.1f}" for one in costs]])
        rows.append(["", "indirect jumps", *[f"{one.jumps:.0f}" for one in costs]])
        rows.append(["", "mispredictions", *[f"{abs(one.mispredicted):.2f}" for one in costs]])
    rows.append(["code", "bytes", *[f"{code_bytes(design):,}" for design in DESIGNS.values()]])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def main() -> int:
    """Write the table into docs/lab/dispatch.md, and print it."""
    page, found = read_text(PAGE, str(PAGE)), table()
    if not TABLE.search(page):
        raise CheckFailed(f"{PAGE.name}: expected the table behind its comment")
    write_text(PAGE, TABLE.sub(lambda _: found, page))
    print(found)
    return 0


if __name__ == "__main__":
    exit_with(main)
