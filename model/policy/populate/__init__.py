"""Populate: whether committed memory is made resident at once (docs/machine.md section 6).

The row in use gives NUMBERS: `populate_pages`, the pages by which committed memory rises.
"""

from heapsmith.model.compile.dispatch import rows_of

ROWS = rows_of(__name__, __path__)
