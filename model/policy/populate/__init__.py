"""Populate: whether committed memory is made resident at once (docs/machine-rooms.md).

The row in use gives NUMBERS: `populate_bytes`, the bytes by which committed memory rises; or
`populate_share` and `populate_most_bytes`, by which a slab rises by the more pages the more slabs its
class has.
"""

from heapsmith.model.compile.dispatch import rows_of

ROWS = rows_of(__name__, __path__)
