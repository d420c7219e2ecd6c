"""Hardening: what misuse the heap looks for, and what the checks cost.

A row has Params, STOPS (whether misuse that the library sees ends the program), TAIL_BYTES (taken
behind each block), ENCODES_LINKS, LIVE_MAP (whether a byte per grain of the slab span marks live
blocks), GUARDED (whether an inaccessible slab ends each superslab), and CODE
(model/policy/emitted.py). One with LOOKS looks at blocks on slow paths, and at the block that a
stack has on top. A row changes numbers of the Plan, not the machine.
"""

from heapsmith.model.compile.dispatch import rows_of

ROWS = rows_of(__name__, __path__)
NEEDED = ("STOPS", "LIVE_MAP", "TAIL_BYTES", "ENCODES_LINKS", "GUARDED", "Params")
"""What each row has."""
