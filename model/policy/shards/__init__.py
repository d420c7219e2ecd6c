"""Shards: into how many parts the store that all heaps share is divided (docs/machine-rooms.md).

The row in use gives NUMBERS: `shards`, `shard_records`, 1 where the record of a slab names its
shard, and `shard_nodes`, 1 where shards belong to nodes and have pools of their own. LOCKED and
CACHED name the kinds of the price (model/predict/cost.py) whose time passes under the lock of a
shard's store, and under that of its transfer cache.
"""

from heapsmith.model.compile.dispatch import rows_of

ROWS = rows_of(__name__, __path__)
NEEDED = ("LOCKED", "CACHED")
"""What each row has."""
