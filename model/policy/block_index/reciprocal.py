"""The block index by a multiplication with the stride's reciprocal, and a shift."""

from heapsmith.model.memory.layout import CLASS_RECIPROCAL

NAME = "reciprocal"
DEFAULT = True
OFF = True
DIVIDES = False
AT = CLASS_RECIPROCAL
