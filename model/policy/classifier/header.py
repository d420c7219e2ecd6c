"""Header: 8 bytes before each block hold its class, written at every allocation and read at every free."""

from heapsmith.model.compile.kernel import hit_path
from heapsmith.model.memory.state import State
from heapsmith.model.policy.classifier.common import header_lines
from heapsmith.model.policy.emitted import Hit, Question

NAME = "header"
HEADER_BYTES = 8
REGIONS = False
CODE = Question(Hit(3, 0, 2), (">= CLASS_COUNT",), ("hs_free_large",))
"""The span's start and end, and the header; is the block in the span, and is there such a class?"""


@hit_path
def class_lines(state: State, block: int) -> None:
    """The block's header is read."""
    header_lines(state, block, 0)
