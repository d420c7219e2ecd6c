"""The three places where a freed small block can go; a remote policy chooses among them."""

TO_FRONT = 0
"""Into the front of the freeing thread's heap."""

TO_STORE = 1
"""Straight to its slab: the freeing thread has no heap."""

TO_OWNER = 2
"""On the remote list of the heap that owns its slab."""
