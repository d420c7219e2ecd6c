"""heapsmith: record what a program allocates, simulate allocator designs on it, generate and prove the best one."""

import os

__version__ = "0.1.0"

# numba reads this when it is imported; its compiled kernels belong in the user's cache, not beside the sources.
os.environ.setdefault(
    "NUMBA_CACHE_DIR",
    os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "heapsmith", "numba"),
)
