"""Ring over list: short for a FIFO ring over a linked list (front `levels`)."""

from heapsmith.model.policy.front import two_level
from heapsmith.model.policy.front.two_level import OverList

NAME = "ring_over_list"
SPELLS = True


class Params(OverList, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """FIFO ring (level 0, a power of two) over an intrusive linked list (level 1)."""


why_not_valid, row_of, derive = two_level.why_not_valid, two_level.row_of, two_level.derive
