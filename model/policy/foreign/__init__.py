"""Foreign pointers: what free() does with a block of another malloc, and how it tells (docs/api.md).

A row has PROBES (whether each free asks the system first), TRUSTS (whether free() looks at no
pointer), and CODE (model/policy/emitted.py): the first question of free(). `hit` is what the
question costs beside a comparison with the span's bounds. A row may have WITH: files of C by room and name that it
needs too.
"""

from heapsmith.model.compile.dispatch import rows_of

ROWS = rows_of(__name__, __path__)
NEEDED = ("PROBES", "TRUSTS", "CODE")
"""What each row has."""
