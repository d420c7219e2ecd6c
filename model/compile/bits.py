"""Bits of 32-bit words, for kernels."""

import numpy as np

from heapsmith.model.compile.kernel import kernel

FULL = (1 << 32) - 1

DE_BRUIJN = 0x077CB531
"""A de Bruijn sequence: its 32 bits hold each 5-bit word once (Leiserson, Prokop and Randall, "Using
de Bruijn sequences to index a 1 in a computer word", 1998).
"""

BIT_INDEX = np.zeros(32, np.int64)
for _bit in range(32):
    BIT_INDEX[(DE_BRUIJN << _bit & FULL) >> 27] = _bit


@kernel
def bit_index(bit: int) -> int:
    """Return the index of the only set bit of a word."""
    return int(BIT_INDEX[(bit * DE_BRUIJN & FULL) >> 27])
