"""Segregation: whether calls from some sites get blocks from slabs of their own (docs/machine-rooms.md).

The row in use gives NUMBERS: `site_groups` (the groups besides group 0) and `sized_classes` (the
classes before the first of a group). `extra_classes(params)` is the size and the group of each
further class, in their order.
"""

from heapsmith.model.compile.dispatch import rows_of

ROWS = rows_of(__name__, __path__)
