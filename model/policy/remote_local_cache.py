"""Local cache: a free by any thread goes into that thread's own front; the store is shared under a lock."""

NAME = "local_cache"
