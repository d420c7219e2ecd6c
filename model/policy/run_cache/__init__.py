"""Run cache: freed runs that a heap keeps for its own thread (docs/machine-rooms.md).

A design states its bytes: 0 names the row without a cache. The row in use gives NUMBERS
(`run_cache_bytes` and `run_cache_slots`, the most that a heap keeps), `cached_runs(state)`, the first
pages of the runs in all caches, whose equations it checks, and `held_bytes(state)`.
"""

from heapsmith.model.compile.dispatch import rows_of

ROWS = rows_of(__name__, __path__)
NEEDED = ("cached_runs", "held_bytes")
"""What each row has."""
