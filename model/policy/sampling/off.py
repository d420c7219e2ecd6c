"""Off: no request is a sample."""

from heapsmith.model.policy.emitted import NOTHING, Function

NAME = "off"
DEFAULT = True
OFF = True
ENTRY = Function("", hit=NOTHING)
