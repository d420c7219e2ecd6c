"""Next: free() passes a block of another malloc to the free() of the next library loaded."""

from heapsmith.model.policy.emitted import SPAN_FIRST, first_question

NAME = "next"
DEFAULT = True
PROBES = False
TRUSTS = False
CODE = SPAN_FIRST
code = first_question
