"""The pool: what heaps that own slabs lock to take slabs from the pools and superslabs they share.

A row has SWAPS: 0, 1 (slabs go to the pools and come back without a lock) or 2 (new slabs of a
mapped superslab come without a lock too). LOCKED names the kinds of the price whose time passes
under the pool lock (model/predict/cost.py). It changes no decision and no address.
"""

from heapsmith.model.compile.dispatch import rows_of

ROWS = rows_of(__name__, __path__)
NEEDED = ("SWAPS", "LOCKED")
"""What each row has."""
