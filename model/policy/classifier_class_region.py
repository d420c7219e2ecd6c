"""Region per class: the class is the address bits above the region; no table, but no slab changes its class."""

NAME = "class_region"
