"""Pools under a lock: whoever acquires or retires a slab holds the pool lock meanwhile."""

NAME = "locked"
DEFAULT = True
OFF = True
SWAPS = 0
LOCKED = ("slab.acquire", "slab.retire", "slab.superslab", "heap.create", "heap.adopt")
