"""Byte header: the last byte before each block holds its class; blocks lose a byte, not eight."""

from heapsmith.model.compile.kernel import hit_path
from heapsmith.model.memory.state import State
from heapsmith.model.policy.classifier.common import header_lines
from heapsmith.model.policy.emitted import Hit, Question

NAME = "byte_header"
RARE = True
RAISES = ("header_bytes", "bias")
HEADER_BYTES = 1
REGIONS = False
CLASS_MAP = False
CODE = Question(Hit(3, 0, 2), (">= CLASS_COUNT",), ("hs_free_large",), ranged=2)
"""Loads: the span's bounds and the header. Branches: block in the span? valid class?"""
COSTS = {
    f"free.class.stack.{NAME}": 4.85,
    f"free.class.table.{NAME}": 1.67,
    f"free.class.restartable.{NAME}": 4.85,  # as for stacks
    f"take.{NAME}": 7.01,
    f"call.realloc.{NAME}": 1.03,
}


@hit_path
def class_lines(state: State, block: int) -> None:
    """Touch the block's header for a read."""
    header_lines(state, block, 0)
