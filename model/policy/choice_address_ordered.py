"""Address order: refills come from the lowest slab that has a free block, so that high slabs drain empty."""

NAME = "address_ordered"
