"""Crash: what a library says of a fault in its own code (docs/hardening.md). It changes no decision and no address."""

from heapsmith.model.compile.dispatch import rows_of

ROWS = rows_of(__name__, __path__)
