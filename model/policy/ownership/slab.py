"""Slab: a heap owns the slabs that it acquired, and a slab's record names its heap.

Heaps share superslabs and empty slabs.
"""

NAME = "slab"
DEFAULT = True
OFF = True
IN_RECORD = True
CALLS = frozenset({"slab_of"})
