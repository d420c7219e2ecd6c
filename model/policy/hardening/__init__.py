"""Hardening: what misuse is looked for, and what that costs.

A row has NAME, DEFAULT where it is the default, TAIL_BYTES (taken behind each block), ENCODES_LINKS, LIVE_MAP (a byte
per grain of the slab span tells live blocks), Params (what a design states), `why_not_valid(params)`,
`guard_slabs(slabs_per_superslab)`, and CODE (model/policy/emitted.py). Numbers of the Plan alone change the machine.
"""

from heapsmith.model.compile.dispatch import rows_of

ROWS = rows_of(__name__, __path__)
