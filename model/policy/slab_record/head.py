"""Records at the head: the first slabs of a superslab hold the records of all its slabs."""

from typing import Any

import msgspec

from heapsmith.model.errors import Refusal
from heapsmith.model.memory.layout import SLAB_BYTES, Record
from heapsmith.model.policy.slab_record import common
from heapsmith.model.policy.slab_record.common import Alignment, ClassNumbers, record_files, record_numbers, record_of

NAME = "head"
RARE = True
COSTS: dict[str, float] = {}  # of kinds that other rows have too
TABLE = False
NUMBERS = ("head_slabs", "record_class_bytes", "record_alignment", "record_extra")


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """The first slabs of a superslab hold the records of its slabs, and no blocks.

    alignment: as for apart; class_numbers: as for apart. No table is loaded to find a record, but all superslabs have
    their records at the same offset: they share few sets of a cache. With 32 slabs of 64 KiB a 32nd of the addresses is
    lost, of which one page is touched.
    """

    alignment: Alignment = "packed"
    class_numbers: ClassNumbers = "plan"


def why_not_with(design: Any) -> Refusal | None:
    """Return why the records leave no slab for blocks, or None."""
    guards = int(design.row("hardening").GUARDED)
    most = design.superslab_bytes // design.slab_bytes - guards
    if numbers(design)["head_slabs"] < most:
        return None
    words = (
        f"superslab_bytes: {design.superslab_bytes} cannot go with slab_record '{NAME}'; expected room for a slab "
        f"beside the records{' and the guard slab' if guards else ''}"
    )
    return Refusal(words, ("superslab_bytes", "slab_record"))


def numbers(design: Any) -> dict[str, int]:
    """Return the numbers of the record, and the slabs that a superslab's records take."""
    found = record_numbers(design.slab_record)
    slabs = design.superslab_bytes // design.slab_bytes
    record_bytes = SLAB_BYTES + found.get("record_extra", 0)
    return {"head_slabs": -(-slabs * record_bytes // design.slab_bytes), **found}


def files(design: Any) -> dict[str, str]:
    """Return the headers of the row by what they are for."""
    return record_files(design.slab_record)


stride_lines, visit_lines, slab_acquired = common.stride_lines, common.visit_lines, common.slab_acquired


def record(design: Any) -> Record:
    """Return where the records lie and how long they are."""
    return record_of(numbers(design))
