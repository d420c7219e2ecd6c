"""Leak: free() ignores a block of another malloc, and realloc() of such a block fails."""

from heapsmith.model.policy.emitted import SPAN_FIRST

NAME = "leak"
PROBES = False
TRUSTS = False
CODE = SPAN_FIRST
