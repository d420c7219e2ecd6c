"""heapsmith: record what a program allocates, simulate allocator designs on it, generate and prove the best one."""

__version__ = "0.1.0"
