"""Leak: free() ignores a block of another malloc, and realloc() of such a block fails."""

NAME = "leak"
DEFAULT = True
