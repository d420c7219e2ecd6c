"""Slab records: where they lie and what they hold (docs/machine-rooms.md).

The row in use gives those of NUMBERS that are not 0: `head_slabs`, the slabs of a superslab that
hold records; `record_alignment`; `record_class_bytes`, the bytes of the class's numbers in a
record; `record_extra`, the bytes of a record beyond those of a packed record without them. TABLE
says whether the library keeps a table of records, whose start it loads to find a record.
"""

from heapsmith.model.compile.dispatch import rows_of

ROWS = rows_of(__name__, __path__)
NEEDED = ("TABLE", "numbers")
"""What each row has."""
