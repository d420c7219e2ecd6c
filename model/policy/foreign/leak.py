"""Leak: a block of another malloc handed to free() is left alone; realloc() of one fails: its size is unknown."""

NAME = "leak"
DEFAULT = True
