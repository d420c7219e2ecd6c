"""heapsmith: record a program's allocations, simulate allocator designs on them, generate and prove the best one's C."""

__version__ = "0.1.0"
