"""The block index by a division by the stride: it takes several times as long as a multiplication."""

from heapsmith.model.memory.layout import CLASS_STRIDE

NAME = "division"
DIVIDES = True
AT = CLASS_STRIDE
