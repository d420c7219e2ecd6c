"""Dispatch by row and by class: the instructions and mispredictions of a malloc and its free."""

from typing import NamedTuple

from heapsmith.bench.common.command import exit_with
from heapsmith.bench.programs.instructions import BRANCH_SIM, events_per_operation
from heapsmith.bench.programs.micro_rows import MICRO
from heapsmith.codegen.built import library_of
from heapsmith.model.design.design import load

FORMS = {row.name: row for row in MICRO if row.name in ("pair-32", "mixed", "skewed")}
"""One size in turn; all classes at random; mostly small sizes at random."""

DESIGNS = ("default", "ring", "sll")
"""Equal classes and slabs: array stacks dispatch by row; rings and lists by class."""

OPERATIONS = 20_000


class Cost(NamedTuple):
    """A malloc and its free with call and PLT; of the indirect `jumps`, two are the PLT's."""

    instructions: float
    jumps: float
    mispredicted: float


def cost(form: str, design: str, *, operations: int = OPERATIONS) -> Cost:
    """The cost of a pair in a row of FORMS under a design. Raises Missing without valgrind."""
    counted = events_per_operation(FORMS[form], library_of(load(design)), operations, (BRANCH_SIM,))
    instructions, _, branches_missed, jumps, jumps_missed = map(float, counted)
    return Cost(instructions, jumps, branches_missed + jumps_missed)


def main() -> int:
    """Print the table of docs/dispatch.md."""
    for form in FORMS:
        for design in DESIGNS:
            found = "{:.1f} instructions, {:.1f} indirect jumps, {:.2f} mispredicted".format(*cost(form, design))
            print(f"{form}, {design}: {found}")
    return 0


if __name__ == "__main__":
    exit_with(main)
