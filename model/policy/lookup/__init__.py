"""Size lookup: how malloc finds the class of a request (docs/machine-rooms.md).

The class of each size is the Plan's, whatever the row. A row says how the C finds it: PER_BYTE
(whether each heap has a byte for each size up to a limit, where malloc goes by rows),
`table_step(design)` (bytes per entry of the library's table; 0: there is no table), CODE
(model/policy/emitted.py), and the kernel below.
"""

from heapsmith.model.compile.dispatch import rows_of

ROWS = rows_of(__name__, __path__)
NEEDED = ("PER_BYTE", "table_step", "CODE", "size_lines")
"""What each row has."""
