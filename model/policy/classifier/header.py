"""Header: 8 bytes before each block hold its class; malloc writes them and free reads them."""

from heapsmith.model.compile.kernel import hit_path
from heapsmith.model.memory.state import State
from heapsmith.model.policy.classifier.common import header_lines
from heapsmith.model.policy.emitted import Hit, Question

NAME = "header"
RARE = True
RAISES = ("header_bytes", "bias")
HEADER_BYTES = 8
REGIONS = False
CLASS_MAP = False
CODE = Question(Hit(3, 0, 2), (">= CLASS_COUNT",), ("hs_free_large",), ranged=2)
"""Loads: the span's bounds and the header. Branches: block in the span? valid class?"""
COSTS = {
    f"free.class.stack.{NAME}": 3.92,
    f"free.class.table.{NAME}": 1.67,
    f"free.class.restartable.{NAME}": 3.92,  # as for stacks
    f"take.{NAME}": 6.45,
    f"call.realloc.{NAME}": 6.15,
}


@hit_path
def class_lines(state: State, block: int) -> None:
    """Touch the block's header for a read."""
    header_lines(state, block, 0)
