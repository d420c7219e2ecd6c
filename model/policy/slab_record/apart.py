"""Records apart: one table of the records of all slabs, parallel to the slab span."""

from typing import Any

import msgspec

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory.layout import Record
from heapsmith.model.memory.state import State
from heapsmith.model.parts.committed import commit_calls
from heapsmith.model.policy.slab_record import common
from heapsmith.model.policy.slab_record.common import Alignment, ClassNumbers, record_files, record_numbers, record_of

NAME = "apart"
DEFAULT = True
OFF = True
COSTS: dict[str, float] = {}  # of kinds that other rows have too
TABLE = True
NUMBERS = ("record_class_bytes", "record_alignment", "record_extra")
RARE_NUMBERS = ("record_class_bytes", "record_extra")


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """The records of all slabs lie in one table, apart from the blocks.

    alignment: packed, or each record on lines of its own, which takes more memory and keeps threads
    apart. class_numbers: a refill and a free read the numbers of the class in the plan's table, or a
    copy in each record, so that they read more of the record and less of the table.
    """

    alignment: Alignment = "packed"
    class_numbers: ClassNumbers = "plan"


def numbers(design: Any) -> dict[str, int]:
    """Return the numbers of the record."""
    return record_numbers(design.slab_record or Params())


def files(design: Any) -> dict[str, str]:
    """Return the headers of the row by what they are for."""
    return record_files(design.slab_record or Params())


stride_lines, visit_lines, slab_acquired = common.stride_lines, common.visit_lines, common.slab_acquired


@kernel
def commit_records(state: State, place: int, slabs: int) -> None:
    """Count the call that makes the table usable for new slabs."""
    state.memory_calls += commit_calls(place, slabs, state.record_bytes)


def record(design: Any) -> Record:
    """Return where the records lie and how long they are."""
    return record_of(numbers(design))
