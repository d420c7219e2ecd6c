"""Named: a signal handler prints a line on a fault in the heap's code, and a slab knows a block that it got already."""

NAME = "named"
UNPRICED = True
MOMENTS = ("start",)
