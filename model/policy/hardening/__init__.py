"""Hardening: what misuse is looked for, and what that costs.

A row has Params, TAIL_BYTES (taken behind each block), ENCODES_LINKS, LIVE_MAP (whether a byte per
grain of the slab span tells live blocks), GUARDED (whether an inaccessible slab ends each
superslab), and CODE (model/policy/emitted.py). It changes the machine by numbers of the Plan.
"""

from heapsmith.model.compile.dispatch import rows_of

ROWS = rows_of(__name__, __path__)
