"""Slab map: one byte per slab of the span names its class; free() learns the class with one load and no header."""

NAME = "slab_map"
