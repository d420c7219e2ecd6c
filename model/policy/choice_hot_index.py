"""Hot index: one slab per class serves refills until it is exhausted; the others wait on a LIFO list."""

NAME = "hot_index"
