"""Leak: free() ignores a block of another malloc, and realloc() of such a block fails."""

from heapsmith.model.policy.emitted import SPAN_FIRST, first_question

NAME = "leak"
PROBES = False
TRUSTS = False
CODE = SPAN_FIRST
code = first_question
